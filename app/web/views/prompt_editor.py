"""A prompt's editor: show, preview, save and commit the draft."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from app.errors import Conflict, Invalid, StaleDraft
from app.models.organizations import Role
from app.models.runs import RunRow
from app.schemas.base import load
from app.schemas.prompts import CommitSchema, DraftChangeSchema
from app.services.prompts.service import PromptView
from app.web.page import PromptPage, Redirect, Reply, show
from app.web.presenters import prompt_editor as editor
from app.web.presenters import tries
from app.web.presenters.refusals import refusals
from app.web.presenters.tries import VERSIONS_MAX
from app.web.views.prompt_tries import Tries
from app.web.visit import Visit


class _Editing(PromptPage):
    multipart = True

    def draft(self, visit: Visit, prompt_id: int) -> PromptView:
        return self.services.prompts.get(project_id=visit.project_id, prompt_id=prompt_id, productive=False)

    def preview(
        self, visit: Visit, draft: PromptView, fields: editor.PromptFields, selections: dict[str, str]
    ) -> editor.RenderedPreview:
        """Return the instruction that the fields render to, or the reason why they can't be rendered."""
        sendable = fields.with_values()
        try:
            rendered = self.services.prompt_editor.preview(
                project_id=visit.project_id,
                prompt_id=draft.head.id,
                change=load(DraftChangeSchema(), editor.change_body(sendable, editor.fields_of(draft))),
                selections=selections,
            )
        except Invalid as error:
            return editor.preview_of(None, fields, selections, "; ".join(map(str, refusals(error, sendable))))
        return editor.preview_of(rendered, fields, selections)


class PromptPreview(_Editing):
    """The instruction of the text in the editor, for the editor's script. Nothing is stored."""

    changes = Role.VIEWER

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        draft, fields = self.draft(visit, prompt_id), editor.fields_sent(visit.form)
        return show("prompt_preview.html", preview=self.preview(visit, draft, fields, visit.form.selections()))


class PromptEditorView(_Editing):
    refusals = (StaleDraft, Conflict, Invalid)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        """Show the stored draft or the sent form, next to the conversations named in the address."""
        draft, sent = self.draft(visit, prompt_id), bool(visit.form.fields)
        stored = editor.fields_of(draft)
        fields = editor.edited(editor.fields_sent(visit.form), visit.form.text("do")) if sent else stored
        newest = self.services.prompts.get(project_id=visit.project_id, prompt_id=prompt_id, productive=True)
        models = self.services.models.list(organization_id=visit.organization_id)
        lacking = self.services.credentials.lacking(visit.organization_id, models)
        tried = self._tried(visit, prompt_id, editor.model_choices(models, lacking, fields.model))
        return show(
            "prompt_editor.html",
            head=draft.head,
            etag=draft.etag,
            commit_hash=newest.content.commit_hash,
            state=editor.draft_state(newest.content.commit_hash, committed=draft.head.committed),
            fields=fields.with_blanks(),
            unsaved=fields != stored,
            guard_map=self.services.guard_maps.newest(project_id=visit.project_id, prompt_id=prompt_id),
            drifted=self.services.instructions.newest_differs(project_id=visit.project_id, prompt_id=prompt_id),
            models=editor.model_choices(models, lacking, fields.model),
            fallbacks=[("", "None: the run fails"), *editor.model_choices(models, lacking, fields.fallback)],
            choices=editor.CHOICES,
            preview=self.preview(visit, draft, fields, tried.pop("selections")),
            refusals=refusals(visit.problem, fields) if visit.problem else [],
            stops=visit.form.text("do") == "stop",
            newer=editor.differences(stored, fields) if isinstance(visit.problem, StaleDraft) else None,
            **tried,
        )

    def _tried(self, visit: Visit, prompt_id: int, models: list[tuple[str, str]]) -> dict[str, Any]:
        """Return the page's conversations: columns, the question to ask, and values of placeholders."""
        conversations, sent = Tries(self.container, visit, prompt_id), bool(visit.form.fields)
        runs, origin = conversations.runs(), conversations.origin()
        versions = self.services.versions.list(project_id=visit.project_id, prompt_id=prompt_id, limit=VERSIONS_MAX)
        last = _selections(runs[0]) if runs else origin.selections or {}
        return {
            "runs": runs,
            "origin": origin,
            "columns": tries.columns(runs, origin),
            "opponents": tries.opponents(versions, models),
            "opponent": visit.form.text("against") if sent else tries.opponent_of(runs[1] if runs[1:] else None),
            "question": visit.form.text("question") if sent else "" if runs else origin.question,
            "selections": visit.form.selections() if sent else last,
        }

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        path = f"{visit.base}/prompts/{prompt_id}/edit"
        # Enter in a field presses the form's first button. With a commit message this commits.
        do = visit.form.text("do", "enter")
        match ("commit" if visit.form.text("message").strip() else "save") if do == "enter" else do:
            case "commit":
                self._commit(visit, prompt_id)
                return Redirect(path + _query(visit), "Committed.")
            case "run":
                self._save(visit, prompt_id)
                ids = Tries(self.container, visit, prompt_id).start()
                return Redirect(f"{path}?{urlencode(dict(zip(('run', 'beside'), ids, strict=False)))}#try")
            case "stop":
                Tries(self.container, visit, prompt_id).stop()
            case "check":
                self._save(visit, prompt_id)
                return Redirect(f"{visit.base}/prompts/{prompt_id}/experiments/new")
            case "save":
                self._save(visit, prompt_id)
                return Redirect(path + _query(visit), "The draft is saved.")
        return self.get(visit, prompt_id)

    def _save(self, visit: Visit, prompt_id: int) -> PromptView:
        """Store the sent draft. An unchanged draft, such as a form that was sent twice, is not written."""
        draft, fields = self.draft(visit, prompt_id), editor.fields_sent(visit.form)
        stored = editor.fields_of(draft)
        if fields == stored:
            return draft
        return self.services.prompt_editor.change(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            change=load(DraftChangeSchema(), editor.change_body(fields, stored)),
            if_match=[visit.form.text("etag")],
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


def _selections(run: RunRow) -> dict[str, str]:
    """Return the placeholder values of a run."""
    return {key: name for key, name in run.request.resolved.items() if name is not None}


def _query(visit: Visit) -> str:
    """Return the query that names the form's conversations; "" without any."""
    names = ("run", "beside") if visit.form.text("run") else ("session", "turn")
    shown = {name: text for name in names if (text := visit.form.text(name))}
    return f"?{urlencode(shown)}" if shown else ""
