"""Accepts runs, reads them, and hands them to who executes and who sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.chat import Message
from app.coalesce import Coalescer
from app.db import Database
from app.errors import Conflict, Invalid, NotFound
from app.models import idempotency_keys, run_file_chunks, runs
from app.models.base import earlier_now
from app.models.language_models import LanguageModel
from app.models.runs import RunRow
from app.providers.router import Providers
from app.redis_store.completions import RunCompletions
from app.services.accounts.owners import Owners
from app.services.prompts.service import PromptService
from app.services.runs.commands import Idempotency, RunCommand, Started
from app.services.runs.ending import RunEnding
from app.services.runs.execution import Executor
from app.services.runs.failures import NOT_SENT
from app.services.runs.masking import RunMasking
from app.services.runs.snapshot import model_request, snapshot
from app.services.runs.sweeper import KEY_TTL, RunSweeper
from app.shares import Quota
from app.timestamps import Now
from app.turns import Turns

# Runs of one organization begun at one time in a process: of a thousand that come together, more would only make
# everybody else wait for the interpreter and for a connection.
TURNS = 4
# Answers read in one query, for all who wait for one: a row may be megabytes.
TOGETHER = 16
# Far longer than the line of a thousand takes: a database that hangs must not hold everybody behind four for ever.
TURN_S = 30.0


class RunService:
    def __init__(
        self,
        *,
        database: Database,
        now: Now,
        prompts: PromptService,
        providers: Providers,
        executor: Executor,
        masking: RunMasking,
        sweeper: RunSweeper,
        ending: RunEnding,
        owners: Owners,
        organization_share: int,
    ) -> None:
        self._database = database
        self._now = now
        self._prompts = prompts
        self._providers = providers
        self._executor = executor
        self._masking = masking
        self._sweeper = sweeper
        self._ending = ending
        self._owners = owners
        self._turns = Turns(Quota.of(TURNS, organization_share), timeout_s=TURN_S)
        self._rows: Coalescer[int, RunRow | None] = Coalescer(self._read_all, most=TOGETHER, wait_s=TURN_S)

    @property
    def completions(self) -> RunCompletions:
        """Where to wait for the ends of runs."""
        return self._ending.completions

    @property
    def masking(self) -> RunMasking:
        """What knows, where what is stored is masked, what was really said."""
        return self._masking

    @property
    def call_timeout_s(self) -> float:
        """How long one run's model call may take, retries included."""
        return self._executor.caller.timeout_s

    def start(
        self,
        command: RunCommand,
        *,
        project_id: int,
        api_key_id: int | None = None,
        source: str = "api",
        idempotency: Idempotency | None = None,
        epoch: bytes = b"",
    ) -> Started:
        """Commit the run, or find the one that the same request started before.

        Whatever can be refused is refused before anything is written: `NotFound`, `Invalid`, and `Conflict`
        for an Idempotency-Key that came with another body. `epoch`: see `PromptService.get`.
        """
        with self._turns.of(self._owners.of_project(project_id)):
            return self._start(command, project_id, api_key_id, source, idempotency, epoch)

    def _start(
        self,
        command: RunCommand,
        project_id: int,
        api_key_id: int | None,
        source: str,
        idempotency: Idempotency | None,
        epoch: bytes,
    ) -> Started:
        joined = self._joined(project_id, idempotency)
        if joined:
            return joined
        values, contents = self._accepted(command, project_id, epoch)
        values |= {"api_key_id": api_key_id, "source": source}
        try:
            run_id = self._database.retrying(
                lambda connection: self._write(connection, values, contents, idempotency),
                single=not (idempotency or contents),
            )
        except IntegrityError:
            joined = self._joined(project_id, idempotency)
            if joined is None:
                raise
            return joined
        return Started(run_id, project_id)

    def get(self, *, project_id: int, run_id: int) -> RunRow:
        row = self._rows(run_id)
        if row is None or row.project_id != project_id:
            raise NotFound("There is no such run.")
        return row

    def _read_all(self, run_ids: Sequence[int]) -> list[RunRow | None]:
        with self._database.read() as connection:
            found = {row.id: row for row in runs.find_runs(connection, run_ids=set(run_ids))}
        return [found.get(run_id) for run_id in run_ids]

    def execute(self, run_id: int) -> bool:
        """Execute a queued run; whether it is finished now, by whomever. Whoever waits for it is told."""
        if self._executor.execute(run_id):
            return True
        finished = self._is_finished(run_id)
        if finished:
            # Its worker may have died before it told anybody.
            self._ending.completions.announce(run_id)
        return finished

    def give_up(self, run_id: int) -> bool:
        """End a run whose message could not be sent; False when it was, and somebody works on the run."""
        return self._ending.give_up(run_id, NOT_SENT)

    def sweep(self) -> list[int]:
        """See `RunSweeper.sweep`."""
        return self._sweeper.sweep()

    def _is_finished(self, run_id: int) -> bool:
        with self._database.read() as connection:
            return runs.is_finished(connection, run_id=run_id)

    def _joined(self, project_id: int, idempotency: Idempotency | None) -> Started | None:
        if idempotency is None:
            return None
        with self._database.read() as connection:
            kept = idempotency_keys.find_key(
                connection, api_key_id=idempotency.api_key_id, key_digest=idempotency.key_digest
            )
            if kept is None or kept.created_at <= earlier_now(connection, self._now()) - KEY_TTL:
                return None
        if kept.body_digest != idempotency.body_digest:
            raise Conflict("This Idempotency-Key came with another body before.")
        return Started(kept.run_id, project_id, joined=True)

    def _accepted(self, command: RunCommand, project_id: int, epoch: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """The row of the request, and the contents that go with it; raises what speaks against it."""
        content = self._prompts.content(
            project_id=project_id,
            prompt_id=command.prompt_id,
            productive=command.productive,
            commit_hash=command.commit_hash,
            require_committed=True,
            epoch=epoch,
        )
        _check_usable(content.model)
        message = Message("user", command.question, files=command.files)
        self._providers.check(model_request(content.model, content.config, (message,), None, self.call_timeout_s))
        asked = {"question": command.question, "request": snapshot(content, command)}
        kept, contents = self._masking.accepted(project_id, asked, command.files)
        return {
            "project_id": project_id,
            "prompt_id": content.prompt_id,
            "commit_hash": content.commit_hash,
            "language_model_id": content.model.id,
            **kept,
        }, contents

    def _write(
        self, connection: Connection, values: dict[str, Any], contents: list[bytes], idempotency: Idempotency | None
    ) -> int:
        """The key before the files: of two requests at once, one ends there."""
        now = self._now()
        run_id = runs.add_run(connection, values=values, now=now)
        if idempotency:
            now = earlier_now(connection, now)
            key: dict[str, Any] = {"api_key_id": idempotency.api_key_id, "key_digest": idempotency.key_digest}
            idempotency_keys.delete_expired_key(connection, before=now - KEY_TTL, **key)
            idempotency_keys.add_key(connection, body_digest=idempotency.body_digest, run_id=run_id, now=now, **key)
        run_file_chunks.add_files(connection, run_id=run_id, contents=contents)
        return run_id


def _check_usable(model: LanguageModel) -> None:
    if model.retired:
        raise Invalid(f"The prompt's model {model.name} is retired; choose another one for the prompt.")
    if model.disabled:
        raise Invalid(f"The prompt's model {model.name} is disabled for this organization.")
