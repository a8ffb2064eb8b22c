"""The usage of a project, as a page and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import falcon

from app.models.usage import Spent, UsageFilter
from app.schemas.usage import usage_csv
from app.services.ingest.observed import ObservedGroup, ObservedSums, observed_total
from app.services.runs.usage import UsageRow, total
from app.web.charts import day_label
from app.web.forms import checked_choice
from app.web.lists import Order, order_of, period_of
from app.web.page import Page, Reply, show
from app.web.visit import Visit

GROUPS = [("prompt", "Prompt"), ("model", "Model"), ("version", "Version"), ("key", "API key"), ("source", "Source")]
PERIODS = [("7", "Last 7 days"), ("30", "Last 30 days"), ("90", "Last 90 days"), ("365", "Last year")]
SOURCES = {"api": "API", "ui": "This site", "replay": "Replays", "effects": "Effects of tools", "mutants": "Mutants"}
PROMPTS_NAMED = 500

# A group: (name, details, address or "", sums).
Row = tuple[str, str, str, Spent]
# Of the table's columns.
SORT_KEYS: dict[str, Callable[[Row], float | str]] = {
    "name": lambda row: row[0].lower(),
    "runs": lambda row: row[3].runs,
    "failed": lambda row: row[3].failed,
    "in": lambda row: row[3].prompt_tokens,
    "out": lambda row: row[3].completion_tokens,
    "cached": lambda row: row[3].cache_read_tokens,
    "cost": lambda row: row[3].cost_usd,
}


GROUPS_OF_OBSERVED = ("prompt", "model")
OBSERVED_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Observed:
    """The model calls of traces, grouped: the grouping's label, the rows, and the number of further groups."""

    by_label: str
    rows: Sequence[tuple[str, str, str, ObservedSums]]
    total: ObservedSums
    more: int


@dataclass(frozen=True, slots=True)
class UsagePageQuery:
    """The days from `first` to `last` in UTC. `by` is one of `GROUPS`."""

    first: date
    last: date
    by: str

    @property
    def days(self) -> list[date]:
        return [self.first + timedelta(days=n) for n in range((self.last - self.first).days + 1)]


class _Usage(Page):
    section = "usage"

    def query(self, fields: Mapping[str, str]) -> UsagePageQuery:
        """Return the query of an address; raises `Invalid` for a choice that the form lacks."""
        by = checked_choice("by", fields.get("by", "prompt"), dict(GROUPS))
        return UsagePageQuery(*period_of(fields, PERIODS, self.container.now().date()), by)

    def rows(self, project_id: int, query: UsagePageQuery, *groups: str) -> list[UsageRow]:
        days = UsageFilter(query.first, query.last)
        return self.services.usage.read(project_id=project_id, filters=days, group_by=groups)


class UsageView(_Usage):
    def get(self, visit: Visit) -> Reply:
        query, order = self.query(visit.query), order_of(visit.query, SORT_KEYS, default="-cost")
        by_day = self.rows(visit.project_id, query, "day")
        spent = {row.group["day"]: row.spent for row in by_day}
        return show(
            "usage.html",
            query=query,
            by_label=dict(GROUPS)[query.by],
            total=total(by_day),
            daily=_daily([(day_label(day), spent.get(day, Spent(runs=0))) for day in query.days]),
            days=[(day, spent[day]) for day in reversed(query.days) if day in spent],
            rows=self._table(visit, query, order),
            observed=self._observed(visit, query),
            order=order,
            groups=GROUPS,
            periods=PERIODS,
        )

    def _table(self, visit: Visit, query: UsagePageQuery, order: Order) -> list[Row]:
        """Return the groups in this order."""
        keys = self.services.keys.list(project_id=visit.project_id)
        names = {"prompt": self._prompt_names(visit), "key": {key.id: key.name for key in keys}}
        rows = self.rows(visit.project_id, query, query.by)
        table = [(*_name(row.group, query.by, names, visit.base), row.spent) for row in rows]
        return order.sorted(sorted(table, key=lambda row: (-row[3].runs, row[0])), SORT_KEYS)

    def _observed(self, visit: Visit, query: UsagePageQuery) -> Observed:
        """Return the model calls of traces on the same days, by the chosen group or else by model."""
        by = query.by if query.by in GROUPS_OF_OBSERVED else "model"
        days = UsageFilter(query.first, query.last)
        observed = self.services.observed.read(project_id=visit.project_id, filters=days, group_by=(by,))
        names = {"prompt": self._prompt_names(visit)} if by == "prompt" else {}
        groups = sorted(observed, key=lambda group: (-_usd(group.sums), -group.sums.calls))[:OBSERVED_SHOWN]
        rows = [(*_observed_name(group, names, visit.base), group.sums) for group in groups]
        return Observed(dict(GROUPS)[by], rows, observed_total(observed), len(observed) - len(rows))

    def _prompt_names(self, visit: Visit) -> dict[int, str]:
        prompts = self.services.prompts.list(project_id=visit.project_id, limit=PROMPTS_NAMED).prompts
        return {prompt.id: prompt.name for prompt in prompts}


def _usd(sums: ObservedSums) -> float:
    return sums.bill.total_usd or 0.0


def _observed_name(group: ObservedGroup, names: Mapping[str, Mapping[int, str]], base: str) -> tuple[str, str, str]:
    if names:
        return _name(group.group, "prompt", names, base)
    return group.called.model or "A model without a name", group.called.provider, ""


def _daily(days: Sequence[tuple[str, Spent]]) -> dict[str, list[tuple[str, float]]]:
    """Return the points of the charts by day: `cost` in USD, `tokens` and `runs`."""
    return {
        "cost": [(day, spent.cost_usd) for day, spent in days],
        "tokens": [(day, spent.prompt_tokens + spent.completion_tokens) for day, spent in days],
        "runs": [(day, spent.runs) for day, spent in days],
    }


def _name(
    group: Mapping[str, object], by: str, names: Mapping[str, Mapping[int, str]], base: str
) -> tuple[str, str, str]:
    """Return (name, details, address or "") of a group. `names` is by id, without deleted prompts and keys."""
    if by == "model":
        return str(group["name"] or "A model that is gone"), str(group["vendor"] or ""), ""
    if by == "source":
        return SOURCES.get(str(group["source"]), str(group["source"])), "", ""
    if by == "key":
        key = int(str(group["api_key_id"]))
        return names["key"].get(key, f"API key {key}") if key else "Without a key", "", ""
    prompt = int(str(group["prompt_id"]))
    known = names["prompt"].get(prompt)
    name, path = known or f"Prompt {prompt}", f"{base}/prompts/{prompt}"
    if by == "prompt":
        return name, "" if known else "archived, or among many", path if known else ""
    version = str(group["commit_hash"])
    return name, f"version {version[:8]}" if version else "draft", f"{path}/versions/{version}" if version else path


class UsageCsv(_Usage):
    """The sums of each group on each day."""

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        query = self.query(req.context.visit.query)
        groups = ("day", query.by)
        resp.content_type = "text/csv; charset=utf-8; header=present"
        resp.downloadable_as = f"usage-by-{query.by}.csv"
        resp.text = usage_csv(self.rows(project_id, query, *groups), groups)
