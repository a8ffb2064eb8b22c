"""Settings: the project's API keys."""

from __future__ import annotations

from datetime import timedelta

import falcon

from app.access import ByRole
from app.errors import Invalid
from app.models.memberships import Role
from app.services.accounts.keys import DEFAULT_SCOPES, SCOPES
from app.services.accounts.projects import checked_name
from app.web.page import Page
from app.web.presenters.confirm import Confirm
from app.web.presenters.settings import EXPIRIES, keys_page
from app.web.shell import project_path
from app.web.visit import Visit


class SettingsPage(Page):
    """A page of the settings, which are for admins alone."""

    section = "settings"


class Keys(SettingsPage):
    access = ByRole({"GET": Role.ADMIN, "POST": Role.ADMIN})

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, project_id: int, status: str = falcon.HTTP_200, **more: str
    ) -> None:
        keys = self.services.keys.list(project_id=project_id)
        page = keys_page(project_path(project_id), keys, self.site.now(), **more)
        self.show(req, resp, "settings_keys.html", page, status=status)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        name, days, admin = (visit.form.text(field) for field in ("name", "expires", "admin"))
        try:
            if days not in dict(EXPIRIES):
                raise Invalid("expires: There is no such choice.")
            expires_at = self.site.now() + timedelta(days=int(days)) if days else None
            made = self.services.keys.create(
                project_id=project_id,
                name=checked_name(name),
                scopes=SCOPES if admin else DEFAULT_SCOPES,
                expires_at=expires_at,
                actor=visit.actor,
            )
        except Invalid as error:
            return self.on_get(
                req, resp, project_id, status=falcon.HTTP_400, name=name, admin=admin, problem=str(error)
            )
        return self.on_get(req, resp, project_id, secret=made.secret)


class RevokeKey(SettingsPage):
    access = ByRole({"GET": Role.ADMIN, "POST": Role.ADMIN})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, key_id: int) -> None:
        key = self.services.keys.get(project_id=project_id, key_id=key_id)
        back = f"{project_path(project_id)}/settings/keys"
        page = Confirm(
            title=f"Revoke {key.name}?",
            words=f"Whatever uses the key rp_…{key.last_four} is refused within 5 seconds. This can't be undone.",
            button="Revoke the key",
            action=f"{back}/{key_id}/revoke",
            back=back,
        )
        self.show(req, resp, "confirm.html", page)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, key_id: int) -> None:
        visit: Visit = req.context.visit
        self.services.keys.revoke(project_id=project_id, key_id=key_id, actor=visit.actor)
        self.lead(req, resp, f"{project_path(project_id)}/settings/keys", "The key is revoked.")
