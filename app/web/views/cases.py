"""Test cases of a prompt: list, make from a session or by hand, change, copy, delete, replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reprise_formats.formats import plural

from app.chat import ToolDefinition
from app.errors import Invalid
from app.http.access import ByRole
from app.models.cases import TestCaseRow
from app.models.organizations import Role
from app.models.prompts import PromptHead
from app.models.replays import ReplayFilter
from app.replay.case_limits import SPANS_MAX
from app.replay.cases import load_case
from app.replay.changes import change_case
from app.replay.effects import tools_of
from app.replay.types import TestCase
from app.schemas.base import load
from app.schemas.cases import CaseChangeSchema, WrittenCaseSchema
from app.schemas.replays import StartAllSchema
from app.services.replays.proposals import CaseProposal
from app.web.forms import Form
from app.web.lists import order_of
from app.web.page import PAGE_SIZE, PromptPage, Redirect, Reply, ShownPage, confirm, show
from app.web.presenters.case_corrections import corrections_sent, demands
from app.web.presenters.case_faults import FaultFields
from app.web.presenters.case_fields import CaseFields, fields_of, fields_sent
from app.web.presenters.case_form import CHOICES, OTHER_TOOL, case_body, cuts, tool_rows, written_body
from app.web.presenters.case_turns import CHUNK, WHOLE_MAX, opened_chunks, shown_chunks, shown_turns
from app.web.presenters.experiment import JUDGES
from app.web.presenters.replay import batch_progress
from app.web.presenters.session import conversation
from app.web.views.new_replay import judge_of
from app.web.visit import Visit

REPLAYS_SHOWN = 6


class TestCasesPage(PromptPage):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        head = self.head(visit, prompt_id)
        search, order = visit.query.get("search", ""), order_of(visit.query, ("created", "name"), default="-created")
        found = self.services.test_cases.list(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            limit=PAGE_SIZE,
            cursor=visit.query.get("cursor"),
            search=search or None,
            order=order.value,
        )
        trends = self.services.replay_history.trends(test_case_ids=[row.id for row in found.entries])
        newest = [trend[-1] for trend in trends.values() if trend]
        batch = self.services.replay_history.newest_batch(prompt_id=head.id)
        return show(
            "test_cases.html",
            head=head,
            cases=[(row, _extent(row), trends[row.id]) for row in found.entries],
            count=self.services.overview.count_test_cases(prompt_id=prompt_id, search=search or None),
            search=search,
            order=order,
            judges=JUDGES,
            twins=_twins(found.entries),
            batch=batch_progress(batch),
            batch_id=batch[0].id if batch else None,
            running=not all(outcome.finished for outcome in [*newest, *batch]),
            violations=self.services.replay_history.violations(
                replay_ids=[outcome.id for outcome in newest if outcome.status == "failed"]
            ),
            blind=self.services.experiments.blind_cases(project_id=visit.project_id, prompt_id=prompt_id),
            agreement=self.services.replays.judge_agreement(project_id=visit.project_id, prompt_id=prompt_id),
            pages=visit.pages(found.next_cursor),
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        """Replay the ticked test cases, or all, and redirect to the page of these replays."""
        ticked = None if visit.form.text("do") == "all" else visit.form.texts("case")
        if ticked == []:
            return self.refuse(visit, Invalid("Tick the test cases to run, or run all."), prompt_id=prompt_id)
        body = judge_of(visit.form) | ({} if ticked is None else {"testCaseIds": ticked})
        options = load(StartAllSchema(), body)
        rows = self.services.replays.start_all(project_id=visit.project_id, prompt_id=prompt_id, **options)
        self.container.replay_delivery.send(row.id for row in rows)
        if not rows:
            return Redirect(f"{visit.base}/prompts/{prompt_id}/test-cases", "There is no test case to run.")
        return Redirect(f"{visit.base}/replays/{rows[0].id}/batch")


def _twins(rows: Sequence[TestCaseRow]) -> set[int]:
    """Return the ids of test cases that share their name with another one."""
    names = Counter(row.name for row in rows)
    return {row.id for row in rows if names[row.name] > 1}


def _extent(row: TestCaseRow) -> str:
    """Return the numbers of played turns, checked steps and variants in words, and whether it is played in part."""
    case = load_case(row.document)
    checked = sum(step.checked for turn in case.played for step in turn.steps)
    parts = [plural(len(case.played), "turn"), plural(checked, "checked step")]
    if case.variants:
        parts.append(plural(len(case.variants), "variant"))
    if case.accept_partial:
        parts.append("played without all that the recorded model saw")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class BegunCase:
    """The fields of a test case by hand; `values` are the names of the placeholders' values, by key."""

    question: str
    expected: str
    values: Mapping[str, str | None]


