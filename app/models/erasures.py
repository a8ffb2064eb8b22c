"""Erased prompts and projects: rows without content, kept so that runs and batches under way find them erased."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select, update

from app.models.organizations import projects
from app.models.prompts import prompts


def mark_prompt(connection: Connection, *, project_id: int, prompt_id: int, now: datetime) -> bool:
    """Empty and hide the prompt, archived or not; False if there is none."""
    c = prompts.c
    found = update(prompts).where(c.id == prompt_id, c.project_id == project_id, c.erased_at.is_(None))
    empty = {"name": "", "value": "", "assertion_value": "", "config": {}, "placeholders": []}
    gone = {"newest_version_id": None, "committed": False, "archived_at": now, "erased_at": now, "updated_at": now}
    return connection.execute(found.values(revision=c.revision + 1, **empty, **gone)).rowcount == 1


def mark_project(connection: Connection, *, project_id: int, now: datetime) -> list[int] | None:
    """Hide the project and empty its prompts; returns their ids, None if there is no such project."""
    found = update(projects).where(projects.c.id == project_id, projects.c.erased_at.is_(None))
    if connection.execute(found.values(name="", erased_at=now)).rowcount != 1:
        return None
    ids = list(connection.scalars(select(prompts.c.id).where(prompts.c.project_id == project_id)))
    for prompt_id in ids:
        mark_prompt(connection, project_id=project_id, prompt_id=prompt_id, now=now)
    return ids


def erased_prompts(connection: Connection, *, since: datetime) -> list[tuple[int, int]]:
    """(project id, prompt id) of the prompts that were erased since then."""
    c = prompts.c
    return [(row[0], row[1]) for row in connection.execute(select(c.project_id, c.id).where(c.erased_at >= since))]


def erased_projects(connection: Connection, *, since: datetime) -> list[int]:
    return list(connection.scalars(select(projects.c.id).where(projects.c.erased_at >= since)))


def has_prompt(connection: Connection, *, project_id: int, prompt_id: int) -> bool:
    """True if the project has the prompt, archived or not, and it is not erased."""
    c = prompts.c
    found = select(c.id).where(c.id == prompt_id, c.project_id == project_id, c.erased_at.is_(None))
    return connection.scalar(found) is not None
