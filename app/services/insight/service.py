"""Insight: figures of a prompt's sessions, runs, replays and scores, by version, label, model or day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Invalid
from app.experiments.comparison import Finding, summary
from app.models import insight, insight_sources, prompt_versions, usage
from app.models.insight_sources import RecentRun, RecentScore, ReplayCount
from app.models.prompts import PromptHead
from app.models.usage import Spent, UsageFilter
from app.services.insight.insights import Insight, added_up, findings
from app.services.prompts.reader import PromptReader
from app.sessions.figures import Figures, FiguresSum

Row = TypeVar("Row")
GroupBy = Literal["version", "label", "model", "day"]
GROUPS: tuple[GroupBy, ...] = ("version", "label", "model", "day")
INSIGHT_ROWS_MAX = 10_000
"""Sums that one request may read."""
INSIGHT_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of these sums. A sum of few sessions has some hundred bytes, one of many different values 10 KB."""
RECENT_MAX = 2_000
"""Latencies and mean scores are computed from at most this many of the newest runs and scores."""
GROUPS_MAX = 400
"""Groups that are returned: the ones with the most sessions and runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightFilter:
    """A range of UTC days, both included, and optionally a version and a model."""

    since: date
    until: date
    version: str | None = None
    model: str | None = None

    @property
    def times(self) -> dict[str, Any]:
        """The days as times in [since, until)."""
        since, until = (datetime.combine(day, time(), UTC) for day in (self.since, self.until + timedelta(days=1)))
        return {"since": since, "until": until}


@dataclass(frozen=True, slots=True)
class _PartKey:
    """The version, model and day of a part.

    "" is the version or model of sessions that have none or several, and the version of a draft.
    """

    version: str
    model: str
    day: date

    def within(self, filters: InsightFilter) -> bool:
        return (
            filters.since <= self.day <= filters.until
            and filters.version in (None, self.version)
            and filters.model in (None, self.model)
        )


Part = Figures | Spent | RecentRun | ReplayCount | RecentScore
"""The figures, runs, replays and scores that are added to groups."""


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """Two versions, with the findings about their difference."""

    before: Insight
    after: Insight
    findings: list[Finding]

    @property
    def summary(self) -> str:
        return summary(self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightService:
    database: Database
    reader: PromptReader

    def read(
        self, *, project_id: int, prompt_id: int, filters: InsightFilter, group_by: GroupBy = "version"
    ) -> list[Insight]:
        """Return the groups: the latest days first, other groups by their number of sessions and runs.

        Raises `Invalid` if more than `INSIGHT_ROWS_MAX` or `INSIGHT_BYTES_MAX` of sums have to be added up.
        """
        groups = self._groups(project_id, prompt_id, filters, group_by)
        groups.sort(key=lambda group: (group.key if group_by == "day" else group.size, str(group.key)), reverse=True)
        return groups[:GROUPS_MAX]

    def compare(
        self, *, project_id: int, prompt_id: int, filters: InsightFilter, before: str | None, after: str | None
    ) -> VersionComparison:
        """Compare two versions, by default the newest one with its predecessor; a version without data is empty."""
        groups = self._groups(project_id, prompt_id, filters, "version")
        with self.database.read() as connection:
            newest = prompt_versions.list_versions(connection, prompt_id=prompt_id, limit=2)
        last, one_before, *_ = [*(version.commit_hash for version in newest), "", ""]
        return comparison_of(groups, before or one_before, after or last)

    def _groups(self, project_id: int, prompt_id: int, filters: InsightFilter, group_by: GroupBy) -> list[Insight]:
        with self.database.read() as connection:
            head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            parts = ((key, part) for key, part in _parts(connection, head, filters) if key.within(filters))
            return _grouped(parts, group_by, _labels_of(head))


def comparison_of(groups: Iterable[Insight], before: str, after: str) -> VersionComparison:
    """Compare two of the groups by version; a version without a group is empty."""
    known = {group.key: group for group in groups}
    first, second = (known.get(version) or Insight("version", version or None) for version in (before, after))
    return VersionComparison(first, second, findings(first, second))


def _labels_of(head: PromptHead) -> Mapping[str, Collection[str]]:
    """Return the labels that now point to each version, by the version's hash."""
    labels: dict[str, set[str]] = defaultdict(set)
    for name, label in head.labels.items():
        for commit_hash in label.commit_hashes:
            labels[commit_hash].add(name)
    return labels


