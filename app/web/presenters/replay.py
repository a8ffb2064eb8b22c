"""The turns of a replay for its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from reprise_formats.formats import short

from app.models.replays import Outcome, ReplayRow
from app.replay.accepting import StepOutcome, is_acceptable, is_expected
from app.replay.case_types import TestCase
from app.replay.edited_steps import EditedSteps
from app.web.filters import pretty
from app.web.presenters.diffs import DiffBudget, DiffRow, diff_json, diff_rows
from app.web.presenters.replay_findings import ShownFinding, shown_findings
from app.web.presenters.replay_parts import ReplayPart, StepPlace


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step, or an extra call or answer. `step` is its JSON.

    `number` counts the steps of all turns from 0; it is None for an extra. `rows` are the diff of the recording and the
    draft, `findings` a judge's. `accepted` is True if the test case now expects what the draft did, and None if that
    can't be accepted. `violations` are the kinds of violations that the step caused.
    """

    anchor: str
    step: Mapping[str, Any]
    number: int | None = None
    rows: list[DiffRow] = field(default_factory=list)
    findings: list[ShownFinding] = field(default_factory=list)
    accepted: bool | None = None
    violations: list[str] = field(default_factory=list)

    @property
    def call(self) -> Mapping[str, Any] | None:
        """The draft's call in this step, or None."""
        if self.step["kind"] != "tool_call":
            return None
        call: Mapping[str, Any] | None = self.step if self.number is None else self.step["actual"]
        return call

    @property
    def may_be_judged(self) -> bool:
        """Whether a person may decide: the step needs review, or a judge or an earlier verdict decided it."""
        step = self.step
        return step.get("result") == "needs_review" or step.get("decidedBy") in ("judge", "known") or "judged" in step


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """A turn or a later piece of a turn. `turn` is its JSON; `number` counts from 1."""

    turn: Mapping[str, Any]
    number: int
    begins: bool
    steps: list[ShownStep]
    extra: list[ShownStep]


def shown_turns(
    part: ReplayPart, violations: Mapping[str, list[str]], case: TestCase | None = None
) -> list[ReplayedTurn]:
    """Return the turns in a part of a replay. `violations` are kinds of violations by the steps' anchors.

    `case` is the present test case; None if it was deleted.
    """
    budget, expected = DiffBudget(), EditedSteps(case) if case else None
    shown = []
    for turn, places in groupby(part.places, key=lambda place: place.turn):
        of_turn = list(places)
        steps = [place for place in of_turn if place.number is not None]
        shown.append(
            ReplayedTurn(
                part.turns[turn],
                turn + 1,
                of_turn[0].is_head,
                [_step(place, violations, budget, expected) for place in steps],
                [
                    ShownStep(place.anchor, place.step, violations=violations.get(place.anchor, []))
                    for place in of_turn
                    if place.number is None and not place.is_head
                ],
            )
        )
    return shown


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """The progress of a batch of replays, in replays and in steps."""

    replays: int
    finished: int
    passed: int
    done: int
    steps: int


def batch_title(row: ReplayRow, version: str | None) -> str:
    """Return the heading of a batch: what its replays played. `row` is one of them, `version` the hash of a version."""
    if version:
        return f"Replays of version {short(version)}"
    match row.candidate_kind:
        case "external":
            return f"Replays of the program {(row.external or {}).get('name', '')}".rstrip()
        case "overlay" if row.candidate_commit:
            return f"Replays of version {short(row.candidate_commit)} with changes"
        case "overlay":
            return "Replays of a prompt that was sent"
        case _:
            return "Replays of a draft"


def batch_progress(outcomes: Sequence[Outcome]) -> BatchProgress:
    """Sum up the replays of a batch. An ended replay counts with all its steps, so that sums never decrease."""
    return BatchProgress(
        replays=len(outcomes),
        finished=sum(outcome.finished for outcome in outcomes),
        passed=sum(outcome.status == "passed" for outcome in outcomes),
        done=sum(outcome.total if outcome.finished else outcome.done for outcome in outcomes),
        steps=sum(outcome.total for outcome in outcomes),
    )


def _step(
    place: StepPlace, violations: Mapping[str, list[str]], budget: DiffBudget, expected: EditedSteps | None
) -> ShownStep:
    accepted = _accepted(expected, place.turn, place.index, place.step)
    kinds = violations.get(place.anchor, [])
    rows, findings = _difference(place.step, budget), shown_findings(place.step)
    return ShownStep(place.anchor, place.step, place.number, rows, findings, accepted, kinds)


def _accepted(steps: EditedSteps | None, turn: int, place: int, step: Mapping[str, Any]) -> bool | None:
    """Return True if accepting the step's outcome would change nothing, None if it can't be accepted."""
    if steps is None or step["result"] not in ("failed", "needs_review") or not is_acceptable(step):
        return None
    return is_expected(steps, StepOutcome(turn, place, step["actual"]))


def _difference(step: Mapping[str, Any], budget: DiffBudget) -> list[DiffRow]:
    """Return the diff of a failed step that has both sides."""
    expected, actual = step["expected"], step["actual"]
    if step["result"] not in ("failed", "needs_review") or actual is None:
        return []
    if step["kind"] == "tool_call":
        return diff_json(expected["arguments"], actual["arguments"], budget)
    return diff_rows(pretty(expected), actual, budget)
