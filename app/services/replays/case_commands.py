"""What callers ask of test cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CaseChange:
    """`changes` is JSON of `app.replay.changes.CaseChanges`: only the fields that were sent."""

    name: str | None
    changes: Mapping[str, Any]

    @classmethod
    def of(cls, name: str | None = None, **changes: Any) -> CaseChange:
        return cls(name, changes)


@dataclass(frozen=True, slots=True)
class WrittenCase:
    """A test case by hand; its name is the question's first line if it has none."""

    question: str
    expected_answer: str
    name: str | None = None
    placeholders: Mapping[str, str] | None = None
