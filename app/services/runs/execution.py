"""Executes a run once: claims its row, calls the model outside any transaction, stores the outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from app.chat import Answer, File, Message, OnEvent, StreamEvent
from app.database.transactions import UNSTORABLE, Database
from app.errors import Invalid, ProviderError, ProviderTimeout, ServiceError
from app.models.language_models import LanguageModel
from app.models.runs import ClaimedRunRow, RunRow
from app.providers.router import Providers
from app.providers.stopping import NEVER, CallStop, Stopped
from app.providers.types import Credential, ModelConfig, ProviderPort
from app.redis_store.runs import LiveRuns
from app.redis_store.stops import RunStops
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService
from app.services.prompts.content import Config
from app.services.runs.claims import RunClaims
from app.services.runs.ending import RunEnding
from app.services.runs.masking import RunMasking
from app.services.runs.outcome import INTERNAL, NOT_STORED, RunEnd, answered, cancelled, failed, failed_by
from app.services.runs.request import history_of, model_request, render, without_text
from app.services.runs.tokens import with_all_tokens
from app.work.heartbeat import Heartbeat, Patience
from app.work.table import Claim

log = structlog.get_logger(__name__)

# The first model gets this share of the time if there is a second one, so that time is left when it never answers.
FIRST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class CandidateModel:
    """A model that a run may call, or the error that prevents it, such as a missing credential of its vendor."""

    model: LanguageModel
    credential: Credential | None
    refused: ProviderError | None = None


@dataclass(frozen=True, slots=True)
class RunCall:
    """The messages of an organization's run, for the first candidate and, if that fails, for the second."""

    first: CandidateModel
    second: CandidateModel | None
    config: Config
    messages: tuple[Message, ...]
    organization_id: int = 0
    stop: CallStop = NEVER


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, the model that gave it, and the error of the first model if the second one answered.

    `stopped`: the answer is what was written when the run was cancelled. `estimated`: its tokens are in part.
    """

    answer: Answer
    model: LanguageModel
    config: ModelConfig
    first_error: str | None = None
    stopped: bool = False
    estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCaller:
    """Calls a run's models. `timeout_s` covers both models together, including their retries."""

    providers: ProviderPort
    timeout_s: float
    monotonic: Callable[[], float] = time.monotonic

    def call(self, call: RunCall, on_event: OnEvent | None = None) -> Answered:
        """Call the models; with `on_event` the answer is streamed. `ProviderError` with both errors if both fail.

        A streamed piece can't be taken back: after the first piece the second model is not called any more.
        """
        deadline = self.monotonic() + self.timeout_s
        streamed = False

        def note(event: StreamEvent) -> None:
            nonlocal streamed
            streamed = True
            if on_event:
                on_event(event)

        listener = note if on_event else None
        try:
            return self._ask(call, call.first, self.timeout_s * (FIRST_SHARE if call.second else 1.0), listener)
        except ProviderError as error:
            left_s = deadline - self.monotonic()
            if call.second is None or streamed or left_s <= 0:
                raise
            failed = error
        log.warning(
            "run_falls_back", model=call.first.model.name, to=call.second.model.name, error=type(failed).__name__
        )
        return self._ask_second(call, call.second, failed, left_s, listener)

    def _ask_second(
        self,
        call: RunCall,
        second: CandidateModel,
        first_failed: ProviderError,
        left_s: float,
        on_event: OnEvent | None,
    ) -> Answered:
        first_error = f"{call.first.model.name}: {first_failed}"
        try:
            return replace(self._ask(call, second, left_s, on_event), first_error=first_error)
        except Invalid:
            # The request is valid for the first model, so the caller needs to see the first model's error.
            raise first_failed from None
        except ProviderError as failed:
            kind = ProviderTimeout if isinstance(failed, ProviderTimeout) else ProviderError
            raise kind(f"{second.model.name}: {failed} (before it, {first_error})") from failed

    def _ask(self, call: RunCall, candidate: CandidateModel, timeout_s: float, on_event: OnEvent | None) -> Answered:
        if candidate.refused:
            raise candidate.refused
        model, credential = candidate.model, candidate.credential
        request = model_request(model, call.config, call.messages, credential, timeout_s, call.organization_id)
        request = replace(request, stop=call.stop)
        try:
            answer = self.providers.stream(request, on_event) if on_event else self.providers.complete(request)
        except Stopped as stopped:
            if stopped.answer is None:
                return Answered(Answer(""), model, request.config, stopped=True)
            answer, estimated = with_all_tokens(stopped.answer, model, request)
            return Answered(answer, model, request.config, stopped=True, estimated=estimated)
        return Answered(answer, model, request.config)


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    database: Database
    claims: RunClaims
    models: ModelService
    credentials: CredentialService
    providers: Providers
    caller: RunCaller
    heartbeat: Heartbeat
    live: LiveRuns
    stops: RunStops
    masking: RunMasking
    ending: RunEnding
    patience: Patience = field(default_factory=Patience)
    monotonic: Callable[[], float] = time.monotonic

    def execute(self, run_id: int) -> bool:
        """Execute a queued run; False if another worker has it or it has ended, so a repeated message has no effect."""
        claimed = self.claims.claim(run_id)
        if claimed is None:
            return False
        row, claim = claimed
        stop = CallStop()
        with (
            self.providers.slots_held(),
            self.heartbeat.of(run_id, claim.token),
            self.stops.of(run_id, stop.request),
        ):
            with ExitStack() as working:
                working.push(partial(self._end_broken, row, claim))
                answering, end = self._work(row, stop)
            return self._end(answering, claim, end)

    def _end_broken(self, row: RunRow, claim: Claim, kind: type[BaseException] | None, *_error: object) -> None:
        """End a run after a bug or the actor's time limit, so that it is not shown as running."""
        if kind is not None:
            self._store(row, claim, failed(INTERNAL, f"{kind.__name__} while the run was executed."))

    def _work(self, row: ClaimedRunRow, stop: CallStop) -> tuple[RunRow, RunEnd]:
        """Return the run with the model that answered or was to answer, and its end.

        The end is an answer, as much of one as was written when the run was cancelled, or an error of the vendor or of
        the configuration.
        """
        answering, instruction, request = row, None, None
        started = self.monotonic()
        try:
            whole = self.patience(self.masking.requested, row)
            instruction, request = render(whole.request), without_text(whole.request)
            model, end = self._answer(whole, instruction, stop)
            answering = replace(row, model_name=model.name, vendor=model.vendor, language_model_id=model.id)
        except ServiceError as error:
            end = replace(failed_by(error), response_time_ms=self._ms_since(started))
        log.info(
            "run",
            run_id=row.id,
            status=end.status,
            error_kind=end.error_kind,
            model=answering.model_name,
            response_time_ms=end.response_time_ms,
        )
        return answering, replace(end, instruction=instruction, request=request)

    def _answer(self, row: ClaimedRunRow, instruction: str, stop: CallStop) -> tuple[LanguageModel, RunEnd]:
        call = replace(self.patience(self._prepared, row, instruction), stop=stop)
        started = self.monotonic()
        with self._live(row) as on_event:
            answered_by = self.caller.call(call, on_event)
        took_ms = self._ms_since(started)
        end = answered(
            answered_by.answer,
            answered_by.config,
            answered_by.model,
            answered_by.first_error,
            estimated=answered_by.estimated,
        )
        return answered_by.model, replace(cancelled(end) if answered_by.stopped else end, response_time_ms=took_ms)

    def _ms_since(self, started: float) -> int:
        return round((self.monotonic() - started) * 1000)

    def _live(self, row: RunRow) -> AbstractContextManager[OnEvent | None]:
        return self.live.of(row.id, self.masking.piece_encryption(row)) if row.request.stream else nullcontext()

    def _prepared(self, row: ClaimedRunRow, instruction: str) -> RunCall:
        second_id = row.request.fallback_model_id
        first = self._model(row, row.language_model_id)
        second = self._model(row, second_id) if second_id else None
        contents = self.masking.contents(row)
        described = zip(row.request.files, contents, strict=True)
        files = tuple(File(file.file_name, file.content_type, content) for file, content in described)
        question = Message("user", row.question, files=files)
        messages = (Message("system", instruction), *history_of(row.request), question)
        fallback = _candidate(second, lambda: self._found(row, second)) if second else None
        return RunCall(
            _candidate(first, lambda: self._claimed(row, first)),
            fallback,
            row.request.config,
            messages,
            row.organization_id,
        )

    def _model(self, row: RunRow, model_id: int) -> LanguageModel:
        which = {"organization_id": row.organization_id, "model_id": model_id}
        if known := self.models.known(**which):
            return known
        with self.database.read() as connection:
            return self.models.read(connection, **which)

    def _claimed(self, row: ClaimedRunRow, model: LanguageModel) -> Credential | None:
        stored = None if row.encrypted_key is None else (row.encrypted_key, row.base_url or "")
        return self.credentials.choose(model.vendor, stored, base_url=model.base_url)

    def _found(self, row: RunRow, model: LanguageModel) -> Credential | None:
        return self.credentials.find(row.organization_id, model.vendor, base_url=model.base_url)

    def _end(self, row: RunRow, claim: Claim, end: RunEnd) -> bool:
        """Store the run's end; if the database can't store it, store that failure instead."""
        try:
            return self._store(row, claim, end)
        except UNSTORABLE as error:
            # The error's text may quote the answer.
            log.error("run_not_stored", run_id=row.id, error=type(error).__name__)
            return self._store(row, claim, failed("provider", NOT_STORED))

    def _store(self, row: RunRow, claim: Claim, end: RunEnd) -> bool:
        kept = self.patience(self.masking.ended, row, end)
        ended = self.patience(self.ending.finish, row, claim, kept)
        if ended is None:
            log.warning("run_came_too_late", run_id=row.id, status=end.status)
            return False
        self.ending.notify(ended)
        return True


def _candidate(model: LanguageModel, credential: Callable[[], Credential | None]) -> CandidateModel:
    try:
        return CandidateModel(model, credential())
    except ProviderError as refused:
        return CandidateModel(model, None, refused)
