"""Calibrations of test cases: start one, watch it, accept its proposals."""

from __future__ import annotations

from app.errors import Invalid
from app.http.access import ByRole
from app.models.organizations import Role
from app.replay.cases import load_case
from app.schemas.base import load
from app.schemas.calibrations import AcceptSchema, CalibrateSchema
from app.web.page import PromptPage, Redirect, Reply, show
from app.web.visit import Visit


class CalibrateTestCase(PromptPage):
    access = ByRole({"POST": Role.MEMBER})

    def post(self, visit: Visit, test_case_id: int) -> Reply:
        view = self.services.calibrations.start(
            project_id=visit.project_id, test_case_id=test_case_id, **load(CalibrateSchema(), {})
        )
        self.container.replay_delivery.send(replay.id for replay in view.replays)
        return Redirect(f"{visit.base}/calibrations/{view.row.id}")


class CalibrationPage(PromptPage):
    """Shows the pass rate of each step, and looser checks to accept."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, calibration_id: int) -> Reply:
        view = self.services.calibrations.get(project_id=visit.project_id, calibration_id=calibration_id)
        # The worker of the last replay may have died before it concluded the calibration.
        self.container.replay_delivery.send(self.services.calibrations.left_behind(view))
        case, outcome = load_case(view.row.document), view.outcome
        proposals = {
            (proposal.turn, proposal.step): (index, proposal) for index, proposal in enumerate(outcome.proposals)
        }
        return show(
            "calibration.html",
            view=view,
            outcome=outcome,
            head=self.head(visit, view.row.prompt_id),
            name=self.services.test_cases.get(project_id=visit.project_id, test_case_id=view.row.test_case_id).name,
            steps=[
                (rate, case.turns[rate.turn].steps[rate.step], proposals.get((rate.turn, rate.step)))
                for rate in outcome.steps
            ],
            used=(
                sum(replay.prompt_tokens + replay.completion_tokens for replay in view.replays),
                sum(replay.prompt_cost_usd + replay.completion_cost_usd for replay in view.replays),
            ),
        )

    def post(self, visit: Visit, calibration_id: int) -> Reply:
        """Accept the ticked proposals."""
        ticked = visit.form.texts("proposal")
        if not ticked or not all(number.isascii() and number.isdigit() and len(number) < 10 for number in ticked):
            raise Invalid("Tick the checks to accept.")
        row = self.services.calibrations.accept(
            project_id=visit.project_id,
            calibration_id=calibration_id,
            **load(AcceptSchema(), {"proposals": [int(number) for number in ticked]}),
            actor=visit.actor,
        )
        return Redirect(f"{visit.base}/test-cases/{row.id}", "The checks are accepted.")
