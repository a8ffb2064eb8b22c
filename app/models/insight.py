"""The figures of sessions by prompt, day, version and model: the sums of what each session keeps as `counted`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Annotated

from sqlalchemy import Column, Connection, Date, UniqueConstraint, delete, select

from app.models import queries
from app.models.base import BigInt, MediumBlob, exact, new_table
from app.sessions.figures import Counted, Figures, dump, load, total


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
        return cls(project_id, prompt_id, counted.day, counted.version, counted.model)


_KEY = tuple(InsightKey.__dataclass_fields__)
# Without foreign keys, as sessions.
insight_daily = new_table(
    "insight_daily",
    InsightKey,
    Column("figures", MediumBlob, nullable=False),
    UniqueConstraint(*_KEY, name="uq_insight_daily"),
)
_C = insight_daily.c
_NONE = dump(Figures())


def add(connection: Connection, changes: Mapping[InsightKey, Figures]) -> None:
    """Add figures to those of their keys; last in its transaction, as others wait for these rows."""
    for key in sorted(changes):
        named = asdict(key)
        queries.put_rows(connection, insight_daily, [named | {"figures": _NONE}], key=_KEY)
        same = [_C[name] == value for name, value in named.items()]
        stored = connection.scalar(select(_C.figures).where(*same).with_for_update())
        figures = total([load(stored or _NONE), changes[key]])
        if figures.sessions > 0:
            queries.update_rows(connection, insight_daily, named, figures=dump(figures))
        else:
            connection.execute(delete(insight_daily).where(*same))


def list_figures(
    connection: Connection, *, project_id: int, prompt_id: int, since: date, until: date, limit: int
) -> list[tuple[InsightKey, Figures]]:
    """List the figures of a prompt's sessions that began on the days, both included, the latest first."""
    statement = (
        select(*(_C[name] for name in _KEY), _C.figures)
        .where(_C.project_id == project_id, _C.prompt_id == prompt_id, _C.day.between(since, until))
        .order_by(_C.day.desc(), _C.version, _C.model)
        .limit(limit)
    )
    return [(InsightKey(*key), load(figures)) for *key, figures in connection.execute(statement)]
