"""A prompt's editor: shown, rendered as it stands, saved, committed, tried."""

from __future__ import annotations

from dataclasses import dataclass

import falcon

from app.access import ByRole
from app.errors import Conflict, Invalid, RepriseError, StaleDraft
from app.models.memberships import Role
from app.schemas.base import load
from app.schemas.prompts import CommitSchema, DraftChangeSchema
from app.services.prompts.changes import Author
from app.services.prompts.service import PromptView
from app.web.page import Page
from app.web.presenters.prompt_editor import Preview, editor_page, preview_of
from app.web.presenters.prompt_form import PromptFields, change_body, fields_of, fields_sent, selections_sent
from app.web.presenters.prompt_tries import selections_run, sent_again, tried
from app.web.shell import project_path
from app.web.visit import Visit

STATUS = {StaleDraft: falcon.HTTP_412, Conflict: falcon.HTTP_409, Invalid: falcon.HTTP_400}


@dataclass(frozen=True, slots=True)
class Ids:
    project_id: int
    prompt_id: int


class _Editing(Page):
    section = "prompts"
    multipart = True

    def draft(self, ids: Ids) -> PromptView:
        return self.services.prompts.get(project_id=ids.project_id, prompt_id=ids.prompt_id, productive=False)

    def rendered(self, ids: Ids, fields: PromptFields, selections: dict[str, str], stored: PromptFields) -> Preview:
        """What the fields would render to, or why they can't."""
        try:
            change = load(DraftChangeSchema(), change_body(fields, stored))
            made = self.services.prompt_editor.preview(
                project_id=ids.project_id, prompt_id=ids.prompt_id, change=change, selections=selections
            )
        except Invalid as error:
            return preview_of(None, fields, selections, str(error))
        return preview_of(made, fields, selections)


class PromptPreview(_Editing):
    """The instruction of what stands in the editor, for its script; nothing is stored."""

    access = ByRole({"POST": Role.VIEWER})

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        visit: Visit = req.context.visit
        ids, fields = Ids(project_id, prompt_id), fields_sent(visit.form)
        preview = self.rendered(ids, fields, selections_sent(visit.form), fields_of(self.draft(ids)))
        self.show(req, resp, "prompt_preview.html", {"preview": preview})


class PromptEditorView(_Editing):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        self._page(req, resp, Ids(project_id, prompt_id))

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        visit: Visit = req.context.visit
        ids, do = Ids(project_id, prompt_id), visit.form.text("do", "save")
        path = f"{project_path(project_id)}/prompts/{prompt_id}/edit"
        try:
            if do == "commit":
                self._commit(ids, visit)
                return self.lead(req, resp, path, "Committed.")
            if do == "run":
                return self.lead(req, resp, f"{path}?run={self._run(ids, visit)}#try")
            if do == "save":
                self._save(ids, visit)
                return self.lead(req, resp, path, "The draft is saved.")
        except (StaleDraft, Conflict, Invalid) as error:
            return self._page(req, resp, ids, error)
        return self._page(req, resp, ids)

    def _save(self, ids: Ids, visit: Visit) -> PromptView:
        """The draft as it was sent; a form that changes nothing writes nothing."""
        view, fields, etag = self.draft(ids), fields_sent(visit.form), visit.form.text("etag")
        if fields == fields_of(view) and etag == view.etag:
            return view
        change = load(DraftChangeSchema(), change_body(fields, fields_of(view)))
        return self.services.prompt_editor.change(
            project_id=ids.project_id, prompt_id=ids.prompt_id, change=change, if_match=[etag], actor=visit.actor
        )

    def _commit(self, ids: Ids, visit: Visit) -> None:
        message: str = load(CommitSchema(), {"message": visit.form.text("message").strip()})["message"]
        saved = self._save(ids, visit)
        author = Author(visit.actor.id or 0, visit.actor.name)
        self.services.versions.commit(
            project_id=ids.project_id,
            prompt_id=ids.prompt_id,
            message=message,
            author=author,
            if_match=[saved.etag or ""],
            actor=visit.actor,
        )

    def _run(self, ids: Ids, visit: Visit) -> int:
        self._save(ids, visit)
        started = self.services.runs.start(tried(ids.prompt_id, visit.form), project_id=ids.project_id, source="ui")
        self.site.runs.send(started)
        return started.run_id

    def _newest(self, ids: Ids) -> str | None:
        """The newest version's hash."""
        view = self.services.prompts.get(project_id=ids.project_id, prompt_id=ids.prompt_id, productive=True)
        return view.content.commit_hash

    def _page(self, req: falcon.Request, resp: falcon.Response, ids: Ids, error: RepriseError | None = None) -> None:
        visit: Visit = req.context.visit
        view, run_id = self.draft(ids), req.get_param_as_int("run", min_value=1, max_value=2**63 - 1)
        run = self.services.runs.get(project_id=ids.project_id, run_id=run_id) if run_id else None
        sent = sent_again(visit.form, error) if req.method == "POST" else None
        fields = sent.fields if sent else fields_of(view)
        selections = selections_sent(visit.form) if sent else selections_run(run)
        page = editor_page(
            view,
            self._newest(ids),
            self.services.models.list(organization_id=visit.organization_id),
            self.rendered(ids, fields, selections, fields_of(view)),
            project_path(ids.project_id),
            sent=sent,
            run=run,
        )
        status = STATUS[type(error)] if error else falcon.HTTP_200
        self.show(req, resp, "prompt_editor.html", page, status=status)
