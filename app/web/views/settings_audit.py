"""Settings: who changed what."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.models.memberships import Role
from app.web.presenters.lists import PAGE
from app.web.presenters.settings import audit_page
from app.web.shell import project_path
from app.web.views.settings_keys import SettingsPage
from app.web.visit import Visit


class Audit(SettingsPage):
    access = ByRole({"GET": Role.ADMIN})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        query = self.query(req)
        page = self.services.audit.page(organization_id=visit.organization_id, limit=PAGE, cursor=query.get("cursor"))
        self.show(req, resp, "settings_audit.html", audit_page(project_path(project_id), page, query))
