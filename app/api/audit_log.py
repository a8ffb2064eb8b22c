"""GET /api/v1/audit-log: who changed what in the organization."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.schemas.answers import organization as answers
from app.schemas.base import load
from app.schemas.cases import PageQuery, PageQuerySchema
from app.schemas.organization import dump_entry
from app.services.accounts.audit import AuditService

_PAGE = PageQuerySchema()


class AuditLog:
    """It names members and what happens in all projects."""

    access = ByKey({"GET": "admin"})

    def __init__(self, *, audit: AuditService) -> None:
        self._audit = audit

    @operation("The organization's audit log, newest first", query=PageQuerySchema, answers={200: answers.AuditLog})
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        query: PageQuery = load(_PAGE, req.params)
        organization_id = req.context.key.organization_id
        page = self._audit.page(organization_id=organization_id, limit=query.limit, cursor=query.cursor)
        resp.media = {"entries": [dump_entry(entry) for entry in page.entries], "nextCursor": page.next_cursor}
