"""The result of comparing a recorded step with a produced one."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from app.replay.json_differences import MOST_DIFFERENCES
from app.replay.judge_types import OpenStepKind
from app.replay.result_types import ComparisonResult, DecidedBy, Difference
from app.replay.texts.facts import Facts
from app.replay.wording import differing


@dataclass(frozen=True, slots=True)
class OpenTexts:
    """Two texts, or the arguments of two calls, that only a judge or a person can compare.

    `assertion` is what the produced one must fulfil: None for the assertion of the test case, "" for none.
    """

    kind: OpenStepKind
    recorded: Any
    produced: Any
    assertion: str | None = ""


@dataclass(frozen=True, slots=True)
class Assertion:
    """What a judge has to confirm of a call that its check accepts; without a judge it needs review, for `reason`."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison. With `open` texts it is the result where no judge can be asked.

    `facts` are the values that were compared, if any were. `form` are sentences about arguments that differ in form or
    in words. Both are evidence for the judge. The judge may pass a failed call only if the comparison `is_excusable`.
    If it `is_by_path`, `diff` has the JSON pointer of each argument that differs.
    """

    result: ComparisonResult
    reason: str | None = None
    diff: tuple[Difference, ...] = ()
    facts: Facts | None = None
    decided_by: DecidedBy | None = "check"
    open: OpenTexts | None = None
    form: tuple[str, ...] = ()
    is_by_path: bool = False
    is_excusable: bool = False

    @property
    def message(self) -> str | None:
        """The reason, with both values of each argument that differs."""
        return f"{self.reason}: {self.differs}" if self.reason and self.is_by_path else self.reason

    @property
    def differs(self) -> str:
        """The places that differ, each with both values; else the reason."""
        return differing(self.diff) if self.is_by_path else self.reason or ""


PASSED = Comparison("passed")
TOO_LONG = Comparison("needs_review", "too long to compare", decided_by=None)


def failed_if_any(reason: str, differences: Iterator[Difference]) -> Comparison:
    """Return a failure that shows the first `MOST_DIFFERENCES` differences; `PASSED` if there are none."""
    diff = tuple(islice(differences, MOST_DIFFERENCES))
    return Comparison("failed", reason, diff, is_by_path=True) if diff else PASSED


def text_differs(reason: str, expected: Any, actual: str, decided_by: DecidedBy | None = "check") -> Comparison:
    """Return the failure of a whole answer, with the `expected` text and the `actual` one."""
    return Comparison("failed", reason, (Difference("", expected, actual),), decided_by=decided_by)
