"""Insights: the figures of a group of sessions, runs, replays and scores, and what is found by comparing two groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from app.experiments.comparison import Estimate, Finding, estimated_mean, estimated_quantile, estimated_share
from app.experiments.statistics import percentile
from app.sessions.figures import PER_USD, Figures, total

SCORES_MAX = 50
"""Score names that are returned of a group."""


@dataclass(slots=True)
class Insight:
    """The figures of a group; `key` is its version, label, model or day, None for none.

    `run_ms` are times of model calls, and `values` are those of scores by name. Both are of the newest runs and scores
    only.
    """

    group_by: str
    key: Any = None
    sessions: Figures = Figures()
    runs: int = 0
    runs_failed: int = 0
    runs_cost_usd: float = 0.0
    run_ms: list[float] = field(default_factory=list)
    replays_passed: int = 0
    replays_failed: int = 0
    values: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def size(self) -> int:
        return self.sessions.sessions + self.runs

    @property
    def failed_sessions(self) -> Estimate:
        return estimated_share(self.sessions.failed, self.sessions.sessions)

    @property
    def failed_tools(self) -> Estimate:
        return estimated_share(self.sessions.tool_failed, self.sessions.sessions)

    @property
    def turn_ms(self) -> tuple[Estimate, Estimate]:
        """The median and the 95th percentile of the turns' milliseconds."""
        return _quantiles(self.sessions.latency)

    @property
    def session_cost(self) -> tuple[Estimate, Estimate]:
        """The median and the 95th percentile of the sessions' costs in US dollars."""
        return _quantiles(self.sessions.cost, per=PER_USD)

    @property
    def failed_runs(self) -> Estimate:
        return estimated_share(self.runs_failed, self.runs)

    @property
    def run_time(self) -> tuple[float | None, float | None]:
        """The median and the 95th percentile of the runs' milliseconds, without intervals."""
        return percentile(self.run_ms, 0.5), percentile(self.run_ms, 0.95)

    @property
    def passed_replays(self) -> Estimate:
        return estimated_share(self.replays_passed, self.replays_passed + self.replays_failed)

    @property
    def scores(self) -> list[Scored]:
        """The scores by name, `SCORES_MAX` at most."""
        return [Scored(name, self.values[name]) for name in sorted(self.values)[:SCORES_MAX]]


@dataclass(frozen=True, slots=True)
class Scored:
    """The values of a score."""

    name: str
    values: list[float]

    @property
    def mean(self) -> Estimate:
        return estimated_mean(self.values)


def added_up(group_by: str, key: Any, groups: Sequence[Insight]) -> Insight:
    """Return one group with all that is in the groups."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for group in groups:
        for name, of_group in group.values.items():
            values[name] += of_group
    return Insight(
        group_by,
        key,
        sessions=total(group.sessions for group in groups),
        runs=sum(group.runs for group in groups),
        runs_failed=sum(group.runs_failed for group in groups),
        runs_cost_usd=sum(group.runs_cost_usd for group in groups),
        run_ms=[ms for group in groups for ms in group.run_ms],
        replays_passed=sum(group.replays_passed for group in groups),
        replays_failed=sum(group.replays_failed for group in groups),
        values=values,
    )


def _quantiles(sketch: Any, *, per: float = 1) -> tuple[Estimate, Estimate]:
    of_sketch = partial(estimated_quantile, sketch, per=per)
    return of_sketch(0.5), of_sketch(0.95)


def findings(before: Insight, after: Insight) -> list[Finding]:
    """Return the figures that at least one of two groups has, compared."""
    scores = [{row.name: row.mean for row in group.scores} for group in (before, after)]
    rows = [
        Finding("failedSessions", before.failed_sessions, after.failed_sessions, "lower"),
        Finding("failedTools", before.failed_tools, after.failed_tools, "lower"),
        Finding("turnMs", before.turn_ms[0], after.turn_ms[0], "lower"),
        Finding("sessionCost", before.session_cost[0], after.session_cost[0], "lower"),
        Finding("failedRuns", before.failed_runs, after.failed_runs, "lower"),
        Finding("replaysPassed", before.passed_replays, after.passed_replays, "higher"),
        *(
            Finding(name, scores[0].get(name, Estimate()), scores[1].get(name, Estimate()), score=True)
            for name in sorted(scores[0].keys() | scores[1].keys())
        ),
    ]
    return [row for row in rows if row.before.value is not None or row.after.value is not None]
