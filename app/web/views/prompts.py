"""A project's prompts and their versions: the lists, making, archiving, comparing and restoring them."""

from __future__ import annotations

from typing import Any

from app.errors import Invalid
from app.models.organizations import Role
from app.schemas.base import load
from app.schemas.prompts import NewPromptSchema
from app.services.prompts.content import PromptContent, placeholders_json
from app.web import labels
from app.web.cookies import Flash
from app.web.forms import Form
from app.web.page import PAGE_SIZE, PromptPage, Redirect, Reply, confirm, show
from app.web.presenters.diffs import diff_json, diff_rows
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
            text="Callers that run it get 404 until it is taken out of the archive. Nothing is deleted: its versions, "
            "test cases and logs come back with it.",
            button="Archive the prompt",
            back=f"{visit.base}/prompts/{prompt_id}/edit",
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        name = self.head(visit, prompt_id).name
        self.services.prompt_editor.archive(project_id=visit.project_id, prompt_id=prompt_id, actor=visit.actor)
        undo = f"{visit.base}/prompts/{prompt_id}/unarchive"
        return Redirect(f"{visit.base}/prompts", Flash(f"{name} is archived.", undo=undo))


class ArchivedPrompts(PromptPage):
    def get(self, visit: Visit) -> Reply:
        found = self.services.prompts.list(
            project_id=visit.project_id, before_id=visit.identifier("cursor"), limit=PAGE_SIZE, archived=True
        )
        return show("prompts_archived.html", prompts=found.prompts, pages=visit.pages(found.next_before_id))


class Unarchive(PromptPage):
    def post(self, visit: Visit, prompt_id: int) -> Reply:
        view = self.services.prompt_editor.unarchive(
            project_id=visit.project_id, prompt_id=prompt_id, actor=visit.actor
        )
        return Redirect(f"{visit.base}/prompts/{prompt_id}", f"{view.head.name} is out of the archive.")


DRAFT = "draft"


class Versions(PromptPage):
    def get(self, visit: Visit, prompt_id: int) -> Reply:
        """The versions with how each did, newest first, and before them the draft if it is not committed."""
        history = self.services.replay_history.of_prompt(project_id=visit.project_id, prompt_id=prompt_id)
        return show(
            "versions.html",
            head=self.head(visit, prompt_id),
            versions=self.services.versions.list(project_id=visit.project_id, prompt_id=prompt_id),
            labels=self.services.labels.list(project_id=visit.project_id, prompt_id=prompt_id),
            activity=self.services.overview.versions(prompt_id=prompt_id),
            sessions=self.services.session_comparison.by_version(project_id=visit.project_id, prompt_id=prompt_id),
            replays={entry.commit_hash: entry for entry in history},
        )


class Version(PromptPage):
    def get(self, visit: Visit, prompt_id: int, commit_hash: str) -> Reply:
        view = self.services.versions.get(project_id=visit.project_id, prompt_id=prompt_id, commit_hash=commit_hash)
        return show("version.html", head=view.head, labels=view.labels, content=view.content)


class Compare(PromptPage):
    """Two versions, `from` and `to`: hashes, or "draft"; without `to` it is the draft."""

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        left = self._content(visit, prompt_id, visit.query.get("from", DRAFT))
        right = self._content(visit, prompt_id, visit.query.get("to", DRAFT))
        return show(
            "compare.html",
            content=right,
            keys=[side.commit_hash or DRAFT for side in (left, right)],
            left=_title(left),
            right=_title(right),
            differences=[
                ("Text", "The text is the same.", diff_rows(left.value, right.value)),
                (
                    "Model and parameters",
                    "Model and parameters are the same.",
                    diff_json(_parameters(left), _parameters(right)),
                ),
                (
                    "Placeholders",
                    "The placeholders are the same.",
                    diff_json(placeholders_json(left.placeholders), placeholders_json(right.placeholders)),
                ),
            ],
        )

    def _content(self, visit: Visit, prompt_id: int, which: str) -> PromptContent:
        return self.services.prompts.content(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            productive=False,
            commit_hash=None if which == DRAFT else which,
        )


def _title(content: PromptContent) -> str:
    return f"Version {content.commit_hash[:8]}" if content.commit_hash else "The draft"


def _parameters(content: PromptContent) -> dict[str, object]:
    fallback = {"whenItFails": content.fallback.name} if content.fallback else {}
    return {"model": content.model.name, "vendor": content.model.vendor, **fallback, **content.config}


class Restore(PromptPage):
    """Puts a version into the draft, after asking: the draft is overwritten."""

    def get(self, visit: Visit, prompt_id: int, commit_hash: str) -> Reply:
        draft = self.services.prompts.get(project_id=visit.project_id, prompt_id=prompt_id, productive=False)
        lost = "The draft has nothing that is not committed, so nothing is lost."
        if not draft.head.committed:
            lost = "What the draft has and no version has is lost: commit it first if you want to keep it."
        return confirm(
            visit,
            title=f"Put version {commit_hash[:8]} into the draft?",
            text=f"{lost} The history stays as it is; callers get the version only once you commit it.",
            button="Restore into the draft",
            back=f"{visit.base}/prompts/{prompt_id}/versions",
            danger=not draft.head.committed,
            etag=draft.etag or "",
        )

    def post(self, visit: Visit, prompt_id: int, commit_hash: str) -> Reply:
        self.services.versions.restore(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            commit_hash=commit_hash,
            if_match=[visit.form.text("etag")],
            actor=visit.actor,
        )
        path = f"{visit.base}/prompts/{prompt_id}/edit"
        return Redirect(path, f"Version {commit_hash[:8]} is in the draft.")
