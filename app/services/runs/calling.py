"""Calls a run's model and, when that fails, the second one that its prompt names."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from app.chat import Answer, Message, OnEvent, StreamEvent
from app.errors import Invalid, ProviderError, ProviderTimeout
from app.models.language_models import LanguageModel
from app.providers.types import Credential, ModelConfig, ModelPort
from app.services.prompts.model_config import Config
from app.services.runs.request import model_request

log = structlog.get_logger(__name__)

# With a second model the first gets this part of the time: an answer that never comes must leave some.
FIRST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that a run may call, or the error why it can't, such as a missing credential of its vendor."""

    model: LanguageModel
    credential: Credential | None
    refused: ProviderError | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """The messages of an organization's run, for the first candidate and, when that fails, for the second."""

    first: Candidate
    second: Candidate | None
    config: Config
    messages: tuple[Message, ...]
    organization_id: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, the model that gave it and, when that is the second, the error of the first."""

    answer: Answer
    model: LanguageModel
    config: ModelConfig
    first_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """`timeout_s` is for both models together, their retries included."""

    providers: ModelPort
    timeout_s: float
    monotonic: Callable[[], float] = time.monotonic

    def call(self, call: Call, on_event: OnEvent | None = None) -> Answered:
        """Call the models; with `on_event` the answer is streamed to it. `ProviderError` with both errors if both fail.

        What was streamed can't be taken back: after the first piece the second model is not called any more.
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
        self, call: Call, second: Candidate, first_failed: ProviderError, left_s: float, on_event: OnEvent | None
    ) -> Answered:
        first_error = f"{call.first.model.name}: {first_failed}"
        try:
            return replace(self._ask(call, second, left_s, on_event), first_error=first_error)
        except Invalid:
            # The request fits the first model: its failure is what the caller has to know.
            raise first_failed from None
        except ProviderError as failed:
            kind = ProviderTimeout if isinstance(failed, ProviderTimeout) else ProviderError
            raise kind(f"{second.model.name}: {failed} (before it, {first_error})") from failed

    def _ask(self, call: Call, candidate: Candidate, timeout_s: float, on_event: OnEvent | None) -> Answered:
        if candidate.refused:
            raise candidate.refused
        model, credential = candidate.model, candidate.credential
        request = model_request(model, call.config, call.messages, credential, timeout_s, call.organization_id)
        answer = self.providers.stream(request, on_event) if on_event else self.providers.complete(request)
        return Answered(answer, model, request.config)
