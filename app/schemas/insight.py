"""Insight: schemas of queries and answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar, NamedTuple

from marshmallow import fields, missing, validate

from app.schemas.answer import AnswerSchema, boolean, choice, fields_of, integer, many, number, one, text
from app.schemas.base import Day, StrictSchema, Text
from app.schemas.usage import OfDays, days_of
from app.services.insight.insights import Insight
from app.services.insight.service import GROUPS, GroupBy, InsightFilter, VersionComparison
from app.sessions.facts import MAX_NAME
from app.sessions.figures import Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightQuestion:
    """`since` and `until` are None if the caller omits them. `version` and `model` are None for all of them."""

    since: date | None
    until: date | None
    group_by: GroupBy = "version"
    version: str | None = None
    model: str | None = None

    def filters(self, today: date) -> InsightFilter:
        since, until = days_of(self.since, self.until, today)
        return InsightFilter(since=since, until=until, version=self.version, model=self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonQuestion(InsightQuestion):
    """`before` and `after` are versions as runs and traces name them. By default they are the two newest versions."""

    before: str | None = None
    after: str | None = None


def _name(**options: Any) -> Text:
    return Text(minimum=1, maximum=MAX_NAME, **options)


class _Days(StrictSchema):
    since = Day(data_key="from", load_default=None)
    until = Day(data_key="to", load_default=None)
    model = _name(load_default=None)


class InsightQuery(_Days):
    command: ClassVar = InsightQuestion

    group_by = fields.String(validate=validate.OneOf(GROUPS), load_default="version")
    version = _name(load_default=None)


class ComparisonQuery(_Days):
    command: ClassVar = ComparisonQuestion

    before = _name(load_default=None)
    after = _name(load_default=None)


class EstimateSchema(AnswerSchema):
    """A value and the bounds of its 95 % interval. They are null where there are too few data."""

    value = number(allow_none=True)
    low = number(allow_none=True)
    high = number(allow_none=True)


class Quantiles(AnswerSchema):
    """The median and the 95th percentile."""

    p50 = one(EstimateSchema, get=lambda both: both[0])
    p95 = one(EstimateSchema, get=lambda both: both[1])


class InsightSessions(AnswerSchema):
    """`failed` is the share of sessions with errors, `failedTools` the share with a failed tool call.

    `cost` is in US dollars. It includes the known cost of `unpriced` sessions; `costPerSession` excludes them.
    Quantiles are within 5 %.
    """

    counts = fields_of(Figures, "sessions", "turns", "errors", "tool_calls", "tool_errors", path="sessions")
    tokens = fields_of(Figures, "input_tokens", "output_tokens", "unpriced", path="sessions")
    cost = number(get=lambda group: max(0.0, group.sessions.cost_usd))
    failed = one(EstimateSchema, attribute="failed_sessions")
    failed_tools = one(EstimateSchema)
    turn_ms = one(Quantiles)
    cost_per_session = one(Quantiles, attribute="session_cost")


class InsightRuns(AnswerSchema):
    """Times are in milliseconds. They are computed from the newest 2,000 runs of all groups together."""

    runs = integer()
    failed = one(EstimateSchema, attribute="failed_runs")
    cost = number(attribute="runs_cost_usd")
    p50_ms = number(allow_none=True, get=lambda group: group.run_time[0])
    p95_ms = number(allow_none=True, get=lambda group: group.run_time[1])


class InsightReplays(AnswerSchema):
    passed = integer(attribute="replays_passed")
    failed = integer(attribute="replays_failed")
    pass_rate = one(EstimateSchema, attribute="passed_replays")


class InsightScore(AnswerSchema):
    name = text()
    count = integer(get=lambda score: len(score.values))
    mean = one(EstimateSchema)


def _key(name: str, shown: Callable[[Any], Any] = lambda key: key) -> Callable[[Insight], Any]:
    """Return a function that reads the key `name` of a group; it returns `missing` for groups without this key."""
    return lambda group: shown(group.key) if group.group_by == name else missing


class InsightGroup(AnswerSchema):
    """`version` is null for sessions that name no version or several, and for runs and replays of the draft."""

    version = text(required=False, allow_none=True, get=_key("version"))
    label = text(required=False, get=_key("label"))
    model = text(required=False, allow_none=True, get=_key("model"))
    day = text(required=False, get=_key("day", date.isoformat))
    sessions = one(InsightSessions, get=lambda group: group)
    runs = one(InsightRuns, get=lambda group: group)
    replays = one(InsightReplays, get=lambda group: group)
    scores = many(InsightScore)


class InsightReport(NamedTuple):
    groups: Sequence[Insight]
    filters: InsightFilter
    group_by: str


class PromptInsightSchema(OfDays):
    group_by = text()
    groups = many(InsightGroup)


class FindingSchema(AnswerSchema):
    """`change` is null if an interval is not known, and "unclear" if the two intervals overlap.

    `improved` is null without a clear change. It is also null for scores, where more can be better or worse.
    """

    name = text()
    score = boolean()
    before = one(EstimateSchema)
    after = one(EstimateSchema)
    change = choice("lower", "higher", "unclear", allow_none=True)
    improved = boolean(allow_none=True)


class ComparedReport(NamedTuple):
    comparison: VersionComparison
    filters: InsightFilter


class InsightComparisonSchema(OfDays):
    """`summary` explains in one or two sentences whether the later version got better."""

    summary = text(attribute="comparison.summary")
    findings = many(FindingSchema, attribute="comparison.findings")
    before = one(InsightGroup, attribute="comparison.before")
    after = one(InsightGroup, attribute="comparison.after")
