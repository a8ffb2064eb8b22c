"""Reads the audit log; entries are written by the services that make the changes, in the same transaction."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from app.cursors import Page, page_by_id
from app.db import Database
from app.errors import NotFound
from app.models import audit_log, organizations
from app.models.audit_log import Actor, AuditEntry


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
        with self._database.read() as connection:
            read = partial(audit_log.list_entries, connection, organization_id=organization_id)
            return page_by_id(read, limit=limit, cursor=cursor)
