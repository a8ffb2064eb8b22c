"""GET /api/v1/audit-log: the changes in the organization, with their authors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import operation
from app.cursors import Page
from app.models.api_keys import ApiKey
from app.models.audit_log import AuditEntry
from app.schemas import organization as schemas
from app.schemas.base import PageQuery, PageQuerySchema
from app.services.accounts.projects import AuditService


@dataclass(frozen=True, slots=True)
class AuditLog:
    """It takes the scope `admin`, as it names members and covers all projects."""

    access: ClassVar = ByKey({"GET": "admin"})
    audit: AuditService

    @operation("The organization's audit log, newest first", query=PageQuerySchema, answers={200: schemas.AuditLog})
    def on_get(self, key: ApiKey, command: PageQuery) -> Page[AuditEntry]:
        return self.audit.page(organization_id=key.organization_id, limit=command.limit, cursor=command.cursor)
