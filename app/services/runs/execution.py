"""Executes a run once: claims its row, calls the model outside any transaction, stores what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import structlog
from sqlalchemy import Connection

from app.chat import File, Message, OnEvent
from app.db import UNSTORABLE, Database
from app.errors import ProviderError, RepriseError, Unavailable
from app.models import idempotency_keys, run_file_chunks, runs, usage
from app.models.language_models import LanguageModel
from app.models.runs import Claim, RunRow
from app.redis_store.events import LiveRuns
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService
from app.services.runs.calling import Call, Caller, Candidate
from app.services.runs.claiming import Claiming
from app.services.runs.failures import INTERNAL, NOT_CALLED, NOT_STORED, failed, failed_by
from app.services.runs.heartbeat import Heartbeat
from app.services.runs.masking import RunMasking, has_contents
from app.services.runs.outcome import answered, spent_by
from app.services.runs.snapshot import render, without_text
from app.services.runs.telling import Telling
from app.timestamps import Now

log = structlog.get_logger(__name__)

T = TypeVar("T")

# How long a claimed run, or its answer, waits for a database that is away, in seconds.
PATIENCE_S = 60.0
PAUSE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    database: Database
    now: Now
    claiming: Claiming
    models: ModelService
    credentials: CredentialService
    caller: Caller
    heartbeat: Heartbeat
    live: LiveRuns
    masking: RunMasking
    telling: Telling
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def execute(self, run_id: int) -> bool:
        """Whether this call ended the run: a message that comes twice makes no second answer."""
        claimed = self.claiming.claim(run_id)
        if claimed is None:
            return False
        row, claim = claimed
        with self.heartbeat.of(run_id, claim.token):
            try:
                model_name, values = self._work(row)
            except BaseException as error:
                # A bug, or the actor's time limit: the run must not look as if it were still in work.
                values = failed(INTERNAL, f"{type(error).__name__} while the run was executed.")
                self._store(row, claim, row.model_name, values)
                raise
            return self._end(row, claim, model_name, values)

    def _work(self, row: RunRow) -> tuple[str, dict[str, Any]]:
        """The name of the model that answered, or was to, and the columns to store: an answer, or the failure that
        the vendor or the configuration is to blame for."""
        model_name, values = row.model_name, dict[str, Any]()
        started = self.monotonic()
        try:
            asked = self._patiently(lambda: self.masking.asked(row))
            instruction = render(asked.request)
            values = {"instruction": instruction, "request": without_text(asked)}
            model_name, answer = self._answer(asked, instruction)
            values |= answer
        except RepriseError as error:
            values |= failed_by(error)
        values.setdefault("response_time_ms", round((self.monotonic() - started) * 1000))
        log.info(
            "run",
            run_id=row.id,
            status=values["status"],
            error_kind=values.get("error_kind"),
            model=model_name,
            response_time_ms=values["response_time_ms"],
        )
        return model_name, values

    def _answer(self, row: RunRow, instruction: str) -> tuple[str, dict[str, Any]]:
        call = self._patiently(lambda: self._prepared(row, instruction))
        started = self.monotonic()
        with self._live(row) as note:
            said = self.caller.call(call, note)
        took_ms = round((self.monotonic() - started) * 1000)
        values = answered(said.answer, said.config, said.model, said.first_error)
        return said.model.name, values | {"response_time_ms": took_ms}

    def _live(self, row: RunRow) -> AbstractContextManager[OnEvent | None]:
        return self.live.of(row.id, self.masking.piece_seal(row)) if row.request.get("stream") else nullcontext()

    def _prepared(self, row: RunRow, instruction: str) -> Call:
        second_id = row.request.get("fallbackModelId")
        with self.database.read() as connection:
            first = self._model(connection, row, row.language_model_id)
            second = self._model(connection, row, second_id) if second_id else None
            contents = self.masking.contents(connection, row)
        described = zip(row.request["files"], contents, strict=True)
        files = tuple(File(file["fileName"], file["contentType"], content) for file, content in described)
        messages = (Message("system", instruction), Message("user", row.question, files=files))
        fallback = self._candidate(row, second) if second else None
        return Call(self._candidate(row, first), fallback, row.request["config"], messages, row.organization_id)

    def _model(self, connection: Connection, row: RunRow, model_id: int) -> LanguageModel:
        return self.models.read(connection, organization_id=row.organization_id, model_id=model_id)

    def _candidate(self, row: RunRow, model: LanguageModel) -> Candidate:
        try:
            credential = self.credentials.find(row.organization_id, model.vendor, base_url=model.base_url)
        except ProviderError as refused:
            return Candidate(model, None, refused)
        return Candidate(model, credential)

    def _end(self, row: RunRow, claim: Claim, model_name: str, values: dict[str, Any]) -> bool:
        """Store what came of the run or, where the database does not take it, that failure."""
        try:
            return self._store(row, claim, model_name, values)
        except UNSTORABLE as error:
            # The error's text may quote the answer.
            log.error("run_not_stored", run_id=row.id, error=type(error).__name__)
            return self._store(row, claim, model_name, failed("provider", NOT_STORED))

    def _store(self, row: RunRow, claim: Claim, model_name: str, values: dict[str, Any]) -> bool:
        kept = self._patiently(lambda: self.masking.ended(row, values))

        def store(connection: Connection) -> bool:
            return finish(connection, claim, kept, self.now(), contents=has_contents(row))

        ended = self._patiently(lambda: self.database.retrying(store))
        if not ended:
            log.warning("run_came_too_late", run_id=claim.run_id, status=values["status"])
            return False
        self.telling.ended(row, model_name, values.get("error_kind") or ("nok" if values.get("nok") else "ok"))
        return True

    def _patiently(self, work: Callable[[], T]) -> T:
        """Do `work` again while the database is away: a claimed run can't be handed back."""
        deadline = self.monotonic() + PATIENCE_S
        while True:
            try:
                return work()
            except Unavailable:
                if self.monotonic() >= deadline:
                    raise
            self.sleep(PAUSE_S)


def finish(
    connection: Connection,
    claim: Claim,
    values: dict[str, Any],
    now: datetime,
    *,
    unmoved: bool = False,
    contents: bool = True,
) -> bool:
    """End a claimed run with all that belongs to it; False when it is no longer the claim's to end.

    `contents`: whether something may be kept beside it.
    """
    ended = runs.finish_claimed(connection, claim=claim, values=values, now=now, unmoved=unmoved)
    if ended:
        clear(connection, claim.run_id, values, now, contents=contents)
    return ended


def clear(connection: Connection, run_id: int, values: dict[str, Any], now: datetime, *, contents: bool = True) -> None:
    """What a finished run needs no more: its files, its key where the model was surely not called. It is counted."""
    if contents:
        run_file_chunks.delete_files(connection, run_id=run_id)
    if values.get("error_kind") in NOT_CALLED:
        idempotency_keys.delete_of_run(connection, run_id=run_id)
    usage.count_run(connection, run_id=run_id, spent=spent_by(values), now=now)
