"""Test cases of a prompt: list, make by hand, copy, delete, replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprise_formats.formats import plural

from app.errors import Invalid
from app.http.access import ByRole
from app.models.cases import TestCaseRow
from app.models.organizations import Role
from app.models.runs import RunRow
from app.replay.case_limits import TURNS_MAX
from app.replay.cases import load_case
from app.schemas.base import load
from app.schemas.cases import CopySchema, WrittenCaseSchema
from app.schemas.replays import StartAllSchema
from app.web.forms import Form
from app.web.lists import order_of
from app.web.page import PAGE_SIZE, PromptPage, Redirect, Reply, confirm, show
from app.web.presenters.case_form import written_body, written_turns
from app.web.presenters.experiment_form import JUDGES
from app.web.presenters.replay import batch_progress
from app.web.views.new_replay import judge_of
from app.web.visit import Visit


class TestCasesPage(PromptPage):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        head = self.head(visit, prompt_id)
        search, order = visit.query.get("search", ""), order_of(visit.query, ("created", "name"), default="-created")
        page = self.services.test_cases.list(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            limit=PAGE_SIZE,
            cursor=visit.query.get("cursor"),
            search=search or None,
            order=order.value,
        )
        trends = self.services.replay_history.trends(test_case_ids=[row.id for row in page.entries])
        newest = [trend[-1] for trend in trends.values() if trend]
        batch = self.services.replay_history.newest_batch(prompt_id=head.id)
        recent = self.services.overview.recent(project_id=visit.project_id, prompt_ids=[prompt_id])
        activity = recent.prompts[prompt_id]
        return show(
            "test_cases.html",
            head=head,
            replayed=activity.replayed,
            passed=activity.passed,
            cases=[(row, _extent(row), trends[row.id]) for row in page.entries],
            count=self.services.overview.count_test_cases(prompt_id=prompt_id, search=search or None),
            search=search,
            order=order,
            judges=JUDGES,
            twins=_twins(page.entries),
            batch=batch_progress(batch),
            batch_id=batch[0].id if batch else None,
            running=not all(outcome.finished for outcome in [*newest, *batch]),
            violations=self.services.replay_history.violations(
                replay_ids=[outcome.id for outcome in newest if outcome.status == "failed"]
            ),
            newest=self.services.experiments.newest_case_results(project_id=visit.project_id, prompt_id=prompt_id),
            agreement=self.services.replays.judge_agreement(project_id=visit.project_id, prompt_id=prompt_id),
            pages=visit.pages(page.next_cursor),
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
    checked = sum(step.checked for turn in case.played_turns for step in turn.steps)
    parts = [plural(len(case.played_turns), "turn"), plural(checked, "checked step")]
    if case.variants:
        parts.append(plural(len(case.variants), "variant"))
    if case.accept_partial:
        parts.append("played without all that the recorded model saw")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class PrefilledCase:
    """What the form for a new test case is filled in with: turns, and the names of the placeholders' values by key.

    `run_id` is the run that this comes from. `gaps` are sentences for the user about what of the run is left out.
    """

    turns: Sequence[Mapping[str, str]]
    values: Mapping[str, str | None]
    run_id: int | None = None
    gaps: Sequence[str] = ()


def _prefilled_from(run: RunRow) -> PrefilledCase:
    """Return the question of a run, and its answer if that is whole and answers only this question."""
    gaps = []
    whole = run.status == "done" and bool(run.answer)
    if not run.finished:
        gaps.append("The run has not ended, so it has no answer yet.")
    elif run.status == "cancelled":
        gaps.append("The run was cancelled, so it has no whole answer.")
    elif run.status == "failed":
        gaps.append("The run failed, so it has no answer.")
    elif not run.answer:
        gaps.append("The model answered with no text.")
    if run.request.history:
        gaps.append("The question continues a conversation, which this form leaves out: add its turns.")
    if run.request.files:
        gaps.append("The question had files, and a test case has none.")
    if not whole:
        gaps.append("Write the answer that you expect.")
    turn = {"question": run.question, "expectedAnswer": (run.answer or "") if whole else ""}
    return PrefilledCase([turn], run.request.resolved, run.id, gaps)


class WriteTestCase(PromptPage):
    """A form for questions and their answers. `run` in the query fills it in with those of a run.

    A form with `more` only shows one more turn.
    """

    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        prefilled = self._prefilled(visit, prompt_id)
        if isinstance(prefilled, Redirect):
            return prefilled
        content = self.services.prompts.content(project_id=visit.project_id, prompt_id=prompt_id, productive=False)
        choices = [
            (placeholder.key, [("", "Default value"), *((value.name, value.name) for value in placeholder.values)])
            for placeholder in content.placeholders
        ]
        return show("test_case_new.html", content=content, choices=choices, prefilled=prefilled)

    def _prefilled(self, visit: Visit, prompt_id: int) -> PrefilledCase | Redirect:
        """Return the form's first values, or a redirect to the form of the prompt that made the run."""
        run_id = visit.identifier("run")
        if visit.form.fields or run_id is None:
            more = [{"question": "", "expectedAnswer": ""}] if visit.form.flag("more") else []
            return PrefilledCase([*written_turns(visit.form), *more][:TURNS_MAX], visit.form.selections())
        run = self.services.runs.get(project_id=visit.project_id, run_id=run_id)
        if run.prompt_id != prompt_id:
            return Redirect(f"{visit.base}/prompts/{run.prompt_id}/test-cases/new?run={run_id}")
        return _prefilled_from(run)

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        if visit.form.flag("more"):
            return self.get(visit, prompt_id)
        row = self.services.test_cases.by_hand(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            written=load(WrittenCaseSchema(), written_body(visit.form)),
            actor=visit.actor,
        )
        return Redirect(f"{visit.base}/test-cases/{row.id}", "The test case is made.")


class CopyTestCase(PromptPage):
    """Copies a test case, or only the turn of the form, which counts from 1."""

    access = ByRole({"POST": Role.MEMBER})

    def post(self, visit: Visit, test_case_id: int) -> Reply:
        row = self.services.test_cases.copy(
            project_id=visit.project_id,
            test_case_id=test_case_id,
            **load(CopySchema(), _turn_sent(visit.form)),
            actor=visit.actor,
        )
        self.container.effects_delivery.send(row)
        return Redirect(f"{visit.base}/test-cases/{row.id}", "This is a copy.")


def _turn_sent(form: Form) -> dict[str, int]:
    """Return the API's field for the turn in a form, which counts from 1; nothing for all turns."""
    text = form.text("turn")
    if text and not (text.isascii() and text.isdigit() and len(text) < 6):
        raise Invalid("turn: Must be a number.")
    return {"turn": int(text) - 1} if text else {}


class DeleteTestCase(PromptPage):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})

    def get(self, visit: Visit, test_case_id: int) -> Reply:
        row = self.services.test_cases.get(project_id=visit.project_id, test_case_id=test_case_id)
        return confirm(
            visit,
            title=f"Delete “{row.name}”?",
            text="Its turns and checks are lost. What its replays found stays, and so does the session behind it.",
            button="Delete the test case",
            back=f"{visit.base}/test-cases/{test_case_id}",
        )

    def post(self, visit: Visit, test_case_id: int) -> Reply:
        row = self.services.test_cases.get(project_id=visit.project_id, test_case_id=test_case_id)
        self.services.test_cases.delete(project_id=visit.project_id, test_case_id=test_case_id, actor=visit.actor)
        return Redirect(f"{visit.base}/prompts/{row.prompt_id}/test-cases", f"Deleted {row.name}.")
