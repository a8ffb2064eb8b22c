"""The commands that change test cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.replay.cases import WrittenTurn


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A change of a test case; `changes` is JSON of `app.replay.changes.CaseChanges`: only the sent fields."""

    name: str | None
    changes: Mapping[str, Any]

    @classmethod
    def of(cls, name: str | None = None, **changes: Any) -> CaseChange:
        return cls(name, changes)

    @property
    def details(self) -> dict[str, Any]:
        """What the audit log has of the change, whether or not it can be made: no text of the recording."""
        corrections, partial = self.changes.get("corrections"), self.changes.get("acceptPartial")
        return {
            **({"corrections": str(len(corrections))} if isinstance(corrections, list) and corrections else {}),
            **({"acceptPartial": partial} if partial is not None else {}),
        }


@dataclass(frozen=True, slots=True)
class WrittenCase:
    """A test case written by hand; without a name it gets the question's first line."""

    question: str
    expected_answer: str
    name: str | None = None
    placeholders: Mapping[str, str] | None = None
    later_turns: Sequence[WrittenTurn] = ()
