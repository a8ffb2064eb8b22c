"""Agents that send traces by their name, each with the prompt that was made for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import Connection, ForeignKey, Index, UniqueConstraint, select, update

from app.models import queries
from app.models.base import BigInt, Timestamp, exact, new_table

AGENT_NAME_MAX = 64
NO_AGENT_NAMES = (".", "..")
"""Clients and proxies remove these from an address."""


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent; its name is unique in the project. `adopted_at` is None until its prompt has what a trace recorded."""

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int, BigInt]
    name: Annotated[str, exact(AGENT_NAME_MAX)]
    created_at: Annotated[datetime, Timestamp]
    adopted_at: Annotated[datetime | None, Timestamp]


agents = new_table(
    "agents", AgentRow, UniqueConstraint("project_id", "name"), Index("ix_agents_prompt_id", "prompt_id")
)
_C = agents.c
_SELECT = select(*queries.columns_of(AgentRow, agents))


def find_agent(connection: Connection, *, project_id: int, name: str) -> AgentRow | None:
    return queries.find_row(connection, AgentRow, _SELECT.where(_C.project_id == project_id, _C.name == name))


def list_agents(connection: Connection, *, project_id: int, limit: int) -> list[AgentRow]:
    """List a project's agents in the order of their names."""
    statement = _SELECT.where(_C.project_id == project_id).order_by(_C.name).limit(limit)
    return queries.list_rows(connection, AgentRow, statement)


def count_agents(connection: Connection, *, project_id: int) -> int:
    return queries.count_rows(connection, select(_C.id).where(_C.project_id == project_id))


def is_of_agent(connection: Connection, *, project_id: int, prompt_id: int) -> bool:
    """Return whether a prompt of the project was made for an agent."""
    which = _C.project_id == project_id, _C.prompt_id == prompt_id
    return connection.scalar(select(_C.id).where(*which).limit(1)) is not None


def put_adopted(connection: Connection, *, project_id: int, name: str, now: datetime) -> None:
    """Note that the agent's prompt has what a trace recorded."""
    which = _C.project_id == project_id, _C.name == name, _C.adopted_at.is_(None)
    connection.execute(update(agents).where(*which).values(adopted_at=now))
