"""The model calls of traces: added up by day when spans are stored, and priced when the sums are read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from msgspec import structs

from app.database.transactions import Database
from app.models import observed
from app.models.observed import GROUPS, SUMS, ObservedRow, ObservedSumRows, slot_of
from app.models.usage import UsageFilter
from app.prices.book import PriceBook
from app.prices.names import key_of
from app.prices.types import NOTHING, Bill, CalledModel, total
from app.services.ingest.turns import TurnPart
from app.services.language_models.prices import PriceService
from app.sessions.model_calls import ModelCalls, summed
from app.sessions.types import Usage
from app.timestamps import Now, of_unix_ns

OBSERVED_ROWS_MAX = 10_000
"""Sums that one request may read; a sum is of one group, model and size. Models beyond that have no name."""
UNPRICED_DAYS, UNPRICED_MAX = 30, 100


@dataclass(frozen=True, slots=True)
class ObservedSums:
    """The calls, tokens and cost of model calls in traces, by today's prices."""

    calls: int = 0
    usage: Usage = Usage()
    bill: Bill = NOTHING

    @classmethod
    def of(cls, sums: Sequence[ObservedSums]) -> ObservedSums:
        """Return the total of several sums."""
        usage = sum((item.usage for item in sums), Usage())
        return cls(sum(item.calls for item in sums), usage, total(item.bill for item in sums))


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """A group of sums; `group` has the columns of the grouping, named as in `app.models.observed.GROUPS`."""

    group: dict[str, Any]
    sums: ObservedSums

    @property
    def called(self) -> CalledModel:
        """The model, if the grouping includes it."""
        return CalledModel(self.group["provider"], self.group["model"])


@dataclass(frozen=True, slots=True)
class ObservedCost:
    """The cost of the calls with a price. With `is_complete` False there were too many models to look up each price."""

    usd: float
    is_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedService:
    database: Database
    now: Now
    prices: PriceService

    def unpriced(self, *, project_id: int) -> list[ObservedGroup]:
        """List the models of the last `UNPRICED_DAYS` that have a name and no price, most tokens first.

        At most `UNPRICED_MAX` are returned.
        """
        today = self.now().date()
        days = UsageFilter(today - timedelta(days=UNPRICED_DAYS - 1), today)
        groups = self.read(project_id=project_id, filters=days, group_by=("model",))
        unpriced = [group for group in groups if group.sums.bill.unpriced and key_of(group.called.model)]
        return sorted(unpriced, key=_tokens, reverse=True)[:UNPRICED_MAX]

    def read(self, *, project_id: int, filters: UsageFilter, group_by: Collection[str]) -> list[ObservedGroup]:
        """Return the groups in order; raises `Invalid` for more than `OBSERVED_ROWS_MAX`.

        If there are more sums, the ones of the models with the fewest tokens are in groups of the model "".
        """
        sums, book = self._sums(project_id, filters, group_by)
        return _grouped(sums.rows, book, group_by)

    def cost(self, *, project_id: int, filters: UsageFilter) -> ObservedCost:
        sums, book = self._sums(project_id, filters, ())
        bill = observed_total(_grouped(sums.rows, book, ())).bill
        return ObservedCost(bill.total_usd or 0.0, sums.is_complete)

    def _sums(
        self, project_id: int, filters: UsageFilter, group_by: Collection[str]
    ) -> tuple[ObservedSumRows, PriceBook]:
        with self.database.read() as connection:
            book = self.prices.book(connection, project_id=project_id)
            which: dict[str, Any] = {"project_id": project_id, "filters": filters, "group_by": group_by}
            return observed.sum_observed(connection, **which, limit=OBSERVED_ROWS_MAX), book


def observed_total(groups: Iterable[ObservedGroup]) -> ObservedSums:
    return ObservedSums.of([group.sums for group in groups])


def _grouped(rows: Iterable[Mapping[str, Any]], book: PriceBook, group_by: Collection[str]) -> list[ObservedGroup]:
    names = [column.name for group in group_by for column in GROUPS[group]]
    sums_by_key: dict[tuple[Any, ...], list[ObservedSums]] = {}
    for row in rows:
        key = tuple(row[name] for name in names)
        sums_by_key.setdefault(key, []).append(_sums(row, book))
    return [
        ObservedGroup(dict(zip(names, key, strict=True)), ObservedSums.of(sums)) for key, sums in sums_by_key.items()
    ]


def _sums(row: Mapping[str, Any], book: PriceBook) -> ObservedSums:
    calls, *tokens = (int(row[name]) for name in SUMS)
    usage = Usage(*tokens)
    return ObservedSums(calls, usage, ModelCalls(row["provider"], row["model"], row["size"], calls, usage).bill(book))


def _tokens(group: ObservedGroup) -> int:
    return group.sums.usage.input_tokens + group.sums.usage.output_tokens


def observed_rows(project_id: int, batch_id: int, parts: Iterable[TurnPart]) -> list[ObservedRow]:
    """Return the sums of the calls of new spans in key order; a call counts on the day its turn begins."""
    calls_by_day: dict[tuple[date, int], list[ModelCalls]] = {}
    for part in parts:
        if part.facts.calls:
            day = of_unix_ns(part.facts.start_ns).date()
            calls_by_day.setdefault((day, part.prompt_id), []).extend(part.facts.calls)
    slot = slot_of(batch_id)
    return [
        ObservedRow(project_id, day, prompt_id, *calls.key, slot, calls.calls, *structs.astuple(calls.usage))
        for (day, prompt_id), calls_of_day in sorted(calls_by_day.items())
        for calls in summed(calls_of_day)
    ]
