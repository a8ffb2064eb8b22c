"""The insight page: figures of a prompt's sessions, runs, replays and scores, and two versions compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from urllib.parse import urlencode

from reprise_formats.insight import figure

from app.errors import Invalid
from app.experiments.comparison import Finding
from app.services.insight.insights import Insight
from app.services.insight.service import GroupBy, InsightFilter, VersionComparison, comparison_of
from app.sessions.figures import Figures
from app.web.charts import Interval, intervals
from app.web.forms import checked_choice
from app.web.lists import period_of
from app.web.page import PromptPage, Reply, show
from app.web.views.overview import daily_points
from app.web.visit import Visit

GROUPS: list[tuple[GroupBy, str]] = [("version", "Version"), ("label", "Label"), ("model", "Model"), ("day", "Day")]
PERIODS = [("7", "Last 7 days"), ("30", "Last 30 days"), ("90", "Last 90 days")]
SHOWN_MAX, CHOICES_MAX = 50, 100


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of two versions: its name, its unit, and both intervals on one scale."""

    name: str
    unit: str
    finding: Finding
    drawn: Sequence[Interval]


@dataclass(frozen=True, slots=True)
class InsightPageQuery:
    filters: InsightFilter
    days: str
    by: GroupBy


class PromptInsightPage(PromptPage):
    def get(self, visit: Visit, prompt_id: int) -> Reply:
        query, head = self._query(visit.query), self.head(visit, prompt_id)
        which: dict[str, Any] = {"project_id": visit.project_id, "prompt_id": prompt_id}
        named = {version.head.commit_hash: version for version in self.services.versions.list(**which)}
        by_version = self.services.insight.read(**which, filters=query.filters)
        groups = by_version
        if query.by != "version":
            groups = self.services.insight.read(**which, filters=query.filters, group_by=query.by)
        choices = _in_order([group.key for group in by_version if group.key], named)[:CHOICES_MAX]
        pair = _pair(visit.query, choices)
        return show(
            "insight.html",
            head=head,
            query=query,
            groups=[(group, _failing(visit.base, prompt_id, query, group.key)) for group in groups[:SHOWN_MAX]],
            more=len(groups) - SHOWN_MAX,
            daily=_daily(groups, query.filters) if query.by == "day" else None,
            by_label=dict(GROUPS)[query.by],
            named=named,
            choices=choices,
            pair=pair,
            comparison=_compared(comparison_of(by_version, *pair)) if pair else None,
            group_choices=GROUPS,
            periods=PERIODS,
        )

    def _query(self, fields: Mapping[str, str]) -> InsightPageQuery:
        """Return the query of an address; raises `Invalid` for a choice that the form lacks."""
        by = cast(GroupBy, checked_choice("by", fields.get("by", "version"), dict(GROUPS)))
        since, until = period_of(fields, PERIODS, self.container.now().date())
        return InsightPageQuery(InsightFilter(since=since, until=until), fields.get("days", "30"), by)


def _failing(base: str, prompt_id: int, query: InsightPageQuery, key: Any) -> str:
    """Return the address of a group's sessions with errors; "" if no filter can select the group's sessions."""
    if key is None:
        return ""
    first, last = (key, key) if query.by == "day" else (query.filters.since, query.filters.until)
    named: dict[str, Any] = {} if query.by == "day" else {query.by: key}
    times = {"from": f"{first}T00:00:00Z", "to": f"{last + timedelta(days=1)}T00:00:00Z"}
    return f"{base}/sessions?" + urlencode({"promptId": prompt_id, "errors": "true", **named, **times})


def _in_order(keys: Sequence[str], named: Mapping[str, object]) -> list[str]:
    """Return the versions with figures: committed versions, newest first, then others."""
    return [*(key for key in named if key in keys), *sorted(key for key in keys if key not in named)]


def _pair(query: Mapping[str, str], choices: Sequence[str]) -> tuple[str, str] | None:
    """Return the versions to compare, by default the two newest; None with fewer than two."""
    if len(choices) < 2:
        return None
    chosen = query.get("before", choices[1]), query.get("after", choices[0])
    if not set(chosen) <= set(choices):
        raise Invalid("There is no such version.")
    return chosen


def _compared(comparison: VersionComparison) -> tuple[str, list[Compared]]:
    """Return the summary of the comparison, and the figures."""
    return comparison.summary, [_figure(finding) for finding in comparison.findings]


def _figure(finding: Finding) -> Compared:
    name, unit = figure(finding.name, score=finding.score)
    bounds = [(estimate.value, estimate.low, estimate.high) for estimate in (finding.before, finding.after)]
    return Compared(name, unit, finding, intervals(bounds))


def _daily(groups: Sequence[Insight], filters: InsightFilter) -> dict[str, list[tuple[str, float]]]:
    by_day = {group.key: group.sessions for group in groups}
    days = [filters.since + timedelta(days=n) for n in range((filters.until - filters.since).days + 1)]
    return daily_points([(day, by_day.get(day, Figures())) for day in days])
