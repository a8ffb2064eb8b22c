"""Deletion on request of a session, of a prompt with all its data, and of a project with all its prompts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Protocol

from sqlalchemy import Connection

from app.db import Database
from app.errors import NotFound
from app.models import audit_log, data_policies, removal, sessions
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.removal import TurnScope
from app.redis_store.epochs import Epochs
from app.services.traces.logs import session_key_of
from app.timestamps import Now

# Rows of one transaction, which takes some tens of milliseconds.
AT_ONCE = 500
PAUSE_S = 0.02


class Step(Protocol):
    """Removes at most `limit` rows and returns their number, 0 if there are none left."""

    def __call__(self, connection: Connection, *, limit: int) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Remover:
    database: Database
    at_once: int = AT_ONCE
    pause_s: float = PAUSE_S
    monotonic: Callable[[], float] = time.monotonic

    def exhaust(self, step: Step, *, until: float | None = None) -> int:
        """Repeat the step until no rows are left or the monotonic time is `until`; returns the number of rows."""
        total = 0
        while until is None or self.monotonic() < until:
            removed = self.database.retrying(lambda connection: step(connection, limit=self.at_once))
            if not removed:
                break
            total += removed
            time.sleep(self.pause_s)
        return total


# Tables of a prompt's rows, each before the tables that it refers to.
OF_PROMPT = ("replays", "test_cases", "draft_snapshots")
# Runs and batches that were under way at an erasure may still store rows for this time; a run may take a day.
AFTERMATH = timedelta(days=2)
# The other jobs of the clock wait during this time.
SWEEP_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionService:
    database: Database
    now: Now
    remover: Remover
    epochs: Epochs

    def delete_session(self, *, project_id: int, session_id: str, actor: Actor = SYSTEM) -> None:
        """Delete the session with its spans; test cases made from it keep their copies. `NotFound` for no session."""
        key = session_key_of(session_id)
        with self.database.write() as connection:
            if key is None or sessions.find_session(connection, project_id=project_id, session_key=key) is None:
                raise NotFound("There is no such session.")
            audit_log.note(connection, self.now(), actor, Action.SESSION_DELETED, session_id, project_id=project_id)
        self.remover.exhaust(partial(removal.remove_turns, scope=TurnScope(project_id, session_key=key)))

    def erase_prompt(self, *, project_id: int, prompt_id: int, actor: Actor = SYSTEM) -> None:
        """Remove the prompt, archived or not, with all its data; it can't be read from the first moment.

        If this is interrupted, `sweep` continues.
        """
        with self.database.write() as connection:
            if not removal.mark_prompt(connection, project_id=project_id, prompt_id=prompt_id, now=self.now()):
                raise NotFound("There is no such prompt.")
            audit_log.note(connection, self.now(), actor, Action.PROMPT_ERASED, str(prompt_id), project_id=project_id)
        self.epochs.end(project_id)
        self._empty_prompt(project_id, prompt_id)

    def erase_project(self, *, project_id: int, actor: Actor = SYSTEM) -> None:
        """Remove the project with its prompts and API keys; the audit log stays. `NotFound` for no project."""
        with self.database.write() as connection:
            audit_log.note(connection, self.now(), actor, Action.PROJECT_ERASED, str(project_id), project_id=project_id)
            prompt_ids = removal.mark_project(connection, project_id=project_id, now=self.now())
        self.epochs.end(project_id)
        for prompt_id in prompt_ids or ():
            self._empty_prompt(project_id, prompt_id)
        self._empty_project(project_id)

    def sweep(self) -> None:
        """Finish interrupted erasures, and remove rows that were stored after an erasure began."""
        since = self.now() - AFTERMATH
        with self.database.read() as connection:
            prompts = removal.erased_prompts(connection, since=since)
            projects = removal.erased_projects(connection, since=since)
        until = self.remover.monotonic() + SWEEP_S
        for project_id, prompt_id in prompts:
            self._empty_prompt(project_id, prompt_id, until)
        for project_id in projects:
            self._empty_project(project_id)

    def _empty_prompt(self, project_id: int, prompt_id: int, until: float | None = None) -> None:
        for step in _steps(project_id, prompt_id):
            self.remover.exhaust(step, until=until)

    def _empty_project(self, project_id: int) -> None:
        self.remover.exhaust(partial(removal.remove_rejected_of, project_id=project_id, prompt_id=None))
        self.remover.exhaust(partial(removal.remove_keys_of, project_id=project_id))
        with self.database.write() as connection:
            data_policies.delete_policy(connection, project_id=project_id)


def _steps(project_id: int, prompt_id: int) -> Iterator[Step]:
    yield partial(removal.remove_turns, scope=TurnScope(project_id, prompt_id=prompt_id))
    yield partial(removal.remove_rejected_of, project_id=project_id, prompt_id=prompt_id)
    for table in OF_PROMPT:
        yield partial(removal.remove_of_prompt, table=table, prompt_id=prompt_id)
    yield partial(removal.remove_runs_of, prompt_id=prompt_id)
    yield partial(removal.remove_of_prompt, table="prompt_versions", prompt_id=prompt_id)
