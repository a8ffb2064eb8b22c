"""The list of a project's prompts, and making a new one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import falcon

from app.access import ByRole
from app.errors import Invalid
from app.models.memberships import Role
from app.schemas.base import load
from app.schemas.prompts import NewPromptSchema
from app.services.prompts.changes import Author
from app.web.page import Page
from app.web.presenters.lists import PAGE
from app.web.presenters.prompts import Found, NewPromptPage, model_choices, prompts_page
from app.web.visit import Visit


class Prompts(Page):
    access = ByRole({"GET": Role.VIEWER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        search = req.get_param("search") or None
        before = req.get_param_as_int("cursor", min_value=1, max_value=2**63 - 1)
        page = self.services.prompts.list(project_id=project_id, search=search, before_id=before, limit=PAGE)
        activity = self.services.overview.activity([prompt.id for prompt in page.prompts])
        models = self.services.models.list(organization_id=visit.organization_id)
        self.show(req, resp, "prompts.html", prompts_page(Found(page, activity, models), self.query(req)))


class NewPrompt(Page):
    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        self.show(req, resp, "prompt_new.html", self._form(req.context.visit))

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        try:
            created = self.services.prompt_editor.create(
                project_id=project_id,
                organization_id=visit.organization_id,
                new=load(NewPromptSchema(), _sent(visit)),
                author=Author(visit.actor.id or 0, visit.actor.name),
                actor=visit.actor,
            )
        except Invalid as error:
            page = replace(self._form(visit), problem=str(error))
            return self.show(req, resp, "prompt_new.html", page, status=falcon.HTTP_400)
        return self.lead(req, resp, f"/projects/{project_id}/prompts/{created.prompt_id}", f"Created {created.name}.")

    def _form(self, visit: Visit) -> NewPromptPage:
        models = model_choices(self.services.models.list(organization_id=visit.organization_id))
        texts = {name: visit.form.text(name) for name in ("name", "value", "model")}
        return NewPromptPage(models, **texts, format=visit.form.text("format", "XML"))


def _sent(visit: Visit) -> dict[str, Any]:
    """The form as the API's body has it."""
    form = visit.form
    body: dict[str, Any] = {"name": form.text("name"), "value": form.text("value"), "commit": False}
    body["instructionFormat"] = form.text("format", "XML")
    return body | ({"languageModelName": form.text("model")} if form.text("model") else {})
