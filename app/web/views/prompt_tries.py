"""Tries of a draft in its editor: the conversation that they continue, their start, and their events."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import falcon

from app.chat import Message
from app.errors import Conflict, Invalid
from app.http.run_events import last_seen, send_run_events
from app.models.runs import RunRow
from app.schemas.base import load
from app.schemas.runs import FILES_MAX, RunRequest
from app.services.runs import RunCommand
from app.services.runs.request import conversation_after, history_of
from app.web.page import PromptPage
from app.web.presenters.tries import ConversationOrigin, origin_of
from app.web.visit import Visit
from app.wiring.container import Container

NO_QUESTION = "question: Write what to ask the draft."
NO_QUESTION_AFTER_RESULTS = "question: Write what the user asks next; the results go to the model with it."


@dataclass(frozen=True, slots=True)
class Tries:
    """The conversations in an editor. The form, or else the address, names the last run of each column."""

    container: Container
    visit: Visit
    prompt_id: int

    def runs(self) -> list[RunRow]:
        """The last run of each column; empty after "New conversation"."""
        if self.visit.form.text("do") == "fresh":
            return []
        return [self._run(run_id) for name in ("run", "beside") if (run_id := self._identifier(name))]

    def origin(self) -> ConversationOrigin:
        """The part of a session that the conversation continues; empty without a session."""
        session_id = self._text("session")
        if not session_id or self.visit.form.text("do") == "fresh":
            return ConversationOrigin()
        sessions, turn = self.container.services.sessions, self._identifier("turn")
        with sessions.opened(project_id=self.visit.project_id, session_id=session_id) as session:
            return origin_of(session, min(turn, len(session.turns)) if turn else None)

    def start(self) -> list[int]:
        """Start a run of the draft and, if one is chosen, a run of the opponent. Return their ids.

        Raises `Invalid` without a question or with too many files.
        """
        commands = self._commands()
        started = [
            self.container.services.runs.start(command, project_id=self.visit.project_id, source="ui")
            for command in commands
        ]
        for run in started:
            self.container.run_delivery.send(run)
        return [run.run_id for run in started]

    def stop(self) -> None:
        """Cancel the runs of the columns that go on."""
        for run in self.runs():
            with suppress(Conflict):  # it has ended meanwhile
                self.container.services.runs.cancel(project_id=self.visit.project_id, run_id=run.id)

    def _commands(self) -> list[RunCommand]:
        """Return the runs to start. Without a new question the last one is asked again in the same conversations."""
        form, runs = self.visit.form, self.runs()
        question = form.text("question")
        asks_again = not question.strip()
        if asks_again and not runs:
            raise Invalid(NO_QUESTION)
        if len(form.files) > FILES_MAX:
            raise Invalid(f"files: At most {FILES_MAX} can go with a question.")
        if asks_again and any(map(self._results, runs)):
            raise Invalid(NO_QUESTION_AFTER_RESULTS)
        if asks_again:
            question, pasts = runs[0].question, [history_of(run.request) for run in runs]
        else:
            pasts = [conversation_after(run, self._results(run)) for run in runs] or [self.origin().past]
        # A new opponent continues the draft's conversation; else the last column is the opponent's.
        draft = self._command(question, pasts[0], productive=False)
        kind, _, name = form.text("against").partition(":")
        if kind == "version":
            return [draft, self._command(question, pasts[-1], productive=True, commitHash=name)]
        return [draft, replace(draft, history=pasts[-1], model_name=name)] if kind == "model" else [draft]

    def _results(self, run: RunRow) -> dict[str, str]:
        """Return the results that the form has for the run's tool calls, by the id of the call."""
        calls = run.outcome.tool_calls if run.outcome else ()
        typed = {call.id: self.visit.form.text(f"result.{run.id}.{number}") for number, call in enumerate(calls)}
        return {call_id: text for call_id, text in typed.items() if text.strip()}

    def _command(self, question: str, past: Iterable[Message], **version: object) -> RunCommand:
        body = {"id": self.prompt_id, "question": question, "placeholders": self.visit.form.selections(), **version}
        command: RunCommand = load(RunRequest(), body)
        return replace(command, files=self.visit.form.files, history=tuple(past), stream=True)

    def _run(self, run_id: int) -> RunRow:
        return self.container.services.runs.get(project_id=self.visit.project_id, run_id=run_id)

    def _text(self, name: str) -> str:
        return self.visit.form.text(name) or self.visit.query.get(name, "")

    def _identifier(self, name: str) -> int | None:
        """Return a number of the form or the address, None if it is missing; raises `Invalid` for anything else."""
        text = self._text(name)
        return replace(self.visit, query={name: text}).identifier(name) if text else None


class RunEventsPage(PromptPage):
    """The events of a run for its page: pieces of the answer while the model writes, then the end."""

    waits = frozenset({"GET"})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, run_id: int) -> None:
        self.services.runs.get(project_id=project_id, run_id=run_id)
        follower = self.container.run_follower
        send_run_events(req, resp, follower, project_id=project_id, run_id=run_id, after=last_seen(req))
