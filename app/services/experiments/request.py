"""The request for an experiment, and the parameters that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.audit.figures import MIN_CAUGHT
from app.errors import Invalid
from app.experiments.statistics import DETECT, default_most, default_repeats
from app.experiments.types import MIN_SIGHTED, smallest_pass_rate
from app.replay.case_types import Judging
from app.services.experiments.plan import Parameters, Repeats
from app.services.experiments.replayed_experiment import REPLAYS_MAX
from app.services.replays.candidates import DRAFT, Candidate, External

Baseline = Candidate | Literal["latest"] | None


@dataclass(frozen=True, slots=True)
class NamedCandidate:
    """One of several candidates."""

    name: str
    candidate: Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class NewExperiment:
    """An experiment to start; None means a default (docs/reference/gate.md).

    `test_case_ids` None means the test cases of the suite with the name `suite`, or all of the prompt without one. The
    baseline "latest" is the newest version; without any version there is no baseline. For a program it is the newest
    revision that passed. With `candidates`, `candidate` is ignored. `watched_by` is the id of the schedule for a run of
    the watch.
    """

    candidate: Candidate = DRAFT
    baseline: Baseline = "latest"
    test_case_ids: Sequence[int] | None = None
    suite: str | None = None
    detect: float = DETECT
    repeats_min: int | None = None
    repeats_max: int | None = None
    alpha: float = 0.05
    min_pass_rate: float | None = None
    max_cost: float | None = None
    max_slowdown: float | None = None
    min_sighted: float = MIN_SIGHTED
    min_judge_caught: float = MIN_CAUGHT
    reuse: bool = True
    language_model_names: Sequence[str] = ()
    judge_model: str | None = None
    judging: Judging = "auto"
    candidates: Sequence[NamedCandidate] = ()
    watched_by: int | None = None

    @property
    def compared(self) -> list[tuple[str, Candidate]]:
        """The candidates that the verdict is about, with their fields in the request."""
        named = [(f"candidates.{index}", candidate.candidate) for index, candidate in enumerate(self.candidates)]
        return named or [("candidate", self.candidate)]

    @property
    def least(self) -> int:
        """The smallest number of replays of a test case with one side."""
        return self.repeats_min or default_repeats(self.detect, len(self.compared))[0]


def parameters_of(new: NewExperiment, *, has_baseline: bool, earlier: int | None = None) -> Parameters:
    """Return the parameters with the defaults filled in; raises `Invalid` for repeats that contradict each other.

    `earlier` is the number of results of a baseline that can't be played any more.
    """
    least = new.least
    most = new.repeats_max or default_most(least)
    if least > most:
        raise Invalid(f"repeats: min ({least}) must not be greater than max ({most}).")
    if earlier is not None:
        most = max(least, min(most, earlier))
    return Parameters(
        repeats=Repeats(least, most),
        detect=new.detect,
        alpha=new.alpha,
        min_pass_rate=smallest_pass_rate(new.min_pass_rate, has_baseline=has_baseline or new.watched_by is not None),
        max_cost=new.max_cost,
        max_slowdown=new.max_slowdown,
        reuse=new.reuse,
        min_sighted=new.min_sighted,
        min_judge_caught=new.min_judge_caught,
        watched_by=new.watched_by,
    )


def require_program(baseline: Candidate) -> External:
    """Return the revision of a program; raises `Invalid` for a version of the prompt."""
    if baseline.external is None:
        raise Invalid("baseline: Must be a program, as the candidate is one.")
    return baseline.external


def require_bounded(series: int, parameters: Parameters) -> None:
    """Raise `Invalid` if so many series need more replays than an experiment may have."""
    least = series * parameters.repeats.min
    if least > REPLAYS_MAX:
        raise Invalid(
            f"repeats: At least {least:,} replays are needed, and an experiment has at most {REPLAYS_MAX:,}: "
            "ask for fewer repeats, test cases, candidates or models."
        )
