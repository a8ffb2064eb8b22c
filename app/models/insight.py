"""The figures of sessions by prompt, day, version and model: sums over the column `counted` of sessions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from datetime import date
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any

from sqlalchemy import Column, Connection, Date, Select, UniqueConstraint, func, or_, select

from app.models import bulk, queries
from app.models.base import BigInt, MediumBlob, exact, new_table, no_index
from app.sessions.figures import Counted, Figures, Sums, dump, load, load_sums, total


@dataclass(frozen=True, slots=True, order=True)
class InsightKey:
    """The sessions of a prompt that began on a day (UTC); see `Counted` for the version and the model."""

    project_id: Annotated[int, BigInt]
    prompt_id: Annotated[int, BigInt]
    day: Annotated[date, Date]
    version: Annotated[str, exact(255)]
    model: Annotated[str, exact(255)]

    @classmethod
    def of(cls, project_id: int, prompt_id: int, counted: Counted) -> InsightKey:
        """Return the key as its row is stored: see `ExactString`."""
        return cls(project_id, prompt_id, counted.day, counted.version.rstrip(" "), counted.model.rstrip(" "))


_KEY = tuple(InsightKey.__dataclass_fields__)
# Without foreign keys, like sessions.
insight_daily = new_table(
    "insight_daily",
    InsightKey,
    Column("figures", MediumBlob, nullable=False),
    UniqueConstraint(*_KEY, name="uq_insight_daily"),
)
_C = insight_daily.c
_TABLE, COLUMNS = insight_daily.name, (*_KEY, "figures")
_SELECT = select(*(_C[name] for name in COLUMNS))
_NONE = dump(Figures())
_NOTHING: dict[str, bulk.Rule] = {"project_id": "new"}


def add(connection: Connection, changes: Mapping[InsightKey, Figures]) -> None:
    """Add figures to their rows. Call it last in a transaction, because others wait for these rows."""
    keys = sorted(changes)
    # Inserts the rows that are missing, and locks all of them.
    bulk.upsert(connection, _TABLE, COLUMNS, [(*astuple(key), _NONE) for key in keys], key=_KEY, update=_NOTHING)
    summed = {key: total([load(stored), changes[key]]) for key, stored in _stored(connection, keys)}
    kept = [(*astuple(key), dump(figures)) for key, figures in summed.items() if figures.sessions > 0]
    bulk.upsert(connection, _TABLE, COLUMNS, kept, key=_KEY, update={"figures": "new"})
    for key in summed.keys() - {InsightKey(*row[:-1]) for row in kept}:
        queries.delete_rows(connection, insight_daily, **asdict(key))


def _stored(connection: Connection, keys: Sequence[InsightKey]) -> Iterator[tuple[InsightKey, bytes]]:
    """Yield the stored figures of the keys, with a query for each prompt.

    Not every server uses the index for a list of whole keys.
    """
    for (project_id, prompt_id), group in groupby(keys, key=attrgetter("project_id", "prompt_id")):
        requested = set(group)
        of_prompt = _SELECT.where(_C.project_id == project_id, _C.prompt_id == prompt_id)
        days = sorted({key.day for key in requested})
        of_days = of_prompt.where(_C.day.in_(days)).order_by(_C.version.desc(), _C.model.desc())
        for _, _, day, version, model, figures in connection.execute(of_days.with_for_update()).all():
            # Earlier releases stored blanks at the end. MySQL has no other row of such a name then; SQLite has, and
            # yields it later.
            if (key := InsightKey(project_id, prompt_id, day, version.rstrip(" "), model.rstrip(" "))) in requested:
                yield key, figures


def keys_without_room(connection: Connection, keys: Collection[InsightKey], *, limit: int) -> set[InsightKey]:
    """Return those of the keys that must not get a row, because a prompt has at most `limit` rows for a day.

    Keys with a row are not among them, and neither are keys without version and model, which have one row.
    """
    without_room: set[InsightKey] = set()
    place = attrgetter("project_id", "prompt_id", "day")
    for (project_id, prompt_id, day), group in groupby(sorted(keys), key=place):
        of_day = _C.project_id == project_id, _C.prompt_id == prompt_id, _C.day == day
        # The order is that of the unique index, which has all that is read.
        statement = select(_C.version, _C.model).where(*of_day).order_by(_C.version, _C.model).limit(limit)
        known = {tuple(row) for row in connection.execute(statement.where(or_(_C.version != "", _C.model != "")))}
        new = [key for key in group if (key.version, key.model) not in known | {("", "")}]
        without_room.update(new[limit - len(known) :])
    return without_room


ROWS_AT_ONCE = 200
"""Rows with sketches that are in memory at once: a row of many different values has 10 KB."""


def sizes_of_figures(
    connection: Connection, *, project_id: int, prompt_ids: Collection[int], since: date, until: date, limit: int
) -> list[tuple[int, int]]:
    """List the ids and bytes of the figures of the prompts' sessions that began on the days, both included."""
    statement = _latest_first(select(_C.id, func.length(_C.figures)), project_id, prompt_ids, since, until)
    return [(id_, size) for id_, size in connection.execute(statement.limit(limit))]


def figures_of(connection: Connection, *, project_id: int, ids: Sequence[int]) -> Iterator[tuple[InsightKey, Figures]]:
    """Yield the figures with these ids of a project; `ROWS_AT_ONCE` of them are read at once."""
    for piece in queries.pieces(ids, ROWS_AT_ONCE):
        of_project = _SELECT.where(no_index(_C.project_id) == project_id, _C.id.in_(piece))
        for *key, figures in connection.execute(of_project.order_by(_C.id)):
            yield InsightKey(*key), load(figures)


def list_sums(
    connection: Connection, *, project_id: int, prompt_ids: Collection[int], since: date, until: date, limit: int
) -> Iterator[tuple[InsightKey, Sums]]:
    """Yield the figures of the prompts' sessions that began on the days, the latest day first, without sketches."""
    statement = _latest_first(_SELECT, project_id, prompt_ids, since, until).limit(limit)
    for *key, figures in connection.execute(statement):
        yield InsightKey(*key), load_sums(figures)


def _latest_first(
    statement: Select[Any], project_id: int, prompt_ids: Collection[int], since: date, until: date
) -> Select[Any]:
    of_prompts = (_C.project_id == project_id, _C.prompt_id.in_(sorted(prompt_ids)), _C.day.between(since, until))
    return statement.where(*of_prompts).order_by(_C.day.desc(), _C.prompt_id, _C.version, _C.model)
