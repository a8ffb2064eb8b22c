"""A question before something is lost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Confirm:
    """`words` say what is lost; `action` takes the form, with `fields` as hidden values; `back` leads back."""

    title: str
    words: str
    button: str
    action: str
    back: str
    fields: tuple[tuple[str, str], ...] = ()
