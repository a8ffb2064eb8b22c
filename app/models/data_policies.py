"""Data policies: for how long each project keeps rows, and what is masked before it is stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Column, Connection, Integer, UniqueConstraint, delete, select

from app.models import queries
from app.models.base import Json, new_table, reference

data_policies = new_table(
    "data_policies",
    reference("project_id", "projects"),
    # Days; null keeps for ever.
    Column("spans_days", Integer),
    Column("runs_days", Integer),
    Column("replays_days", Integer),
    Column("rejected_days", Integer),
    # The JSON of `app/otlp/masking.py`.
    Column("masking", Json, nullable=False),
    UniqueConstraint("project_id"),
)


@dataclass(frozen=True, slots=True)
class DataPolicy:
    """Days that rows are kept after they were received or requested; None for ever.

    `masking` is a list of `{"kind": "pattern" | "pointer", "value": …, "replacement": …}`.
    """

    spans_days: int | None = None
    runs_days: int | None = None
    replays_days: int | None = None
    rejected_days: int | None = None
    masking: list[dict[str, Any]] = field(default_factory=list)


_COLUMNS = queries.columns_of(DataPolicy, data_policies)


def find_policy(connection: Connection, *, project_id: int) -> DataPolicy:
    """The project's policy; keeps everything and masks nothing if it never set one."""
    statement = select(*_COLUMNS).where(data_policies.c.project_id == project_id)
    return queries.find_row(connection, DataPolicy, statement) or DataPolicy()


def list_policies(connection: Connection) -> dict[int, DataPolicy]:
    """{project id: policy} of all projects that have set one, in order of ids."""
    c = data_policies.c
    rows = connection.execute(select(c.project_id, *_COLUMNS).order_by(c.project_id))
    return {project_id: DataPolicy(*values) for project_id, *values in rows}


def put_policy(connection: Connection, *, project_id: int, policy: DataPolicy) -> None:
    queries.put_row(connection, data_policies, key={"project_id": project_id}, values=asdict(policy))


def delete_policy(connection: Connection, *, project_id: int) -> None:
    connection.execute(delete(data_policies).where(data_policies.c.project_id == project_id))
