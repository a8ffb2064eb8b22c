"""What a project has used: by day as bars, by what it was used for as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlencode

from app.errors import Invalid
from app.models.usage import Spent, UsageFilter
from app.services.runs.usage import UsageRow, total

GROUPS = [("prompt", "Prompt"), ("model", "Model"), ("version", "Version"), ("key", "API key"), ("source", "Source")]
PERIODS = [("7", "Last 7 days"), ("30", "Last 30 days"), ("90", "Last 90 days"), ("365", "Last year")]
SOURCES = {"api": "API", "ui": "This site", "replay": "Replays"}


@dataclass(frozen=True, slots=True)
class Question:
    """`days` back from today, both ends counted in UTC; `by` is one of `GROUPS`."""

    days: int
    by: str

    def wanted(self, today: date) -> UsageFilter:
        return UsageFilter(today - timedelta(days=self.days - 1), today)


@dataclass(frozen=True, slots=True)
class Names:
    """What ids are called; those that are gone are not there."""

    prompts: Mapping[int, str]
    keys: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class GroupRow:
    """`share` of the cost is 0 to 1, None when nothing cost anything."""

    name: str
    details: str
    href: str
    spent: Spent
    share: float | None


@dataclass(frozen=True, slots=True)
class Series:
    """A value for each day, oldest first; `words` name it."""

    words: str
    values: list[float]


@dataclass(frozen=True, slots=True)
class UsagePage:
    days: str
    by: str
    by_words: str
    first_day: date
    last_day: date
    total: Spent
    runs: Series
    tokens: Series
    cost: Series
    rows: list[GroupRow]
    csv_href: str
    groups = GROUPS
    periods = PERIODS


def asked(query: Mapping[str, str]) -> Question:
    """`Invalid` for a choice that the form does not have."""
    days, by = query.get("days", "30"), query.get("by", "prompt")
    if days not in dict(PERIODS) or by not in dict(GROUPS):
        raise Invalid("There is no such choice.")
    return Question(int(days), by)


def usage_page(
    question: Question, today: date, by_day: Sequence[UsageRow], by_group: Sequence[UsageRow], names: Names, base: str
) -> UsagePage:
    whole = total(by_day)
    first = today - timedelta(days=question.days - 1)
    spent = {row.group["day"]: row.spent for row in by_day}
    days = [spent.get(first + timedelta(days=at), Spent(runs=0)) for at in range(question.days)]
    rows = [_row(row, question.by, whole, names, base) for row in by_group]
    return UsagePage(
        days=str(question.days),
        by=question.by,
        by_words=dict(GROUPS)[question.by],
        first_day=first,
        last_day=today,
        total=whole,
        runs=Series("Runs each day", [day.runs for day in days]),
        tokens=Series("Tokens each day", [day.prompt_tokens + day.completion_tokens for day in days]),
        cost=Series("Cost in USD each day", [day.cost_usd for day in days]),
        rows=sorted(rows, key=lambda row: (-row.spent.cost_usd, -row.spent.runs, row.name)),
        csv_href=f"{base}/usage.csv?" + urlencode({"days": question.days, "by": question.by}),
    )


def _row(row: UsageRow, by: str, whole: Spent, names: Names, base: str) -> GroupRow:
    name, details, href = _named(row.group, by, names, base)
    share = row.spent.cost_usd / whole.cost_usd if whole.cost_usd else None
    return GroupRow(name, details, href, row.spent, share)


def _named(group: Mapping[str, object], by: str, names: Names, base: str) -> tuple[str, str, str]:
    """(name, details, address or "")."""
    if by == "model":
        return str(group["name"] or "A model that is gone"), str(group["vendor"] or ""), ""
    if by == "source":
        return SOURCES.get(str(group["source"]), str(group["source"])), "", ""
    if by == "key":
        key = int(str(group["api_key_id"]))
        return names.keys.get(key, f"API key {key}") if key else "Without a key", "", ""
    prompt = int(str(group["prompt_id"]))
    known = prompt in names.prompts
    name, path = names.prompts.get(prompt, f"Prompt {prompt}"), f"{base}/prompts/{prompt}"
    if by == "prompt":
        return name, "" if known else "archived, or among many", path if known else ""
    version = str(group["commit_hash"])
    return name, f"version {version[:8]}" if version else "draft", f"{path}/versions/{version}" if version else path