def _grouped(
    parts: Iterable[tuple[_PartKey, Part]], group_by: GroupBy, labels: Mapping[str, Collection[str]]
) -> list[Insight]:
    if group_by == "label":
        labelled = ((key, part) for key, part in parts if key.version in labels)
        return _by_label(_by_key(labelled, "version"), labels)
    return _by_key(parts, group_by)


def _by_key(parts: Iterable[tuple[_PartKey, Part]], group_by: GroupBy) -> list[Insight]:
    groups: dict[Any, Insight] = {}
    figures: dict[Any, FiguresSum] = defaultdict(FiguresSum)
    for part_key, part in parts:
        key = getattr(part_key, group_by) or None
        group = groups.setdefault(key, Insight(group_by, key))
        if isinstance(part, Figures):
            figures[key].add(part)
        else:
            _add(group, part)
    for key, of_key in figures.items():
        groups[key].sessions = of_key.figures
    return list(groups.values())


def _by_label(versions: Iterable[Insight], labels: Mapping[str, Collection[str]]) -> list[Insight]:
    """Add up the versions of each label. A label has at most two, so this does not depend on the number of parts."""
    versions_of: dict[str, list[Insight]] = defaultdict(list)
    for version in versions:
        for label in labels[version.key]:
            versions_of[label].append(version)
    return [added_up("label", label, of_label) for label, of_label in versions_of.items()]


def _add(group: Insight, part: Spent | RecentRun | RecentScore | ReplayCount) -> None:
    match part:
        case Spent():
            group.runs += part.runs
            group.runs_failed += part.failed
            group.runs_cost_usd += part.cost_usd
        case RecentRun():
            group.run_ms.append(part.response_time_ms)
        case RecentScore():
            group.values[part.name].append(part.value)
        case ReplayCount(status="passed"):
            group.replays_passed += part.replays
        case ReplayCount():
            group.replays_failed += part.replays


def _parts(connection: Connection, head: PromptHead, filters: InsightFilter) -> Iterator[tuple[_PartKey, Part]]:
    which: dict[str, Any] = {"project_id": head.project_id, "prompt_id": head.id}
    days: dict[str, Any] = {"since": filters.since, "until": filters.until}
    of_prompt: dict[str, Any] = {"project_id": head.project_id, "prompt_ids": [head.id]}
    sizes = _bounded(insight.sizes_of_figures(connection, **of_prompt, **days, limit=INSIGHT_ROWS_MAX + 1))
    if sum(size for _, size in sizes) > INSIGHT_BYTES_MAX:
        raise Invalid("from: These days have too many different durations and costs; ask for fewer days.")
    ids = [id_ for id_, _ in sizes]
    for key, sums in insight.figures_of(connection, project_id=head.project_id, ids=ids):
        yield _PartKey(key.version, key.model, key.day), sums
    for row in _spent(connection, head, filters):
        yield _PartKey(row["commit_hash"], row["name"] or "", row["day"]), _spent_of(row)
    for run in insight_sources.recent_runs(connection, prompt_id=head.id, **filters.times, limit=RECENT_MAX):
        yield _PartKey(run.commit_hash or "", run.model, run.created_at.date()), run
    yield from _replays(connection, which, filters)
    for score in insight_sources.recent_scores(connection, **which, limit=RECENT_MAX):
        yield _PartKey(score.version, score.model, score.day), score


def _spent(connection: Connection, head: PromptHead, filters: InsightFilter) -> Sequence[Mapping[str, Any]]:
    return _bounded(
        usage.sum_usage(
            connection,
            project_id=head.project_id,
            filters=UsageFilter(filters.since, filters.until, head.id),
            group_by=("version", "model", "day"),
            limit=INSIGHT_ROWS_MAX + 1,
        )
    )


def _spent_of(row: Mapping[str, Any]) -> Spent:
    return Spent(runs=int(row["runs"]), failed=int(row["failed"]), cost_usd=float(row["cost_usd"]))


def _replays(
    connection: Connection, which: Mapping[str, Any], filters: InsightFilter
) -> Iterator[tuple[_PartKey, ReplayCount]]:
    """Yield the replays of each content under the newest version with this content."""
    counts = insight_sources.count_decided_replays(connection, **which, **filters.times)
    contents = {count.fingerprint for count in counts}
    versions = prompt_versions.hashes_by_content(connection, prompt_id=which["prompt_id"], content_hashes=contents)
    for count in counts:
        yield _PartKey(versions.get(count.fingerprint, ""), count.model, count.day), count


def _bounded(rows: Sequence[Row]) -> Sequence[Row]:
    if len(rows) > INSIGHT_ROWS_MAX:
        raise Invalid(f"from: More than {INSIGHT_ROWS_MAX} sums; ask for fewer days.")
    return rows
