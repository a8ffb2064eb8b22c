"""Reads the audit log; entries are written by the services that make the changes, in the same transaction."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from app import cursors
from app.db import Database
from app.errors import NotFound
from app.models import audit_log, organizations
from app.models.audit_log import Actor, AuditEntry
from app.services.traces.logs import Page


def note(
    connection: Connection, *, project_id: int, actor: Actor, action: str, subject: str, now: datetime, **details: str
) -> None:
    """Add an entry on a change within a project; details name what changed, never what it holds."""
    project = organizations.find_project(connection, project_id)
    if project is None:
        raise NotFound("There is no such project.")
    audit_log.add_entry(
        connection,
        organization_id=project.organization_id,
        project_id=project_id,
        actor=actor,
        action=action,
        subject=subject,
        details=details,
        now=now,
    )


class AuditService:
    def __init__(self, *, database: Database) -> None:
        self._database = database

    def page(self, *, organization_id: int, limit: int, cursor: str | None) -> Page[AuditEntry]:
        """Newest first."""
        before = int(cursors.decode(cursor, int)[0]) if cursor else None
        with self._database.read() as connection:
            rows = audit_log.list_entries(
                connection, organization_id=organization_id, before_id=before, limit=limit + 1
            )
        return Page(rows[:limit], cursors.encode(rows[limit - 1].id) if len(rows) > limit else None)
