"""Reads the audit log; entries are written by the services that make the changes, in the same transaction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from app.cursors import Page, page_by_id
from app.db import Database
from app.models import audit_log
from app.models.audit_log import AuditEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditService:
    database: Database

    def page(self, *, organization_id: int, limit: int = 50, cursor: str | None = None) -> Page[AuditEntry]:
        """Newest first."""
        with self.database.read() as connection:
            read = partial(audit_log.list_entries, connection, organization_id=organization_id)
            return page_by_id(read, limit=limit, cursor=cursor)
