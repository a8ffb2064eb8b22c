"""Executes a run once: claims its row, calls the model outside any transaction, stores what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import structlog
from sqlalchemy import Connection
from tenacity import Retrying

from app.chat import File, Message, OnEvent
from app.db import UNSTORABLE, Database
from app.errors import ProviderError, RepriseError
from app.models.language_models import LanguageModel
from app.models.runs import RunRow
from app.redis_store.events import LiveRuns
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService
from app.services.runs.calling import Call, Caller, Candidate
from app.services.runs.claiming import RunClaims
from app.services.runs.ending import RunEnding
from app.services.runs.failures import INTERNAL, NOT_STORED, failed, failed_by
from app.services.runs.masking import RunMasking, has_contents
from app.services.runs.outcome import answered
from app.services.runs.snapshot import render, without_text
from app.work.heartbeat import Heartbeat
from app.work.patience import build_patience
from app.work.table import Claim

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    database: Database
    claims: RunClaims
    models: ModelService
    credentials: CredentialService
    caller: Caller
    heartbeat: Heartbeat
    live: LiveRuns
    masking: RunMasking
    ending: RunEnding
    patience: Retrying = field(default_factory=build_patience)
    monotonic: Callable[[], float] = time.monotonic

    def execute(self, run_id: int) -> bool:
        """Whether this call ended the run: a message that comes twice makes no second answer."""
        claimed = self.claims.claim(run_id)
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
            asked = self.patience(self.masking.asked, row)
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
        call = self.patience(self._prepared, row, instruction)
        started = self.monotonic()
        with self._live(row) as note:
            said = self.caller.call(call, note)
        took_ms = round((self.monotonic() - started) * 1000)
        values = answered(said.answer, said.config, said.model, said.first_error)
        return said.model.name, values | {"response_time_ms": took_ms}

    def _live(self, row: RunRow) -> AbstractContextManager[OnEvent | None]:
        return self.live.of(row.id, self.masking.piece_encryption(row)) if row.request.get("stream") else nullcontext()

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
        kept = self.patience(self.masking.ended, row, values)
        ended = self.patience(self.ending.finish, claim, kept, contents=has_contents(row))
        if not ended:
            log.warning("run_came_too_late", run_id=row.id, status=values["status"])
            return False
        self.ending.notify(row, model_name, values.get("error_kind") or ("nok" if values.get("nok") else "ok"))
        return True
