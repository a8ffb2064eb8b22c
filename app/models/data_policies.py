"""Data policies: how long each project keeps rows, and what is masked before it is stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from sqlalchemy import Connection, Integer, UniqueConstraint, select

from app.models import queries
from app.models.base import Json, new_table, reference


@dataclass(frozen=True, slots=True)
class DataPolicy:
    """Days that rows are kept after they were received or requested; None means forever.

    `masking` is a list of `{"kind": "pattern" | "pointer", "value": …, "replacement": …}`.
    """

    spans_days: Annotated[int | None, Integer] = None
    runs_days: Annotated[int | None, Integer] = None
    replays_days: Annotated[int | None, Integer] = None
    rejected_days: Annotated[int | None, Integer] = None
    # The JSON of `app/otlp/masking.py`.
    masking: Annotated[list[dict[str, Any]], Json] = field(default_factory=list)


data_policies = new_table(
    "data_policies", reference("project_id", "projects"), DataPolicy, UniqueConstraint("project_id")
)
_COLUMNS = queries.columns_of(DataPolicy, data_policies)


def find_policy(connection: Connection, *, project_id: int) -> DataPolicy:
    """Return the project's policy; keeps everything and masks nothing if it never set one."""
    statement = select(*_COLUMNS).where(data_policies.c.project_id == project_id)
    return queries.find_row(connection, DataPolicy, statement) or DataPolicy()


def list_policies(connection: Connection) -> dict[int, DataPolicy]:
    """Return {project id: policy} of all projects that have set one, in order of ids."""
    c = data_policies.c
    rows = connection.execute(select(c.project_id, *_COLUMNS).order_by(c.project_id))
    return {project_id: DataPolicy(*values) for project_id, *values in rows}


def put_policy(connection: Connection, *, project_id: int, policy: DataPolicy) -> None:
    queries.put_row(connection, data_policies, key={"project_id": project_id}, values=asdict(policy))
