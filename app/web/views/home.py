"""The addresses that redirect: the site, a project, a prompt without its project."""

from __future__ import annotations

from app.access import SignedIn
from app.errors import NotFound
from app.web.page import Page, Redirect, Reply, show
from app.web.visit import Visit, project_path


class Home(Page):
    access = SignedIn({"GET"})

    def get(self, visit: Visit) -> Reply:
        return Redirect(visit.base) if visit.project else show("welcome.html")


class ProjectHome(Page):
    """A project opens with its prompts once it has runs and traces, with the first steps before that."""

    def get(self, visit: Visit) -> Reply:
        progress = self.services.overview.progress(project_id=visit.project_id)
        begun = progress.has_run and progress.has_trace
        return Redirect(f"{visit.base}/{'prompts' if begun else 'start'}")


class PromptHome(Page):
    def get(self, visit: Visit, prompt_id: int) -> Reply:
        return Redirect(f"{visit.base}/prompts/{prompt_id}/edit")


class PromptLink(Page):
    """`/prompts/{id}`, a prompt's `publicUrl`: redirects members to the prompt in its project."""

    access = SignedIn({"GET"})

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        for project in visit.projects:
            try:
                self.services.prompts.get(project_id=project.id, prompt_id=prompt_id, productive=True)
            except NotFound:
                continue
            return Redirect(f"{project_path(project.id)}/prompts/{prompt_id}")
        raise NotFound("There is no such prompt.")