class WriteTestCase(PromptPage):
    """A form for a question and its answer. `run` in the query fills it in with those of a run."""

    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        content = self.services.prompts.content(project_id=visit.project_id, prompt_id=prompt_id, productive=False)
        choices = [
            (placeholder.key, [("", "Default value"), *((value.name, value.name) for value in placeholder.values)])
            for placeholder in content.placeholders
        ]
        return show("test_case_new.html", content=content, choices=choices, begun=self._begun(visit))

    def _begun(self, visit: Visit) -> BegunCase:
        run_id = visit.identifier("run")
        if visit.problem or run_id is None:
            sent = visit.sent
            return BegunCase(sent.text("question"), sent.text("expected"), sent.selections())
        run = self.services.runs.get(project_id=visit.project_id, run_id=run_id)
        return BegunCase(run.question, run.answer or "", run.request.resolved)

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        row = self.services.test_cases.by_hand(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            written=load(WrittenCaseSchema(), written_body(visit.form)),
            actor=visit.actor,
        )
        return Redirect(f"{visit.base}/test-cases/{row.id}", "The test case is made.")


class SessionTestCase(PromptPage):
    """Makes a test case from a session: which steps are checked, and how. A form with `open` only shows more steps."""

    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})
    multipart = True

    def get(self, visit: Visit, session_id: str) -> Reply:
        return self._shown(visit, session_id, self._proposal(visit, session_id))

    def _proposal(self, visit: Visit, session_id: str) -> CaseProposal:
        return self.services.test_cases.beginning(project_id=visit.project_id, session_id=session_id)

    def _shown(self, visit: Visit, session_id: str, proposal: CaseProposal, asked: TestCase | None = None) -> Reply:
        """Return the page. It asks for a confirmation that lists what the test case `asked` demands."""
        if not any(turn.steps for turn in proposal.case.turns):
            return self._nothing(visit, proposal.head, session_id)
        fields = fields_of(proposal.name, proposal.case, tools_of(proposal.case, proposal.tools))
        return show(
            "test_case.html",
            id=None,
            head=proposal.head,
            name=proposal.name,
            session_id=session_id,
            turns_left_out=proposal.turns_left_out,
            replays=[],
            doubts=proposal.doubts,
            demands=demands(asked) if asked else [],
            **_form(visit, proposal.case, proposal.tools, fields),
        )

    def _nothing(self, visit: Visit, head: PromptHead, session_id: str) -> Reply:
        """Return a page that explains why no test case can be made from the session."""
        part = self.services.session_parts.part(project_id=visit.project_id, session_id=session_id)
        failures = [entry for turn in part.session.turns for entry, _ in conversation(turn) if entry.kind == "error"]
        many = part.facts[0].span_count if part.facts and part.facts[0].span_count > SPANS_MAX else 0
        return show("test_case_none.html", head=head, session_id=session_id, failures=failures, many_spans=many)

    def post(self, visit: Visit, session_id: str) -> Reply:
        proposal = self._proposal(visit, session_id)
        if "open" in visit.form.fields:
            return self._shown(visit, session_id, proposal)
        try:
            return self._made(visit, session_id, proposal)
        except Invalid as error:  # shown without reading the session again
            reply = self._shown(replace(visit, problem=error), session_id, proposal)
            return replace(reply, problem=error) if isinstance(reply, ShownPage) else reply

    def _made(self, visit: Visit, session_id: str, proposal: CaseProposal) -> Reply:
        shown = fields_of(proposal.name, proposal.case, tools_of(proposal.case, proposal.tools))
        body = _body(visit.form, shown, proposal.case)
        change = load(CaseChangeSchema(), body)
        if proposal.doubts and "corrections" not in body and not visit.form.flag("as_recorded"):
            return self._shown(visit, session_id, proposal, change_case(proposal.case, change.changes))
        row = self.services.test_cases.from_proposal(proposal, session_id=session_id, change=change, actor=visit.actor)
        return Redirect(f"{visit.base}/test-cases/{row.id}", _made(body))


