"""A prompt's editor: shown, rendered as it stands, saved, committed, tried."""

from __future__ import annotations

from dataclasses import replace

from app.errors import Conflict, Invalid, StaleDraft
from app.models.organizations import Role
from app.models.runs import RunRow
from app.schemas.base import load
from app.schemas.prompts import CommitSchema, DraftChangeSchema
from app.schemas.runs import FILES_MAX, RunRequest
from app.services.prompts.service import PromptView
from app.services.runs import RunCommand
from app.web.forms import Form
from app.web.page import PromptPage, Redirect, Reply, show
from app.web.presenters import prompt_editor as editor
from app.web.presenters.diffs import diff_rows
from app.web.visit import Visit


class _Editing(PromptPage):
    multipart = True

    def draft(self, visit: Visit, prompt_id: int) -> PromptView:
        return self.services.prompts.get(project_id=visit.project_id, prompt_id=prompt_id, productive=False)

    def preview(
        self, visit: Visit, draft: PromptView, fields: editor.PromptFields, selections: dict[str, str]
    ) -> editor.Preview:
        """The instruction that the fields render to, or why they can't."""
        try:
            rendered = self.services.prompt_editor.preview(
                project_id=visit.project_id,
                prompt_id=draft.head.id,
                change=load(DraftChangeSchema(), editor.change_body(fields, editor.fields_of(draft))),
                selections=selections,
            )
        except Invalid as error:
            return editor.preview_of(None, fields, selections, str(error))
        return editor.preview_of(rendered, fields, selections)


class PromptPreview(_Editing):
    """The instruction of the text in the editor, for its script; nothing is stored."""

    changes = Role.VIEWER

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        draft, fields = self.draft(visit, prompt_id), editor.fields_sent(visit.form)
        return show("prompt_preview.html", preview=self.preview(visit, draft, fields, visit.form.selections()))


class PromptEditorView(_Editing):
    refusals = (StaleDraft, Conflict, Invalid)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        """The draft as it is stored, or the form as it was sent; beside it the run in the query."""
        draft, run_id, sent = self.draft(visit, prompt_id), visit.identifier("run"), bool(visit.form.fields)
        run = self.services.runs.get(project_id=visit.project_id, run_id=run_id) if run_id else None
        stored = editor.fields_of(draft)
        fields = editor.fields_sent(visit.form) if sent else stored
        stale = isinstance(visit.problem, StaleDraft)
        newest = self.services.prompts.get(project_id=visit.project_id, prompt_id=prompt_id, productive=True)
        models = self.services.models.list(organization_id=visit.organization_id)
        return show(
            "prompt_editor.html",
            head=draft.head,
            etag=draft.etag,
            commit_hash=newest.content.commit_hash,
            state=editor.draft_state(newest.content.commit_hash, committed=draft.head.committed),
            fields=fields.with_blanks(),
            unsaved=fields != stored,
            models=editor.model_choices(models, fields.model),
            fallbacks=[("", "None: the run fails"), *editor.model_choices(models, fields.fallback)],
            choices=editor.CHOICES,
            preview=self.preview(visit, draft, fields, visit.form.selections() if sent else _selections(run)),
            question=visit.form.text("question") if sent else run.question if run else "",
            run=run,
            newer=(diff_rows(stored.value, fields.value), editor.other_changes(stored, fields)) if stale else None,
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        path = f"{visit.base}/prompts/{prompt_id}/edit"
        match visit.form.text("do", "save"):
            case "commit":
                self._commit(visit, prompt_id)
                return Redirect(path, "Committed.")
            case "run":
                return Redirect(f"{path}?run={self._run(visit, prompt_id)}#try")
            case "save":
                self._save(visit, prompt_id)
                return Redirect(path, "The draft is saved.")
        return self.get(visit, prompt_id)

    def _save(self, visit: Visit, prompt_id: int) -> PromptView:
        """Store the draft as it was sent; a form that changes nothing writes nothing."""
        draft, fields, etag = self.draft(visit, prompt_id), editor.fields_sent(visit.form), visit.form.text("etag")
        stored = editor.fields_of(draft)
        if fields == stored and etag == draft.etag:
            return draft
        return self.services.prompt_editor.change(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            change=load(DraftChangeSchema(), editor.change_body(fields, stored)),
            if_match=[etag],
            actor=visit.actor,
        )

    def _commit(self, visit: Visit, prompt_id: int) -> None:
        message: str = load(CommitSchema(), {"message": visit.form.text("message").strip()})["message"]
        saved = self._save(visit, prompt_id)
        self.services.versions.commit(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            message=message,
            if_match=[saved.etag or ""],
            actor=visit.actor,
        )

    def _run(self, visit: Visit, prompt_id: int) -> int:
        self._save(visit, prompt_id)
        command = run_command(prompt_id, visit.form)
        started = self.services.runs.start(command, project_id=visit.project_id, source="ui")
        self.container.run_delivery.send(started)
        return started.run_id


def run_command(prompt_id: int, form: Form) -> RunCommand:
    """A run of the draft; `Invalid` without a question or with too many files."""
    question = form.text("question")
    if not question.strip():
        raise Invalid("question: Write what to ask the draft.")
    if len(form.files) > FILES_MAX:
        raise Invalid(f"files: At most {FILES_MAX} can go with a question.")
    body = {"id": prompt_id, "question": question, "placeholders": form.selections(), "productive": False}
    command: RunCommand = load(RunRequest(), body)
    return replace(command, files=form.files)


def _selections(run: RunRow | None) -> dict[str, str]:
    """The values that the last run was made with."""
    resolved: dict[str, str | None] = run.request.resolved if run else {}
    return {key: name for key, name in resolved.items() if name is not None}
