"""The log of a prompt's runs: a page of runs without their long texts, newest or oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, ScalarSelect, and_, func, or_, select

from app.models.base import no_index
from app.models.language_models import language_models
from app.models.queries import columns_of, count_rows, list_rows
from app.models.runs import UNFINISHED, RunSummary, runs
from app.models.scores import ScoreRange
from app.models.searchable_text import contains, excerpt
from app.models.session_list import Range

EXCERPT_MAX = 500


@dataclass(frozen=True, slots=True)
class RunEntry(RunSummary):
    """One line of the log; `question` and `answer` are their first `EXCERPT_MAX` characters."""

    prompt_tokens: int
    completion_tokens: int
    cost_usd: float

    @property
    def outcome(self) -> str:
        """`running`, `ok`, `nok`, `failed` or `cancelled`: what `RunFilter.status` asks for."""
        if self.status == "done":
            return "nok" if self.nok else "ok"
        return "running" if self.status in UNFINISHED else self.status


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Conditions on runs; None is no condition. `from_at` is included and `to_at` is not.

    `search` is a part of the question or the answer, in any case.

    `status` is `running` (accepted, not finished), `ok`, `nok` (answered, but not as requested), `failed` or
    `cancelled`. `errors` is true for `nok` and `failed` together, false for `ok`. `version` is a commit hash, or
    `DRAFT`; `model` is a name. `cost` is in USD. A run without an answer has no duration.
    """

    from_at: datetime | None = None
    to_at: datetime | None = None
    search: str | None = None
    status: str | None = None
    errors: bool | None = None
    version: str | None = None
    model: str | None = None
    score: ScoreRange | None = None
    cost: Range = Range()
    duration_ms: Range = Range()


DRAFT = "draft"


def _of_model(column: ColumnElement[str]) -> ScalarSelect[str]:
    """Select a column of the run's model by a subquery: MySQL might begin a join with few models and read all runs."""
    return select(column).where(language_models.c.id == runs.c.language_model_id).scalar_subquery()


_ELSEWHERE = {
    "model_name": _of_model(language_models.c.name),
    "vendor": _of_model(language_models.c.vendor),
    "question": excerpt(runs.c.question, EXCERPT_MAX),
    "answer": excerpt(runs.c.answer, EXCERPT_MAX),
}


def page_of_runs(
    connection: Connection,
    *,
    project_id: int,
    prompt_id: int,
    filters: RunFilter,
    after: tuple[datetime, int] | None,
    limit: int,
    oldest_first: bool = False,
) -> list[RunEntry]:
    """List runs, newest or oldest first; `after` is (created at, id) of the last run of the page before."""
    c = runs.c
    # An expression: for the bare column MySQL may choose the index by project and read all of its runs.
    ours = func.coalesce(c.project_id, 0) == project_id
    statement = (
        select(*columns_of(RunEntry, runs, **_ELSEWHERE))
        .where(c.prompt_id == prompt_id, ours, *_within(filters, after, oldest_first), *_like(filters, project_id))
        .order_by(*_order(oldest_first))
        .limit(limit)
    )
    return list_rows(connection, RunEntry, statement)


def texts_of(
    connection: Connection, *, project_id: int, run_ids: Sequence[int], most: int
) -> dict[int, tuple[str, str]]:
    """Return the question and the answer of each of these runs, the first `most` characters of each."""
    c = runs.c
    texts = select(c.id, excerpt(c.question, most), excerpt(c.answer, most))
    rows = connection.execute(texts.where(no_index(c.project_id) == project_id, c.id.in_(run_ids)))
    return {run_id: (question, answer or "") for run_id, question, answer in rows}


def nth_created_at(
    connection: Connection,
    *,
    prompt_id: int,
    nth: int,
    filters: RunFilter,
    after: tuple[datetime, int] | None,
    oldest_first: bool,
) -> datetime | None:
    """Return the creation time of the prompt's nth run between the times, in the order; None if there are fewer."""
    c = runs.c
    statement = select(c.created_at).where(c.prompt_id == prompt_id, *_within(filters, after, oldest_first))
    return connection.scalar(statement.order_by(*_order(oldest_first)).offset(nth - 1).limit(1))


def count_runs(connection: Connection, *, prompt_id: int, filters: RunFilter, most: int) -> int:
    """Count the prompt's runs between the times of `filters`, `most` at most; its other conditions are ignored."""
    statement = select(runs.c.id).where(runs.c.prompt_id == prompt_id, *_within(filters, None, False)).limit(most)
    return count_rows(connection, statement)


_STATUS: dict[str, ColumnElement[bool]] = {
    "running": runs.c.status.in_(UNFINISHED),
    "ok": and_(runs.c.status == "done", runs.c.nok.is_(None)),
    "nok": and_(runs.c.status == "done", runs.c.nok.is_not(None)),
    "failed": runs.c.status == "failed",
    "cancelled": runs.c.status == "cancelled",
}


def _order(oldest_first: bool) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    c = runs.c
    return (c.created_at.asc(), c.id.asc()) if oldest_first else (c.created_at.desc(), c.id.desc())


def _within(filters: RunFilter, after: tuple[datetime, int] | None, oldest_first: bool) -> list[ColumnElement[bool]]:
    c = runs.c
    conditions: list[ColumnElement[bool]] = []
    if after is not None:
        # The first condition is implied by the second. Only this condition lets MySQL start in the index at the right
        # place.
        when, run_id = after
        if oldest_first:
            conditions += [c.created_at >= when, or_(c.created_at > when, c.id > run_id)]
        else:
            conditions += [c.created_at <= when, or_(c.created_at < when, c.id < run_id)]
    if filters.from_at is not None:
        conditions.append(c.created_at >= filters.from_at)
    if filters.to_at is not None:
        conditions.append(c.created_at < filters.to_at)
    return conditions


def _like(filters: RunFilter, project_id: int) -> list[ColumnElement[bool]]:
    c = runs.c
    conditions = [*filters.cost.of(c.cost_usd), *filters.duration_ms.of(c.response_time_ms)]
    if filters.search:
        conditions.append(or_(contains(c.question, filters.search), contains(c.answer, filters.search)))
    if filters.status:
        conditions.append(_STATUS[filters.status])
    if filters.errors is not None:
        conditions.append(or_(_STATUS["nok"], _STATUS["failed"]) if filters.errors else _STATUS["ok"])
    if filters.version:
        conditions.append(c.commit_hash == (None if filters.version == DRAFT else filters.version))
    if filters.model:
        named = select(language_models.c.id).where(language_models.c.name == filters.model)
        conditions.append(c.language_model_id.in_(named))
    if filters.score:
        conditions.append(filters.score.of_run(project_id, c.id))
    return conditions
