"""Addresses that redirect (the site, a project, a prompt without its project), and the first steps in a project."""

from __future__ import annotations

from app.errors import NotFound
from app.http.access import BySession
from app.models.organizations import Role
from app.services.language_models.service import FALLBACK, is_fallback
from app.web.page import Page, Redirect, Reply, show
from app.web.presenters.snippets import snippets
from app.web.visit import Visit, project_path


class Home(Page):
    access = BySession({"GET"})

    def get(self, visit: Visit) -> Reply:
        return Redirect(visit.base) if visit.project else show("welcome.html")


class ProjectHome(Page):
    """Redirects to the overview of a project, or to the first steps until it has a run or a trace."""

    def get(self, visit: Visit) -> Reply:
        progress = self.services.overview.progress(project_id=visit.project_id)
        begun = progress.has_run or progress.has_trace
        return Redirect(f"{visit.base}/{'overview' if begun else 'start'}")


class PromptHome(Page):
    def get(self, visit: Visit, prompt_id: int) -> Reply:
        return Redirect(f"{visit.base}/prompts/{prompt_id}/edit")


class PromptLink(Page):
    """`/prompts/{id}`, a prompt's `publicUrl`: redirects members to the prompt in its project."""

    access = BySession({"GET"})

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        for project in visit.projects:
            try:
                self.services.prompts.get(project_id=project.id, prompt_id=prompt_id, productive=True)
            except NotFound:
                continue
            return Redirect(f"{project_path(project.id)}/prompts/{prompt_id}")
        raise NotFound("There is no such prompt.")


KEY_NAME = "First key"
# Key, title, text.
STEPS = (
    ("key", "Create an API key", "Your agent and your application send it with every request."),
    (
        "trace",
        "See your agent's first trace",
        "Point its OpenTelemetry exporter at the address with its name. The first trace makes its prompt, with "
        "instruction, tools and model, and its conversations become sessions.",
    ),
    (
        "replay",
        "Pass a replay",
        "Make a test case of a session, change the draft, and replay: every step is compared with the recording.",
    ),
    (
        "run",
        "Run a prompt",
        "An application calls a prompt by its id, without having its text. Paste one of the snippets below.",
    ),
)
BY_ECHO = "The built-in model echo, which needs no account at a vendor,"
# The link of the next step: label, path below the newest prompt.
BUTTONS = {
    "run": ("Run it in the editor", "edit"),
    "trace": ("Open the sessions", "logs?type=otel"),
    "replay": ("Make a test case", "test-cases"),
}
LINKS = {"run": "See the log", "trace": "See the sessions"}


class GettingStarted(Page):
    changes = Role.ADMIN
    section = "start"
    shows_once = True

    def get(self, visit: Visit) -> Reply:
        progress = self.services.overview.progress(project_id=visit.project_id)
        newest = self.services.prompts.list(project_id=visit.project_id, limit=1).prompts
        prompt = newest[0] if newest else None
        model, asked = self._models(visit, prompt.id) if prompt else (FALLBACK, None)
        done = {
            "key": progress.has_key,
            "trace": progress.has_trace,
            "replay": progress.has_passed_replay,
            "run": progress.has_run,
        }
        return show(
            "getting_started.html",
            steps=STEPS,
            model=BY_ECHO if model == FALLBACK else model,
            links=LINKS,
            buttons=BUTTONS,
            done=done,
            next=next((key for key in done if not done[key]), None),
            prompt=prompt,
            snippets=snippets(self.base_url, prompt.id if prompt else 1, asked),
        )

    def _models(self, visit: Visit, prompt_id: int) -> tuple[str, str | None]:
        """Return the name of the model that answers a run of the draft, and the model name for the snippets or None.

        Snippets use echo instead of the built-in demo-agent, which would answer with a tool call and without text.
        """
        view = self.services.prompts.get(project_id=visit.project_id, prompt_id=prompt_id, productive=False)
        model = view.content.model
        if model.vendor != "BUILTIN" or is_fallback(model):
            return model.name, None
        models = self.services.models.list(organization_id=visit.organization_id)
        has_echo = any(listed.usable and is_fallback(listed) for listed in models)
        return (FALLBACK, FALLBACK) if has_echo else (model.name, None)

    def post(self, visit: Visit) -> Reply:
        created = self.services.keys.create(project_id=visit.project_id, name=KEY_NAME, actor=visit.actor)
        return Redirect(f"{visit.base}/start", once=created.secret)
