"""Versions by the hashes that people see, which are cut to their first characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.cli.remote import CouldNotRun, Remote

HASH_LENGTH = 64


def place(versions: Sequence[dict[str, Any]], name: str) -> int:
    """Return the index of the one version whose hash begins so. Raises `CouldNotRun` for none and for several."""
    places = [index for index, version in enumerate(versions) if version["commitHash"].startswith(name)]
    if len(places) != 1:
        raise CouldNotRun(f"The prompt has {'more than one' if places else 'no'} version {name!r}.")
    return places[0]


def full_hash(instance: Remote, prompt_id: int, name: str) -> str:
    """Return the whole hash of the version whose hash begins so."""
    if len(name) == HASH_LENGTH:
        return name
    versions = instance.get(f"/api/v1/prompts/{prompt_id}/versions")["versions"]
    found: str = versions[place(versions, name)]["commitHash"]
    return found
