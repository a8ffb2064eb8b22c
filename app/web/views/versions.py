"""A prompt's versions: the list, one, two side by side, restoring."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.models.memberships import Role
from app.services.prompts.content import PromptContent
from app.web.page import Page
from app.web.presenters.confirm import Confirm
from app.web.presenters.versions import DRAFT, History, compare_page, version_page, versions_page
from app.web.shell import project_path
from app.web.visit import Visit


class Versions(Page):
    access = ByRole({"GET": Role.VIEWER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        head = self.services.prompts.get(project_id=project_id, prompt_id=prompt_id, productive=True).head
        history = History(
            self.services.versions.list(project_id=project_id, prompt_id=prompt_id),
            self.services.overview.versions(prompt_id=head.id),
            self.services.replay_history.of_prompt(project_id=project_id, prompt_id=prompt_id),
            head.committed,
        )
        page = versions_page(head.name, prompt_id, history, project_path(project_id))
        self.show(req, resp, "versions.html", page)


class Version(Page):
    access = ByRole({"GET": Role.VIEWER})
    section = "prompts"

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int, commit_hash: str
    ) -> None:
        view = self.services.versions.get(project_id=project_id, prompt_id=prompt_id, commit_hash=commit_hash)
        self.show(req, resp, "version.html", version_page(view.head, view.content, project_path(project_id)))


class Compare(Page):
    """Two versions, `from` and `to`: hashes, or "draft"; without `to` it is the draft."""

    access = ByRole({"GET": Role.VIEWER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        left, right = req.get_param("from", default=DRAFT), req.get_param("to", default=DRAFT)
        page = compare_page(
            self._content(project_id, prompt_id, left),
            self._content(project_id, prompt_id, right),
            project_path(project_id),
        )
        self.show(req, resp, "compare.html", page)

    def _content(self, project_id: int, prompt_id: int, which: str) -> PromptContent:
        commit_hash = None if which == DRAFT else which
        return self.services.prompts.content(
            project_id=project_id, prompt_id=prompt_id, productive=False, commit_hash=commit_hash
        )


class Restore(Page):
    """Asks first: the draft that is there goes."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    section = "prompts"

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int, commit_hash: str
    ) -> None:
        draft = self.services.prompts.get(project_id=project_id, prompt_id=prompt_id, productive=False)
        back = f"{project_path(project_id)}/prompts/{prompt_id}/versions"
        lost = "The draft has nothing that is not committed, so nothing is lost."
        if not draft.head.committed:
            lost = "What the draft has and no version has is lost: commit it first if you want to keep it."
        page = Confirm(
            title=f"Put version {commit_hash[:8]} into the draft?",
            words=f"{lost} The history stays as it is; callers get the version only once you commit it.",
            button="Restore into the draft",
            action=f"{back}/{commit_hash}/restore",
            back=back,
            fields=(("etag", draft.etag or ""),),
        )
        self.show(req, resp, "confirm.html", page)

    def on_post(
        self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int, commit_hash: str
    ) -> None:
        visit: Visit = req.context.visit
        self.services.versions.restore(
            project_id=project_id,
            prompt_id=prompt_id,
            commit_hash=commit_hash,
            if_match=[visit.form.text("etag")],
            actor=visit.actor,
        )
        path = f"{project_path(project_id)}/prompts/{prompt_id}/edit"
        self.lead(req, resp, path, f"Version {commit_hash[:8]} is in the draft.")


class Archive(Page):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        head = self.services.prompts.get(project_id=project_id, prompt_id=prompt_id, productive=True).head
        path = f"{project_path(project_id)}/prompts/{prompt_id}"
        page = Confirm(
            title=f"Archive {head.name}?",
            words="Callers that run it get 404 from then on, and it leaves this site with its versions, test cases and "
            "logs. There is no way back here.",
            button="Archive the prompt",
            action=f"{path}/archive",
            back=f"{path}/edit",
        )
        self.show(req, resp, "confirm.html", page)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        visit: Visit = req.context.visit
        self.services.prompt_editor.archive(project_id=project_id, prompt_id=prompt_id, actor=visit.actor)
        self.lead(req, resp, f"{project_path(project_id)}/prompts", "The prompt is archived.")
