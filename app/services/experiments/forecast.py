"""Forecasts what an experiment would play and cost, before it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import NamedTuple

from sqlalchemy import Connection

from app.errors import Invalid
from app.models import case_snapshots, experiment_replays, prompt_versions
from app.services.experiments.plan import Repeats
from app.services.experiments.replayed_experiment import REPLAYS_MAX, REUSED_FOR
from app.services.experiments.request import NewExperiment, parameters_of, require_bounded
from app.services.replays.candidates import CandidateContent
from app.services.replays.frozen import case_entries, faults_text, played_faults, snapshot_fingerprints


class Bounds(NamedTuple):
    """The least if all test cases are decided early, and the most if none is."""

    min: float
    max: float


class PlayedEntry(NamedTuple):
    """A test case, or a variant of one with the faults as they are stored."""

    test_case_id: int
    steps: int
    faults: str | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What an experiment would play. `calls` are about as many as the steps of the recordings, without the judge's.

    `reused` replays are among `replays`, and neither among `calls` nor in `cost`. `cost` is in USD, as the last replays
    of the test cases cost; None if none of them was replayed. `compares_nothing` is true if all candidates have the
    content of the baseline, so that no difference can be found.
    """

    detect: float
    test_cases: int
    repeats: Bounds
    replays: Bounds
    reused: int
    calls: Bounds
    cost: Bounds | None
    compares_nothing: bool


@dataclass(frozen=True, slots=True)
class Forecaster:
    """The test cases with their variants, and the number of reusable results of each with each content."""

    entries: Sequence[PlayedEntry]
    reusable: Sequence[Mapping[PlayedEntry, int]]
    costs: Mapping[int, float]
    has_baseline: bool
    earlier: int | None
    compares_nothing: bool

    @classmethod
    def read(
        cls,
        connection: Connection,
        new: NewExperiment,
        contents: Sequence[CandidateContent],
        baseline: CandidateContent | None,
        others: Sequence[CandidateContent],
        *,
        judge_model_id: int | None,
        now: datetime,
        earlier: int | None = None,
    ) -> Forecaster:
        """Read what the forecast needs. Raises `Invalid` without test cases.

        `earlier` is the number of results of a baseline that can't be played any more.
        """
        head = contents[0].head
        if not (entries := case_entries(connection, head, new.test_case_ids)):
            raise Invalid("testCaseIds: The prompt has no test cases.")
        played = [
            PlayedEntry(row.id, row.steps, faults_text(faults)) for row in entries for faults in played_faults(row)
        ]
        baselines = [baseline] if baseline and earlier is None else []
        fingerprints = {content.fingerprint for content in (*contents, *others, *baselines)}
        snapshots = prompt_versions.snapshot_ids(connection, prompt_id=head.id, fingerprints=fingerprints)
        cases = case_snapshots.find_snapshots(connection, snapshot_fingerprints(entries, head))

        def reusable(fingerprint: str) -> dict[PlayedEntry, int]:
            if not new.reuse or fingerprint not in snapshots:
                return {}
            replays = experiment_replays.reusable_replays(
                connection,
                draft_snapshot_id=snapshots[fingerprint],
                case_snapshot_ids=cases.values(),
                judge_model_id=judge_model_id,
                since=now - REUSED_FOR,
            )
            return {
                entry: len(replays.get((cases[entry.test_case_id], entry.faults), ()))
                for entry in played
                if entry.test_case_id in cases
            }

        costs = experiment_replays.mean_costs(connection, test_case_ids=[entry.id for entry in entries])
        known = [reusable(fingerprint) for fingerprint in sorted(fingerprints)]
        compares_nothing = bool(baselines) and len(fingerprints) == 1
        return cls(played, known, costs, baseline is not None, earlier, compares_nothing)

    def forecast(self, new: NewExperiment) -> Forecast:
        """Return the forecast for the parameters of a request; raises `Invalid` for too many replays."""
        parameters = parameters_of(new, has_baseline=self.has_baseline, earlier=self.earlier)
        is_played_once = self.compares_nothing and new.min_pass_rate is None
        repeats, series = (
            Repeats(1, 1) if is_played_once else parameters.repeats,
            len(self.entries) * len(self.reusable),
        )
        require_bounded(series, parameters)
        least, most = self._new_replays(repeats.min), self._new_replays(repeats.max)
        return Forecast(
            detect=new.detect,
            test_cases=len(self.entries),
            repeats=Bounds(repeats.min, repeats.max),
            replays=Bounds(series * repeats.min, min(REPLAYS_MAX, series * repeats.max)),
            reused=series * repeats.min - sum(least.values()),
            calls=Bounds(self._calls(least), self._calls(most)),
            cost=self._cost(least, most),
            compares_nothing=self.compares_nothing,
        )

    def _new_replays(self, repeats: int) -> dict[PlayedEntry, int]:
        """Return the number of replays of each test case that have to be played, all contents together."""
        return {entry: sum(max(0, repeats - known.get(entry, 0)) for known in self.reusable) for entry in self.entries}

    def _calls(self, replays: Mapping[PlayedEntry, int]) -> int:
        return sum(number * max(1, entry.steps) for entry, number in replays.items())

    def _cost(self, *replays: Mapping[PlayedEntry, int]) -> Bounds | None:
        if not self.costs:
            return None
        mean = fmean(self.costs.values())
        least, most = (
            sum(count * self.costs.get(entry.test_case_id, mean) for entry, count in counts.items())
            for counts in replays
        )
        return Bounds(least, most)
