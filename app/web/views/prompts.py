"""The list of a project's prompts, making a new one, and archiving one."""

from __future__ import annotations

from typing import Any

from app.errors import Invalid
from app.models.organizations import Role
from app.schemas.base import load
from app.schemas.prompts import NewPromptSchema
from app.web import labels
from app.web.forms import Form
from app.web.page import PAGE_SIZE, PromptPage, Redirect, Reply, confirm, show
from app.web.visit import Visit


class Prompts(PromptPage):
    def get(self, visit: Visit) -> Reply:
        search, before_id = visit.query.get("search", ""), visit.identifier("cursor")
        found = self.services.prompts.list(
            project_id=visit.project_id, search=search or None, before_id=before_id, limit=PAGE_SIZE
        )
        models = self.services.models.list(organization_id=visit.organization_id)
        return show(
            "prompts.html",
            search=search,
            prompts=found.prompts,
            activity=self.services.overview.activity([prompt.id for prompt in found.prompts]),
            models={model.id: model.name for model in models},
            pages=visit.pages(found.next_before_id),
        )


class NewPrompt(PromptPage):
    reads = Role.MEMBER
    refusals = (Invalid,)

    def get(self, visit: Visit) -> Reply:
        """The form, with the models that can be used, the organization's default first."""
        models = [model for model in self.services.models.list(organization_id=visit.organization_id) if model.usable]
        default = next((f"Default ({model.name})" for model in models if model.is_default), "Default model")
        choices = [("", default), *((model.name, labels.model(model.name, model.vendor)) for model in models)]
        return show("prompt_new.html", models=choices)

    def post(self, visit: Visit) -> Reply:
        created = self.services.prompt_editor.create(
            project_id=visit.project_id,
            organization_id=visit.organization_id,
            new=load(NewPromptSchema(), new_prompt_body(visit.form)),
            actor=visit.actor,
        )
        return Redirect(f"{visit.base}/prompts/{created.prompt_id}", f"Created {created.name}.")


def new_prompt_body(form: Form) -> dict[str, Any]:
    body = {
        "name": form.text("name"),
        "value": form.text("value"),
        "instructionFormat": form.text("format", "XML"),
        "commit": False,
    }
    return body | ({"languageModelName": form.text("model")} if form.text("model") else {})


class Archive(PromptPage):
    def get(self, visit: Visit, prompt_id: int) -> Reply:
        head = self.head(visit, prompt_id)
        return confirm(
            visit,
            title=f"Archive {head.name}?",
            text="Callers that run it get 404 from then on, and it leaves this site with its versions, test cases and "
            "logs. There is no way back here.",
            button="Archive the prompt",
            back=f"{visit.base}/prompts/{prompt_id}/edit",
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        self.services.prompt_editor.archive(project_id=visit.project_id, prompt_id=prompt_id, actor=visit.actor)
        return Redirect(f"{visit.base}/prompts", "The prompt is archived.")
