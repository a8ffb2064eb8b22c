"""The ports of a replay's engine: the draft's renderings, and models whose calls are metered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from app.chat import Answer, Message, Tokens, ToolDefinition
from app.errors import Invalid, ProviderError
from app.models.language_models import LanguageModel
from app.models.replays import ReplayRow
from app.providers.decoding import TOKENS_MAX
from app.providers.types import Credential, ModelPort
from app.rendering.render import render
from app.replay.types import RenderedDraft, TurnResult
from app.services.prompts.content import PromptContent
from app.services.prompts.model_config import parse_config
from app.services.runs.outcome import cost_of
from app.services.runs.request import model_request


class Meter:
    """Sums what the calls of a replay use; they may come from many threads. Interrupted attempts count too."""

    def __init__(self, before: ReplayRow) -> None:
        self._lock = threading.Lock()
        self._tokens = Tokens(
            before.prompt_tokens,
            before.completion_tokens,
            before.cache_read_tokens,
            before.cache_write_tokens,
            before.reasoning_tokens,
        )
        self._prompt_usd = Decimal(before.prompt_cost_usd)
        self._completion_usd = Decimal(before.completion_cost_usd)

    def add(self, model: LanguageModel, tokens: Tokens) -> None:
        cost = cost_of(model, tokens)
        with self._lock:
            self._tokens += tokens
            self._prompt_usd += cost.prompt
            self._completion_usd += cost.completion

    def spent(self) -> dict[str, Any]:
        """As the columns of a replay."""
        with self._lock:
            return {
                "prompt_tokens": min(self._tokens.prompt, TOKENS_MAX),
                "completion_tokens": min(self._tokens.completion, TOKENS_MAX),
                "cache_read_tokens": min(self._tokens.cache_read, TOKENS_MAX),
                "cache_write_tokens": min(self._tokens.cache_write, TOKENS_MAX),
                "reasoning_tokens": min(self._tokens.reasoning, TOKENS_MAX),
                "prompt_cost_usd": float(self._prompt_usd),
                "completion_cost_usd": float(self._completion_usd),
            }


@dataclass(slots=True)
class Progress:
    """The progress and the usage of a replay; `done` counts recorded steps."""

    meter: Meter
    done: int = 0

    def note(self, done: int, _total: int, _turn: TurnResult | None) -> None:
        self.done = done

    def columns(self) -> dict[str, Any]:
        """As the columns of a replay."""
        return {"done": self.done, **self.meter.spent()}


@dataclass(frozen=True, slots=True)
class MeteredModel:
    """The engine's `ModelPort` over the providers'; `config` is a prompt's, its tools are the engine's to say.

    `credential` may raise `ProviderError`, saying what to set.
    """

    model: LanguageModel
    config: dict[str, Any]
    providers: ModelPort
    credential: Callable[[], Credential | None]
    meter: Meter
    timeout_s: float
    organization_id: int

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Call the model. A request that it can't take is, to a replay, a failure of its provider: `ProviderError`."""
        whole = (Message("system", instruction), *messages)
        try:
            request = model_request(
                self.model, self.config, whole, self.credential(), self.timeout_s, self.organization_id
            )
            request = replace(request, config=replace(request.config, tools=tuple(tools)))
            answer = self.providers.complete(request)
        except Invalid as refused:
            raise ProviderError(str(refused)) from refused
        self.meter.add(self.model, answer.tokens)
        return answer


class SnapshotDraft:
    """The engine's `DraftPort` over the content that was fixed when the replay was started."""

    def __init__(self, content: PromptContent) -> None:
        self._content = content

    @cached_property
    def tools(self) -> Sequence[ToolDefinition]:
        return parse_config(self._content.config, self._content.model).tools

    def render(self, placeholders: Mapping[str, str]) -> RenderedDraft:
        content = self._content
        rendered = render(content.value, content.instruction_format, content.placeholders, placeholders)
        return RenderedDraft(rendered.instruction, tuple(rendered.ignored))
