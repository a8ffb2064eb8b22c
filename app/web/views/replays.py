"""One replay: watched, cancelled, judged, and what it found accepted."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.models.memberships import Role
from app.schemas.base import load
from app.schemas.replays import VerdictSchema
from app.web.page import Page
from app.web.presenters.confirm import Confirm
from app.web.presenters.replays import replay_page
from app.web.shell import project_path
from app.web.visit import Visit


class ReplayView(Page):
    access = ByRole({"GET": Role.VIEWER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, replay_id: int) -> None:
        view = self.services.replays.get(project_id=project_id, replay_id=replay_id)
        head = self.services.prompts.get(project_id=project_id, prompt_id=view.row.prompt_id, productive=True).head
        self.show(req, resp, "replay.html", replay_page(view, head.name, project_path(project_id)))


class CancelReplay(Page):
    access = ByRole({"POST": Role.MEMBER})
    section = "prompts"

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, replay_id: int) -> None:
        self.services.replays.cancel(project_id=project_id, replay_id=replay_id)
        self.lead(req, resp, f"{project_path(project_id)}/replays/{replay_id}", "The replay is cancelled.")


class JudgeStep(Page):
    """A person's verdict on a step that needs review."""

    access = ByRole({"POST": Role.MEMBER})
    section = "prompts"

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, replay_id: int, step: int) -> None:
        visit: Visit = req.context.visit
        verdict = load(VerdictSchema(), {"verdict": visit.form.text("verdict")})["verdict"]
        self.services.replays.decide(
            project_id=project_id, replay_id=replay_id, step=step, verdict=verdict, actor=visit.actor
        )
        self.lead(req, resp, f"{project_path(project_id)}/replays/{replay_id}#step-{step}")


class AcceptStep(Page):
    """Asks first: what the test case expected goes."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, replay_id: int, step: int) -> None:
        self.services.replays.produced(project_id=project_id, replay_id=replay_id, step=step)
        back = f"{project_path(project_id)}/replays/{replay_id}"
        page = Confirm(
            title="Expect this from now on?",
            words="The test case then expects what the draft did here. What it expected until now is lost; this replay "
            "keeps its verdict, and the next one is held against the new expectation.",
            button="Accept it as expected",
            action=f"{back}/steps/{step}/accept",
            back=f"{back}#step-{step}",
        )
        self.show(req, resp, "confirm.html", page)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, replay_id: int, step: int) -> None:
        made = self.services.replays.produced(project_id=project_id, replay_id=replay_id, step=step)
        self.services.test_cases.accept(
            project_id=project_id,
            test_case_id=made.test_case_id,
            turn=made.turn,
            step=made.step,
            actual=made.actual,
            actor=req.context.visit.actor,
        )
        path = f"{project_path(project_id)}/replays/{replay_id}"
        self.lead(req, resp, path, "The test case expects this from now on. Run it again to see it pass.")
