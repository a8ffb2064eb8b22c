"""Saved filters of a project's list of sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import Connection, ForeignKey, Index, UniqueConstraint, select

from app.models import queries
from app.models.base import BigInt, Json, Timestamp, exact, new_table

FILTER_NAME_MAX = 100


@dataclass(frozen=True, slots=True)
class SavedFilter:
    """A saved filter; its name is unique in the project.

    `filters` are fields of the list's query with their values. `prompt_id` is the prompt among them; the filter is
    removed with it.
    """

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int | None, BigInt]
    name: Annotated[str, exact(FILTER_NAME_MAX)]
    filters: Annotated[dict[str, Any], Json]
    created_at: Annotated[datetime, Timestamp]


session_filters = new_table(
    "session_filters",
    SavedFilter,
    UniqueConstraint("project_id", "name"),
    Index("ix_session_filters_prompt_id", "prompt_id"),
)
_C = session_filters.c
_SELECT = select(*queries.columns_of(SavedFilter, session_filters))


def list_filters(connection: Connection, *, project_id: int) -> list[SavedFilter]:
    """List a project's filters in the order of their names."""
    return queries.list_rows(connection, SavedFilter, _SELECT.where(_C.project_id == project_id).order_by(_C.name))


def find_filter(connection: Connection, *, project_id: int, filter_id: int) -> SavedFilter | None:
    statement = _SELECT.where(_C.id == filter_id, _C.project_id == project_id)
    return queries.find_row(connection, SavedFilter, statement)
