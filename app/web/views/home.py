"""The addresses that lead on: the site, a project, a prompt without its project."""

from __future__ import annotations

import falcon

from app.access import ByRole, SignedIn
from app.errors import NotFound
from app.models.memberships import Role
from app.web.page import Page
from app.web.shell import project_path
from app.web.visit import Visit


class Home(Page):
    access = SignedIn({"GET"})

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        visit: Visit = req.context.visit
        if not visit.projects:
            return self.show(req, resp, "welcome.html", {})
        return self.lead(req, resp, project_path(visit.projects[0].id))


class ProjectHome(Page):
    """A project that has all behind it opens with its prompts, a new one with what to do first."""

    access = ByRole({"GET": Role.VIEWER})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        progress = self.services.overview.progress(project_id=project_id)
        begun = progress.has_run and progress.has_trace
        self.lead(req, resp, f"{project_path(project_id)}/{'prompts' if begun else 'start'}")


class PromptHome(Page):
    access = ByRole({"GET": Role.VIEWER})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        self.lead(req, resp, f"{project_path(project_id)}/prompts/{prompt_id}/edit")


class PromptLink(Page):
    """`/prompts/{id}`, a prompt's `publicUrl`: leads to the prompt in its project, for members of it."""

    access = SignedIn({"GET"})

    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        visit: Visit = req.context.visit
        for project in visit.projects:
            try:
                self.services.prompts.get(project_id=project.id, prompt_id=prompt_id, productive=True)
            except NotFound:
                continue
            return self.lead(req, resp, f"{project_path(project.id)}/prompts/{prompt_id}")
        raise NotFound("There is no such prompt.")