def _body(form: Form, shown: CaseFields, case: TestCase) -> dict[str, Any]:
    """Return the API's body for a sent form."""
    body, corrections = case_body(fields_sent(form, shown), shown), corrections_sent(form, case)
    return body | ({"corrections": corrections} if corrections else {})


def _made(body: Mapping[str, Any]) -> str:
    if "corrections" in body:
        return "The corrected test case is made. Tick each later step that must still hold."
    return "The test case is made."


def _form(visit: Visit, case: TestCase, defined: Sequence[ToolDefinition], shown: CaseFields) -> dict[str, Any]:
    """Return the values of a page with the form of a test case. A form that is shown again has the sent values."""
    fields = fields_sent(visit.form, shown) if visit.form.fields else shown
    unfolded, opened = shown_turns(case), opened_chunks(visit.form, visit.identifier("turn"))
    return {
        "case": case,
        "fields": fields,
        "tools": tool_rows(fields, case, defined),
        "other": OTHER_TOOL,
        "cuts": cuts(case),
        "choices": CHOICES,
        "judges": JUDGES,
        "new_fault": FaultFields(),
        "variants": [("", "The recording"), *((each.name, each.name) for each in case.variants or ())],
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
        own = self.services.replay_history.trends(test_case_ids=[row.id])[row.id]
        replays = self.services.replays.list(
            project_id=visit.project_id,
            prompt_id=row.prompt_id,
            filters=ReplayFilter(ids=[outcome.id for outcome in own]),
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
            doubts=[],
            demands=[],
            **_form(visit, case, defined, fields_of(row.name, case, tools_of(case, defined))),
        )

    def post(self, visit: Visit, test_case_id: int) -> Reply:
        if "open" in visit.form.fields:
            return self.get(visit, test_case_id)
        row = self.services.test_cases.get(project_id=visit.project_id, test_case_id=test_case_id)
        case, path = load_case(row.document), f"{visit.base}/test-cases/{test_case_id}"
        shown = fields_of(row.name, case, tools_of(case, self._defined(visit, row)))
        body = _body(visit.form, shown, case)
        if not body:
            return Redirect(path, "There was nothing to save.")
        self.services.test_cases.change(
            project_id=visit.project_id,
            test_case_id=test_case_id,
            change=load(CaseChangeSchema(), body),
            actor=visit.actor,
        )
        return Redirect(path, "Saved.")

    def _defined(self, visit: Visit, row: TestCaseRow) -> Sequence[ToolDefinition]:
        return self.services.test_cases.defined_tools(project_id=visit.project_id, prompt_id=row.prompt_id)


class CopyTestCase(PromptPage):
    access = ByRole({"POST": Role.MEMBER})

    def post(self, visit: Visit, test_case_id: int) -> Reply:
        row = self.services.test_cases.copy(
            project_id=visit.project_id, test_case_id=test_case_id, name=None, actor=visit.actor
        )
        return Redirect(f"{visit.base}/test-cases/{row.id}", "This is the copy.")


class DeleteTestCase(PromptPage):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})

    def get(self, visit: Visit, test_case_id: int) -> Reply:
        row = self.services.test_cases.get(project_id=visit.project_id, test_case_id=test_case_id)
        return confirm(
            visit,
            title=f"Delete {row.name}?",
            text="Its turns and checks are lost. What its replays found stays, and so does the session behind it.",
            button="Delete the test case",
            back=f"{visit.base}/test-cases/{test_case_id}",
        )

    def post(self, visit: Visit, test_case_id: int) -> Reply:
        row = self.services.test_cases.get(project_id=visit.project_id, test_case_id=test_case_id)
        self.services.test_cases.delete(project_id=visit.project_id, test_case_id=test_case_id, actor=visit.actor)
        return Redirect(f"{visit.base}/prompts/{row.prompt_id}/test-cases", f"Deleted {row.name}.")
