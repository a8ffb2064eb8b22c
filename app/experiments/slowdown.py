"""Compares the latency of a candidate with that of its baseline."""

from collections.abc import Sequence

from app.experiments.statistics import percentile
from app.experiments.types import CaseTrials, Trial


def slowdown(cases: Sequence[CaseTrials]) -> float | None:
    """Return the ratio of the sums of the median latencies of each test case, candidate to baseline.

    A test case counts if latencies of both sides are known; None if there is none.
    """
    medians = [(_median(case.candidate), _median(case.baseline)) for case in cases]
    known = [(candidate, baseline) for candidate, baseline in medians if candidate is not None and baseline]
    return sum(pair[0] for pair in known) / sum(pair[1] for pair in known) if known else None


def _median(trials: Sequence[Trial]) -> float | None:
    return percentile([trial.latency_ms for trial in trials if trial.latency_ms is not None], 0.5)
