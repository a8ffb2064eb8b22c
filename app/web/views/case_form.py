"""The form of a test case that is made from a session, or that is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.chat import ToolDefinition
from app.errors import Invalid
from app.http.access import ByRole
from app.models.cases import TestCaseRow
from app.models.organizations import Role
from app.models.prompts import PromptHead
from app.models.replays import ReplayFilter
from app.replay.case_limits import SPANS_MAX
from app.replay.case_types import TestCase
from app.replay.cases import load_case
from app.replay.changes import change_case
from app.replay.effects import tools_of
from app.schemas.base import load
from app.schemas.cases import CaseChangeSchema
from app.services.replays.proposals import CaseProposal
from app.services.replays.views import ReplayView
from app.web.forms import Form
from app.web.page import PromptPage, Redirect, Reply, ShownPage, show
from app.web.presenters.case_choices import CHOICES
from app.web.presenters.case_corrections import corrections_sent, demands
from app.web.presenters.case_faults import FaultFields
from app.web.presenters.case_fields import CaseFields, fields_of, fields_sent
from app.web.presenters.case_form import OTHER_TOOL, case_body, cuts, shown_choices, tool_rows, with_confirmed
from app.web.presenters.case_turns import CHUNK, WHOLE_MAX, only_shown, opened_chunks, shown_chunks, shown_turns
from app.web.presenters.experiment_form import JUDGES
from app.web.presenters.replay_findings import troubled_turns
from app.web.presenters.session import conversation
from app.web.visit import Visit

REPLAYS_SHOWN = 6


class SessionTestCase(PromptPage):
    """Makes a test case from a session: which steps are checked, and how. A form with `open` only shows more steps."""

    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})
    multipart = True

    def get(self, visit: Visit, session_id: str) -> Reply:
        return self._page(visit, session_id, self._proposal(visit, session_id))

    def _proposal(self, visit: Visit, session_id: str) -> CaseProposal:
        return self.services.test_cases.beginning(project_id=visit.project_id, session_id=session_id)

    def _page(
        self, visit: Visit, session_id: str, proposal: CaseProposal, unconfirmed: TestCase | None = None
    ) -> Reply:
        """Return the form.

        With `unconfirmed`, the test case as the user filled it in, it lists its demands, and asks to confirm them.
        """
        if not any(turn.steps for turn in proposal.case.turns):
            return self._without_steps(visit, proposal.head, session_id)
        fields = fields_of(proposal.name, proposal.case, tools_of(proposal.case, proposal.tools))
        return show(
            "test_case.html",
            id=None,
            head=proposal.head,
            name=proposal.name,
            session_id=session_id,
            turns_left_out=proposal.turns_left_out,
            replays=[],
            troubled=[],
            doubts=proposal.doubts,
            demands=demands(unconfirmed) if unconfirmed else [],
            **_form(visit, proposal.case, proposal.tools, fields),
        )

    def _without_steps(self, visit: Visit, head: PromptHead, session_id: str) -> Reply:
        """Return the page for a session without steps, which explains why it can become no test case."""
        part = self.services.session_parts.part(project_id=visit.project_id, session_id=session_id)
        failures = [entry for turn in part.session.turns for entry, _ in conversation(turn) if entry.kind == "error"]
        spans = part.outlines[0].span_count if part.outlines else 0
        many = spans if spans > SPANS_MAX else 0
        return show("test_case_none.html", head=head, session_id=session_id, failures=failures, many_spans=many)

    def post(self, visit: Visit, session_id: str) -> Reply:
        proposal = self._proposal(visit, session_id)
        if "open" in visit.form.fields:
            return self._page(visit, session_id, proposal)
        try:
            return self._create(visit, session_id, proposal)
        except Invalid as error:  # shown without reading the session again
            reply = self._page(replace(visit, problem=error), session_id, proposal)
            return replace(reply, problem=error) if isinstance(reply, ShownPage) else reply

    def _create(self, visit: Visit, session_id: str, proposal: CaseProposal) -> Reply:
        shown = fields_of(proposal.name, proposal.case, tools_of(proposal.case, proposal.tools))
        body = _body(visit.form, shown, proposal.case)
        change = load(CaseChangeSchema(), body)
        corrected = any("user" not in correction for correction in body.get("corrections", ()))
        if proposal.doubts and not corrected and not visit.form.flag("as_recorded"):
            return self._page(visit, session_id, proposal, change_case(proposal.case, change.changes))
        row = self.services.test_cases.from_proposal(proposal, session_id=session_id, change=change, actor=visit.actor)
        self.container.effects_delivery.send(row)
        return Redirect(f"{visit.base}/test-cases/{row.id}", _notice(body))


def _body(form: Form, shown: CaseFields, case: TestCase) -> dict[str, Any]:
    """Return the API's body for a sent form."""
    body, corrections = case_body(fields_sent(form, shown), shown), corrections_sent(form, case)
    return body | ({"corrections": corrections} if corrections else {})


