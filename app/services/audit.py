"""Reads the audit log; entries are written by the services that make the changes, in the same transaction."""

from __future__ import annotations

from app import cursors
from app.db import Database
from app.models import audit_log
from app.models.audit_log import AuditEntry
from app.services.logs import Page


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
