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
    """A model that a run may call, or why it can't: its vendor's credential is missing, say."""

    model: LanguageModel
    credential: Credential | None
    refused: ProviderError | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """What an organization's run says, to the first candidate and, when that fails, to the second."""

    first: Candidate
    second: Candidate | None
    config: Config
    messages: tuple[Message, ...]
    organization_id: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """What which model said, and, when that is the second, why the first one did not."""

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
        """`ProviderError` when all fail, with the words of each; with `on_event` the answer is streamed to it.

        What was streamed can't be taken back: after the first piece the second model is not asked any more.
        """
        deadline = self.monotonic() + self.timeout_s
        said: list[StreamEvent] = []

        def note(event: StreamEvent) -> None:
            said[:] = [event]
            if on_event:
                on_event(event)

        heard = note if on_event else None
        try:
            return self._ask(call, call.first, self.timeout_s * (FIRST_SHARE if call.second else 1.0), heard)
        except ProviderError as error:
            left_s = deadline - self.monotonic()
            if call.second is None or said or left_s <= 0:
                raise
            failed = error
        log.warning(
            "run_falls_back", model=call.first.model.name, to=call.second.model.name, error=type(failed).__name__
        )
        return self._ask_second(call, call.second, failed, left_s, heard)

    def _ask_second(
        self, call: Call, second: Candidate, first_failed: ProviderError, left_s: float, heard: OnEvent | None
    ) -> Answered:
        first_error = f"{call.first.model.name}: {first_failed}"
        try:
            return replace(self._ask(call, second, left_s, heard), first_error=first_error)
        except Invalid:
            # What was asked is fit for the first model: its failure is what there is to know.
            raise first_failed from None
        except ProviderError as failed:
            kind = ProviderTimeout if isinstance(failed, ProviderTimeout) else ProviderError
            raise kind(f"{second.model.name}: {failed} (before it, {first_error})") from failed

    def _ask(self, call: Call, who: Candidate, timeout_s: float, on_event: OnEvent | None) -> Answered:
        if who.refused:
            raise who.refused
        request = model_request(who.model, call.config, call.messages, who.credential, timeout_s, call.organization_id)
        answer = self.providers.stream(request, on_event) if on_event else self.providers.complete(request)
        return Answered(answer, who.model, request.config)
