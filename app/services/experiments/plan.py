"""The plan of an experiment, fixed when it is requested: its parameters, its test cases and its arms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec

from app.audit.figures import MIN_CAUGHT
from app.experiments.ranking import MOST_CANDIDATES
from app.experiments.types import MIN_SIGHTED, Design
from app.models.experiments import Contents, ExperimentRow
from app.models.program_replays import AWAITS_PROGRAM
from app.models.replays import CandidateKind, ReplaySetup
from app.services.replays.frozen import FrozenCase
from app.values.structs import convert

CANDIDATE, BASELINE, FIRST_MODEL = 0, 1, 2
"""The numbers of arms; see `Plan`."""


class Repeats(msgspec.Struct, frozen=True):
    """The minimum and maximum number of replays of a test case with one arm."""

    min: int
    max: int


class Parameters(msgspec.Struct, frozen=True, rename="camel"):
    """The parameters of an experiment, as in the API; `max_cost` is in USD, `max_slowdown` is a ratio of medians.

    `candidates` are the named ones, in their order; empty for a single candidate without a name.
    `audit_id` is the audit of its judge; experiments of earlier releases have none. `watched_by` is the schedule
    of which it is a run of the watch.
    """

    repeats: Repeats
    detect: float
    alpha: float
    min_pass_rate: float | None = None
    max_cost: float | None = None
    max_slowdown: float | None = None
    reuse: bool = True
    min_sighted: float = MIN_SIGHTED
    candidates: tuple[PlannedCandidate, ...] = ()
    min_judge_caught: float = MIN_CAUGHT
    audit_id: int | None = None
    watched_by: int | None = None

    def design(self, *, has_baseline: bool) -> Design:
        return Design(
            repeats_min=self.repeats.min,
            repeats_max=self.repeats.max,
            detect=self.detect,
            alpha=self.alpha,
            min_pass_rate=self.min_pass_rate,
            max_slowdown=self.max_slowdown,
            has_baseline=has_baseline,
            min_sighted=self.min_sighted,
            candidates=max(1, len(self.candidates)),
        )


class PlannedCandidate(msgspec.Struct, frozen=True, rename="camel"):
    """A named candidate; `commit_hash` is None for the draft and overlays on it."""

    name: str
    kind: CandidateKind
    commit_hash: str | None
    snapshot_id: int
    fingerprint: str


class PlannedModel(msgspec.Struct, frozen=True, rename="camel"):
    """A compared model; the snapshot has the candidate's content with this model."""

    language_model_name: str
    snapshot_id: int


class Series(NamedTuple):
    """The replays of one test case, or of one of its variants, with one content; variant 0 is the recording."""

    arm: int
    test_case_id: int
    variant: int = 0


@dataclass(frozen=True)
class Plan:
    """The plan of an experiment.

    An arm is one of the contents that an experiment plays, by its number: `CANDIDATE`, `BASELINE`, then the compared
    models from `FIRST_MODEL` on, then further named candidates. Arms with the same content share their replays.
    """

    row: ExperimentRow
    parameters: Parameters
    cases: tuple[FrozenCase, ...]
    models: tuple[PlannedModel, ...]

    @classmethod
    def of(cls, row: ExperimentRow, contents: Contents) -> Plan:
        """Read the plan from the stored JSON of an experiment."""
        return cls(
            row,
            convert(row.design, Parameters),
            convert(contents.cases, tuple[FrozenCase, ...]),
            convert(contents.models, tuple[PlannedModel, ...]),
        )

    @cached_property
    def snapshots(self) -> dict[int, int]:
        """The ids of the frozen contents, by arm."""
        arms = {CANDIDATE: self.row.candidate_snapshot_id}
        if self.row.baseline_snapshot_id is not None:
            arms[BASELINE] = self.row.baseline_snapshot_id
        arms |= {arm: model.snapshot_id for arm, model in enumerate(self.models, FIRST_MODEL)}
        return arms | {arm: candidate.snapshot_id for arm, candidate in self.named.items()}

    @cached_property
    def named(self) -> dict[int, PlannedCandidate]:
        """The named candidates by their arms. The first one is the candidate of the row."""
        arms = [CANDIDATE, *range(FIRST_MODEL + len(self.models), FIRST_MODEL + len(self.models) + MOST_CANDIDATES)]
        return dict(zip(arms, self.parameters.candidates, strict=False))

    @property
    def asked_usd(self) -> float:
        """The cost in USD of what a model was asked apart from replays."""
        return 0.0

    @property
    def candidate_arms(self) -> list[int]:
        """The arms of the candidates that the verdict is about, in their order."""
        return list(self.named) or [CANDIDATE]

    @cached_property
    def played_arms(self) -> dict[int, int]:
        """The arm that provides each arm's replays: the first arm with the same content."""
        first: dict[int, int] = {}
        return {arm: first.setdefault(snapshot_id, arm) for arm, snapshot_id in sorted(self.snapshots.items())}

    @property
    def compared(self) -> list[int]:
        """The arms that are compared with the baseline: the candidate and the other models."""
        return [arm for arm in self.snapshots if arm != BASELINE]

    @cached_property
    def design(self) -> Design:
        return self.parameters.design(has_baseline=BASELINE in self.snapshots)

    @cached_property
    def has_equal_sides(self) -> bool:
        """Whether all contents are the same, and nothing is measured: neither a share of passes nor a program."""
        if self.parameters.min_pass_rate is not None or self.is_program:
            return False
        return BASELINE in self.snapshots and len(set(self.snapshots.values())) == 1

    @property
    def is_program(self) -> bool:
        """Whether the candidate is a program, which asks for its replays."""
        return self.row.candidate_external is not None

    def has_only_earlier(self, arm: int) -> bool:
        """Return whether an arm can only reuse results of earlier experiments.

        This is a baseline that is another revision of a program: only the present revision can be played.
        """
        return arm == BASELINE and self.row.baseline_external is not None

    def series(self, arm: int, case: FrozenCase) -> Series:
        return Series(self.played_arms[arm], case.test_case_id, case.variant)

    @cached_property
    def _by_id(self) -> dict[tuple[int, int], FrozenCase]:
        return {(case.test_case_id, case.variant): case for case in self.cases}

    def case(self, series: Series) -> FrozenCase:
        return self._by_id[series.test_case_id, series.variant]

    def setup(self, arm: int) -> ReplaySetup:
        """Return the common properties of an arm's replays."""
        row = self.row
        kind: CandidateKind = "overlay"
        commit_hash = row.candidate_commit
        if arm == BASELINE:
            kind, commit_hash = "external" if row.baseline_external else "version", row.baseline_commit
        elif named := self.named.get(arm):
            kind, commit_hash = named.kind, named.commit_hash
        elif arm == CANDIDATE:
            kind = row.candidate_kind
        return self._setup(kind, commit_hash, self.snapshots[arm])

    def _setup(self, kind: CandidateKind, commit_hash: str | None, snapshot_id: int) -> ReplaySetup:
        row = self.row
        return ReplaySetup(
            project_id=row.project_id,
            prompt_id=row.prompt_id,
            draft_snapshot_id=snapshot_id,
            candidate_kind=kind,
            candidate_commit=commit_hash,
            judge_model_id=row.judge_model_id,
            budget_id=None if self.parameters.max_cost is None else row.id,
            claim=AWAITS_PROGRAM if kind == "external" else None,
        )
