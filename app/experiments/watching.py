"""Decides a run of the watch: an experiment without a baseline, compared with the reference of each test case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reprise_formats.formats import plural

from app.experiments.classes import class_of
from app.experiments.drift import Counts, DriftState, Watched
from app.experiments.types import CaseClass, CaseTrials, Decision, Design, Verdict


def decide_watch(design: Design, cases: Sequence[CaseTrials], *, exhausted: str | None) -> Decision:
    """Return the verdict of a run of the watch, or the trials that are needed next; see `decision.decide`.

    Each test case is played in rounds of the smallest number of repeats, and a suspected one until it no longer is.
    """
    states = [_state(case, len(cases)) for case in cases]
    targets = [_target(design, len(case.candidate), state) for case, state in zip(cases, states, strict=True)]
    waiting = [target > len(case.candidate) for case, target in zip(cases, targets, strict=True)]
    is_over = exhausted is not None or not any(waiting)
    verdict, reason = _verdict(states, exhausted if any(waiting) else None) if is_over else (None, None)
    return Decision(
        verdict=verdict,
        reason=reason,
        classes=tuple(
            _class(design, case, state, is_open) for case, state, is_open in zip(cases, states, waiting, strict=True)
        ),
        regressed=tuple(index for index, state in enumerate(states) if state == "dropped"),
        p_value=None,
        targets=tuple(
            (len(case.candidate) if is_over else target, 0) for case, target in zip(cases, targets, strict=True)
        ),
        detectable=None,
        sighted=len(cases),
    )


def _state(case: CaseTrials, cases: int) -> DriftState:
    played = Counts.of([trial.passed for trial in case.candidate])
    return (case.watched or Watched()).plus(played).state(cases=cases)


def _target(design: Design, played: int, state: DriftState) -> int:
    """Return the trials of a test case at the end of its round, or of the next one if it is suspected."""
    if not played:
        return design.repeats_min
    if left_of_round := -played % design.repeats_min:
        return played + left_of_round
    return played + design.repeats_min if state == "suspected" and played < design.repeats_max else played


def _class(design: Design, case: CaseTrials, state: DriftState, is_open: bool) -> CaseClass:
    if state == "dropped":
        return "regressed"
    return "undecided" if state == "suspected" else class_of(design, case, is_open)


def _verdict(states: Sequence[DriftState], exhausted: str | None) -> tuple[Verdict, str]:
    counted = Counter(states)
    if dropped := counted["dropped"]:
        return "failed", f"{plural(dropped, 'test case')} passed less often than in the reference."
    if exhausted:
        return "inconclusive", f"The run is incomplete: {exhausted}."
    if suspected := counted["suspected"]:
        return "inconclusive", f"{plural(suspected, 'test case')} may pass less often than in the reference."
    if collecting := counted["collecting"]:
        return "passed", f"The reference of {plural(collecting, 'test case')} is still too small to show a drop."
    return "passed", "No test case passed less often than in the reference."
