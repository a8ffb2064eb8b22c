"""The audit logs of organizations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from app.database.transactions import Database
from app.models import audit_log
from app.models.audit_log import AuditEntry
from app.pagination import ListPage, page_by_id


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditService:
    """Reads the audit logs of organizations."""

    database: Database

    def page(self, *, organization_id: int, limit: int = 50, cursor: str | None = None) -> ListPage[AuditEntry]:
        """Return a page of entries, newest first."""
        with self.database.read() as connection:
            read = partial(audit_log.list_entries, connection, organization_id=organization_id)
            return page_by_id(read, limit=limit, cursor=cursor)
