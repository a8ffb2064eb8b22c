"""Starts a replay of one test case: of its recording, of a variant, or with faults that a form names."""

from __future__ import annotations

from typing import Any

from app.errors import Invalid
from app.http.access import ByRole
from app.models.organizations import Role
from app.replay.case_types import CheckedCall
from app.replay.cases import load_case
from app.schemas.base import load
from app.schemas.replays import StartWithFaultsSchema
from app.web import labels
from app.web.forms import Form
from app.web.page import PromptPage, Redirect, Reply, show
from app.web.presenters.case_faults import FaultFields, faults_body, single_faults_sent
from app.web.presenters.experiment_form import JUDGES
from app.web.visit import Visit

ROWS_DEFAULT = 3
"""Rows of faults in the form, if no more were sent."""


class ReplayTestCase(PromptPage):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, test_case_id: int) -> Reply:
        """Show the form of a replay with faults."""
        row = self.services.test_cases.get(project_id=visit.project_id, test_case_id=test_case_id)
        calls = [step for turn in load_case(row.document).turns for step in turn.steps if isinstance(step, CheckedCall)]
        sent = single_faults_sent(visit.form)
        return show(
            "replay_new.html",
            head=self.head(visit, row.prompt_id),
            id=row.id,
            name=row.name,
            tools=list(dict.fromkeys(step.name for step in calls)),
            rows=[*sent, *[FaultFields()] * (ROWS_DEFAULT - len(sent))],
            kinds=[*labels.FAULTS.items()],
            judges=JUDGES,
        )

    def post(self, visit: Visit, test_case_id: int) -> Reply:
        options = load(StartWithFaultsSchema(), judge_of(visit.form) | _played(visit.form))
        row = self.services.replays.start(project_id=visit.project_id, test_case_id=test_case_id, **options)
        self.container.replay_delivery.send([row.id])
        return Redirect(f"{visit.base}/replays/{row.id}")


def judge_of(form: Form) -> dict[str, str]:
    """Return the field of a request that chooses whether a model judges."""
    return {"judge": form.text("judging", "auto")}


def _played(form: Form) -> dict[str, Any]:
    """Return the fields of a request that choose what is played."""
    if "fault.tool" in form.fields:
        return {"faults": faults_body(single_faults_sent(form))}
    variant = form.text("variant")
    return {"variant": variant} if variant else {}