def _notice(body: Mapping[str, Any]) -> str:
    """Return what the next page shows about the new test case."""
    if "corrections" in body:
        return "The corrected test case is made. Tick each later step that must still hold."
    return "The test case is made."


def _form(
    visit: Visit,
    case: TestCase,
    defined: Sequence[ToolDefinition],
    shown: CaseFields,
    proposed: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the values of a page with the form of a test case. A form that is shown again has the sent values."""
    fields = fields_sent(visit.form, shown) if visit.form.fields else shown
    only = only_shown(visit.form, visit.identifier("turn") if visit.query.get("turn") else None, case)
    unfolded, opened = 0 if only else shown_turns(case), opened_chunks(visit.form, only)
    return {
        "case": case,
        "fields": fields,
        "tools": tool_rows(fields, case, defined, proposed),
        "other": OTHER_TOOL,
        "cuts": cuts(case),
        "only": only,
        "shown_choices": shown_choices(case),
        "choices": CHOICES,
        "judges": JUDGES,
        "new_fault": FaultFields(),
        "variants": [("", "The recording"), *((variant.name, variant.name) for variant in case.variants or ())],
        "unfolded": unfolded,
        "chunks": shown_chunks(case, unfolded, opened),
        "editing": "correct" in visit.query or visit.form.flag("correct"),
        "too_many_opened": WHOLE_MAX * CHUNK if len(opened) > WHOLE_MAX else 0,
    }


class TestCaseView(PromptPage):
    """Shows and changes a test case. A form with `open` only shows more steps."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    multipart = True
    refusals = (Invalid,)

    def get(self, visit: Visit, test_case_id: int) -> Reply:
        row = self.services.test_cases.get(project_id=visit.project_id, test_case_id=test_case_id)
        head = self.head(visit, row.prompt_id)
        case, defined = load_case(row.document), self._defined(visit, row)
        outcomes = self.services.replay_history.trends(test_case_ids=[row.id])[row.id]
        replays = self.services.replays.list(
            project_id=visit.project_id,
            prompt_id=row.prompt_id,
            filters=ReplayFilter(ids=[outcome.id for outcome in outcomes]),
            limit=REPLAYS_SHOWN,
            cursor=None,
        )
        return show(
            "test_case.html",
            id=row.id,
            head=head,
            name=row.name,
            session_id=row.session_id,
            turns_left_out=0,
            replays=replays.entries,
            troubled=self._troubled(visit, replays.entries),
            doubts=[],
            demands=[],
            **_form(visit, case, defined, fields_of(row.name, case, tools_of(case, defined)), row.proposed_effects),
        )

    def post(self, visit: Visit, test_case_id: int) -> Reply:
        if "open" in visit.form.fields:
            return self.get(visit, test_case_id)
        row = self.services.test_cases.get(project_id=visit.project_id, test_case_id=test_case_id)
        case, path = load_case(row.document), f"{visit.base}/test-cases/{test_case_id}"
        if only := only_shown(visit.form, None, case):
            path += f"?turn={only}#turn-{only}"
        shown = fields_of(row.name, case, tools_of(case, self._defined(visit, row)))
        body = with_confirmed(_body(visit.form, shown, case), visit.form.texts("confirm"))
        if not body:
            return Redirect(path, "There was nothing to save.")
        self.services.test_cases.change(
            project_id=visit.project_id,
            test_case_id=test_case_id,
            change=load(CaseChangeSchema(), body),
            actor=visit.actor,
        )
        return Redirect(path, "Saved.")

    def _troubled(self, visit: Visit, replays: Sequence[ReplayView]) -> list[int]:
        """Return the numbers of the turns that did not pass in the last replay that has ended."""
        ended = next((replay.row for replay in replays if replay.row.finished), None)
        if ended is None or ended.status == "passed":
            return []
        replay = self.services.replays.get(project_id=visit.project_id, replay_id=ended.id)
        return troubled_turns(replay.result or {})

    def _defined(self, visit: Visit, row: TestCaseRow) -> Sequence[ToolDefinition]:
        return self.services.test_cases.defined_tools(project_id=visit.project_id, prompt_id=row.prompt_id)
