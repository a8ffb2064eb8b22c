"""Accepts runs, reads them, and executes them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from app.chat import Message
from app.concurrency import computing
from app.concurrency.batching import Coalescer
from app.concurrency.quotas import FairSemaphore, NoFreePlace
from app.database.transactions import Database
from app.errors import Conflict, Invalid, require
from app.models import runs
from app.models.language_models import LanguageModel
from app.models.runs import RunKey, RunRow, StoredRun
from app.providers.router import Providers
from app.services.accounts.owners import Owners
from app.services.prompts.content import PromptContent
from app.services.prompts.drafts import checked
from app.services.prompts.service import PromptService
from app.services.runs.ending import RunEnding
from app.services.runs.execution import Executor
from app.services.runs.masking import RunMasking
from app.services.runs.memory import RunMemory
from app.services.runs.new_runs import QUEUE_WAIT_S, Idempotency, NewRun, RunInserter, StartedRun
from app.services.runs.request import RunCommand, freeze_request, model_request
from app.services.runs.sweeper import RunSweeper

# Runs that one query reads for several waiting requests; a row may have megabytes.
ROWS_PER_QUERY = 16
UNKNOWN = "There is no such run."


@dataclass(slots=True, kw_only=True)
class RunService:
    """Runs of prompts; `semaphore` limits those of each organization that are accepted at once."""

    database: Database
    prompts: PromptService
    providers: Providers
    executor: Executor
    masking: RunMasking
    sweeper: RunSweeper
    inserter: RunInserter
    ending: RunEnding
    owners: Owners
    semaphore: FairSemaphore
    memory: RunMemory
    _stored: Coalescer[RunKey, StoredRun | None] = field(init=False)

    def __post_init__(self) -> None:
        self._stored = Coalescer(self._find_all, most=ROWS_PER_QUERY, wait_s=QUEUE_WAIT_S)

    def start(
        self,
        command: RunCommand,
        *,
        project_id: int,
        api_key_id: int | None = None,
        source: str = "api",
        idempotency: Idempotency | None = None,
        epoch: bytes = b"",
    ) -> StartedRun:
        """Commit the run, or return the run that an equal request started before.

        All errors are raised before anything is written: `NotFound`, `Invalid`, and `Conflict` for an Idempotency-Key
        that was used with another body. `epoch`: see `PromptService.get`.
        """
        with self.semaphore.hold(self.owners.of_project(project_id), wait_s=QUEUE_WAIT_S):
            if started := self.inserter.find_started(project_id, idempotency):
                return started
            columns, contents = self._accepted(command, project_id, epoch)
            columns |= {"api_key_id": api_key_id, "source": source}
            return self.inserter.insert(NewRun(columns=columns, contents=contents, idempotency=idempotency))

    def get(self, *, project_id: int, run_id: int) -> RunRow:
        """Return the run; `NotFound` if the project has no run with this id.

        A large one is only read when the thread's request has its place to compute.
        """
        stored = require(self._stored((project_id, run_id)), UNKNOWN)
        if (length := stored.length) <= computing.LARGE_TEXT:
            return stored.opened()
        del stored  # a request that waits for its place keeps nothing in memory
        computing.await_place(length)
        with self.database.read() as connection:
            return require(runs.find_run(connection, project_id=project_id, run_id=run_id), UNKNOWN)

    def cancel(self, *, project_id: int, run_id: int) -> RunRow:
        """Cancel the run, and return it: with the status `running` until its worker has stopped the model.

        A cancelled run does not change. Raises `Conflict` if the run has ended otherwise, and `Unavailable` if Redis is
        away, which its worker asks.
        """
        row = self.get(project_id=project_id, run_id=run_id)
        if not row.finished and not self.ending.cancel_waiting(run_id):
            self.executor.stops.request(run_id)
        row = self.get(project_id=project_id, run_id=run_id)
        if row.finished and row.status != "cancelled":
            raise Conflict(f"The run has ended: {row.status}.")
        return row

    def execute(self, run_id: int) -> bool:
        """Execute a queued run, and notify the callers that wait for it; returns whether it has ended now."""
        if self.executor.execute(run_id):
            return True
        with self.database.read() as connection:
            finished = runs.is_finished(connection, run_id=run_id)
        if finished:
            # The worker that ended the run may have died before it notified the callers.
            self.ending.completions.announce(run_id)
        return finished

    def execute_large(self, run_id: int) -> bool:
        """Execute a queued run with a large request as soon as this process has memory for it.

        Returns False if it has none in time: the run's message goes back to the queue. Raises `NoFreePlace` if the
        process ends.
        """
        with ExitStack() as held:
            try:
                held.enter_context(self.memory.hold(run_id))
            except NoFreePlace:
                if self.memory.stopping():
                    raise
                return False
            self.execute(run_id)
        return True

    def _find_all(self, keys: Sequence[RunKey]) -> list[StoredRun | None]:
        with self.database.read() as connection:
            stored = runs.find_stored(connection, set(keys))
        return [stored.get(key) for key in keys]

    def _accepted(self, command: RunCommand, project_id: int, epoch: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """Return the columns of the run, and the contents to store with it; raises if it can't be executed."""
        content = self.prompts.content(
            project_id=project_id,
            prompt_id=command.prompt_id,
            productive=command.productive,
            commit_hash=command.commit_hash,
            by_label=command.by_label,
            require_committed=True,
            epoch=epoch,
        )
        if command.model_name is not None:
            content = self._asking(content, command.model_name, project_id)
        _check_usable(content.model)
        messages = (*command.history, Message("user", command.question, files=command.files))
        timeout_s = self.executor.caller.timeout_s
        self.providers.check(model_request(content.model, content.config, messages, None, timeout_s))
        kept, contents = self.masking.accepted(project_id, freeze_request(content, command), command.files)
        return {
            "project_id": project_id,
            "prompt_id": content.prompt_id,
            "commit_hash": content.commit_hash,
            "language_model_id": content.model.id,
            "question": kept.question,
            "request": kept.request,
        }, contents

    def _asking(self, content: PromptContent, model_name: str, project_id: int) -> PromptContent:
        """Return the content with another model, which is not a version; raises `Invalid` for an unsuitable model."""
        with self.database.read() as connection:
            organization_id = self.owners.of_project(project_id)
            model = self.executor.models.named(connection, organization_id=organization_id, name=model_name)
        if model.id == content.model.id:
            return content
        fallback = content.fallback if content.fallback and content.fallback.id != model.id else None
        return checked(replace(content, commit_hash=None, model=model, fallback=fallback))


def _check_usable(model: LanguageModel) -> None:
    if model.retired:
        raise Invalid(f"The prompt's model {model.name} is retired; choose another one for the prompt.")
    if model.disabled:
        raise Invalid(f"The prompt's model {model.name} is disabled for this organization.")
