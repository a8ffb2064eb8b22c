"""Settings: the keys with which vendors are called; stored ones are never shown again."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.errors import Conflict, Invalid, NotFound, ProviderError
from app.models.memberships import Role
from app.web.cookies import Flash
from app.web.presenters.confirm import Confirm
from app.web.presenters.settings_credentials import credentials_page
from app.web.presenters.vendors import VENDORS
from app.web.shell import project_path
from app.web.views.settings_keys import SettingsPage
from app.web.visit import Visit


class Credentials(SettingsPage):
    access = ByRole({"GET": Role.ADMIN, "POST": Role.ADMIN})

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, project_id: int, status: str = falcon.HTTP_200, **more: str
    ) -> None:
        visit: Visit = req.context.visit
        stored = self.services.credentials.list(visit.organization_id)
        page = credentials_page(
            project_path(project_id), stored, **({"vendor": self.query(req).get("vendor", "")} | more)
        )
        self.show(req, resp, "settings_credentials.html", page, status=status)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        sent = {"vendor": visit.form.text("vendor"), "base_url": visit.form.text("base_url").strip()}
        key = visit.form.text("api_key").strip()
        try:
            self.services.credentials.set(
                visit.organization_id, sent["vendor"], api_key=key, base_url=sent["base_url"], actor=visit.actor
            )
        except Invalid as error:
            return self.on_get(req, resp, project_id, status=falcon.HTTP_400, problem=str(error), **sent)
        return self.lead(req, resp, _path(project_id), "The credential is stored. Check it to see that it works.")


class CheckCredential(SettingsPage):
    """Asks the vendor's cheapest model for a word."""

    access = ByRole({"POST": Role.ADMIN})

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, vendor: str) -> None:
        visit: Visit = req.context.visit
        try:
            model = self.services.models.cheapest(organization_id=visit.organization_id, vendor=vendor)
            self.services.credentials.check(visit.organization_id, model)
        except (Conflict, ProviderError, Invalid) as error:
            return self.lead(req, resp, _path(project_id), Flash(str(error), "problem"))
        return self.lead(req, resp, _path(project_id), f"{model.name} answered: the credential works.")


class ClearCredential(SettingsPage):
    access = ByRole({"GET": Role.ADMIN, "POST": Role.ADMIN})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, vendor: str) -> None:
        if vendor not in VENDORS:
            raise NotFound("There is no such vendor.")
        page = Confirm(
            title=f"Remove the credential for {VENDORS[vendor]}?",
            words="The key is lost here. Prompts on this vendor's models fail until another one is stored, unless the "
            "instance's own settings hold one.",
            button="Remove the credential",
            action=f"{_path(project_id)}/{vendor}/clear",
            back=_path(project_id),
        )
        self.show(req, resp, "confirm.html", page)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, vendor: str) -> None:
        visit: Visit = req.context.visit
        self.services.credentials.clear(visit.organization_id, vendor, actor=visit.actor)
        self.lead(req, resp, _path(project_id), "The credential is removed.")


def _path(project_id: int) -> str:
    return f"{project_path(project_id)}/settings/credentials"
