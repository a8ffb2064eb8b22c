"""Test cases: a prompt's list, made of a session or by hand, changed, copied, deleted, replayed."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.errors import Invalid
from app.models.memberships import Role
from app.models.replays import ReplayFilter
from app.schemas.base import load
from app.schemas.cases import CaseChange, CaseChangeSchema, WrittenCase, WrittenCaseSchema
from app.schemas.replays import StartAllSchema
from app.web.page import Page
from app.web.presenters.case_form import case_body, written_body
from app.web.presenters.cases import case_page, case_page_again, cases_page, proposal_page, written_page
from app.web.presenters.confirm import Confirm
from app.web.presenters.lists import PAGE
from app.web.shell import project_path
from app.web.visit import Visit

REPLAYS_SHOWN = 20


class TestCases(Page):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    section = "prompts"

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int, problem: str = ""
    ) -> None:
        query = self.query(req)
        head = self.services.prompts.get(project_id=project_id, prompt_id=prompt_id, productive=True).head
        found = self.services.test_cases.list(
            project_id=project_id, prompt_id=prompt_id, limit=PAGE, cursor=query.get("cursor")
        )
        trends = self.services.replay_history.trends(test_case_ids=[row.id for row in found.entries])
        page = cases_page(head.name, prompt_id, found, trends, project_path(project_id), query, problem=problem)
        status = falcon.HTTP_400 if problem else falcon.HTTP_200
        self.show(req, resp, "test_cases.html", page, status=status)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        """Replay those that were ticked, or all."""
        visit: Visit = req.context.visit
        ticked = None if visit.form.text("do") == "all" else visit.form.texts("case")
        if ticked == []:
            return self.on_get(req, resp, project_id, prompt_id, problem="Tick the test cases to run, or run all.")
        asked = load(StartAllSchema(), {} if ticked is None else {"testCaseIds": ticked})
        rows = self.services.replays.start_all(project_id=project_id, prompt_id=prompt_id, **asked)
        self.site.replays.send(row.id for row in rows)
        return self.lead(req, resp, f"{project_path(project_id)}/prompts/{prompt_id}/test-cases")


class WriteTestCase(Page):
    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int, **more: str) -> None:
        content = self.services.prompts.content(project_id=project_id, prompt_id=prompt_id, productive=False)
        status = falcon.HTTP_400 if more else falcon.HTTP_200
        self.show(
            req, resp, "test_case_new.html", written_page(content, project_path(project_id), **more), status=status
        )

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        form = req.context.visit.form
        try:
            written: WrittenCase = load(WrittenCaseSchema(), written_body(form))
            row = self.services.test_cases.by_hand(
                project_id=project_id,
                prompt_id=prompt_id,
                name=written.name,
                question=written.question,
                expected_answer=written.expected_answer,
                placeholders=written.placeholders,
                actor=req.context.visit.actor,
            )
        except Invalid as error:
            texts = {name: form.text(name) for name in ("name", "question", "expected")}
            return self.on_get(req, resp, project_id, prompt_id, problem=str(error), **texts)
        return self.lead(req, resp, f"{project_path(project_id)}/test-cases/{row.id}", "The test case is made.")


class SessionTestCase(Page):
    """Which steps of a session are checked, and how."""

    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})
    section = "prompts"
    multipart = True

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, session_id: str) -> None:
        proposal = self.services.test_cases.proposed(project_id=project_id, session_id=session_id)
        self.show(req, resp, "test_case.html", proposal_page(proposal, session_id, project_path(project_id)))

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, session_id: str) -> None:
        visit: Visit = req.context.visit
        proposal = self.services.test_cases.proposed(project_id=project_id, session_id=session_id)
        try:
            asked: CaseChange = load(CaseChangeSchema(), case_body(visit.form, proposal.case))
            row = self.services.test_cases.from_session(
                project_id=project_id,
                session_id=session_id,
                name=asked.name,
                changes=asked.changes,
                actor=visit.actor,
            )
        except Invalid as error:
            page = proposal_page(proposal, session_id, project_path(project_id))
            shown = case_page_again(page, visit.form, str(error))
            return self.show(req, resp, "test_case.html", shown, status=falcon.HTTP_400)
        return self.lead(req, resp, f"{project_path(project_id)}/test-cases/{row.id}", "The test case is made.")


class TestCaseView(Page):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    section = "prompts"
    multipart = True

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, project_id: int, test_case_id: int, problem: str = ""
    ) -> None:
        row = self.services.test_cases.get(project_id=project_id, test_case_id=test_case_id)
        head = self.services.prompts.get(project_id=project_id, prompt_id=row.prompt_id, productive=True).head
        replays = self.services.replays.list(
            project_id=project_id,
            prompt_id=row.prompt_id,
            wanted=ReplayFilter(test_case_id=row.id),
            limit=REPLAYS_SHOWN,
            cursor=None,
        )
        page = case_page(row, head.name, replays.entries, project_path(project_id))
        if problem:
            page = case_page_again(page, req.context.visit.form, problem)
        self.show(req, resp, "test_case.html", page, status=falcon.HTTP_400 if problem else falcon.HTTP_200)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, test_case_id: int) -> None:
        visit: Visit = req.context.visit
        case = self.services.test_cases.case(project_id=project_id, test_case_id=test_case_id)
        try:
            asked: CaseChange = load(CaseChangeSchema(), case_body(visit.form, case))
            self.services.test_cases.change(
                project_id=project_id,
                test_case_id=test_case_id,
                name=asked.name,
                changes=asked.changes,
                actor=visit.actor,
            )
        except Invalid as error:
            return self.on_get(req, resp, project_id, test_case_id, problem=str(error))
        return self.lead(req, resp, f"{project_path(project_id)}/test-cases/{test_case_id}", "Saved.")


class ReplayTestCase(Page):
    access = ByRole({"POST": Role.MEMBER})
    section = "prompts"

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, test_case_id: int) -> None:
        row = self.services.replays.start(project_id=project_id, test_case_id=test_case_id)
        self.site.replays.send([row.id])
        self.lead(req, resp, f"{project_path(project_id)}/replays/{row.id}")


class CopyTestCase(Page):
    access = ByRole({"POST": Role.MEMBER})
    section = "prompts"

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, test_case_id: int) -> None:
        row = self.services.test_cases.copy(
            project_id=project_id, test_case_id=test_case_id, name=None, actor=req.context.visit.actor
        )
        self.lead(req, resp, f"{project_path(project_id)}/test-cases/{row.id}", "This is the copy.")


class DeleteTestCase(Page):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, test_case_id: int) -> None:
        row = self.services.test_cases.get(project_id=project_id, test_case_id=test_case_id)
        path = f"{project_path(project_id)}/test-cases/{test_case_id}"
        page = Confirm(
            title=f"Delete {row.name}?",
            words="Its turns and checks are lost. What its replays found stays, and so does the session behind it.",
            button="Delete the test case",
            action=f"{path}/delete",
            back=path,
        )
        self.show(req, resp, "confirm.html", page)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, test_case_id: int) -> None:
        row = self.services.test_cases.get(project_id=project_id, test_case_id=test_case_id)
        self.services.test_cases.delete(project_id=project_id, test_case_id=test_case_id, actor=req.context.visit.actor)
        path = f"{project_path(project_id)}/prompts/{row.prompt_id}/test-cases"
        self.lead(req, resp, path, f"Deleted {row.name}.")
