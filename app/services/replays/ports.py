"""The ports of the replay engine: the renderings of the draft, and metered models."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from secrets import token_hex
from typing import Any, Protocol

import msgspec

from app.chat import TOKEN_COUNTS, Answer, File, Message, Tokens, ToolDefinition
from app.errors import Invalid, ProviderError
from app.models.language_models import LanguageModel
from app.models.replays import ReplayRow
from app.providers.decoding import TOKENS_MAX
from app.providers.failures import ProviderFailure
from app.providers.types import Credential, ModelConfig, ModelRequest, ProviderPort
from app.rendering.render import render
from app.replay.case_types import TestCase
from app.replay.judge import ModelJudge
from app.replay.ports import JudgePort, RenderedDraft
from app.replay.result_types import TurnResult
from app.services.language_models.credentials import CredentialService
from app.services.prompts.content import PromptContent, parse_config
from app.services.replays.budget import Budget
from app.services.runs.outcome import cost_of, nok_status
from app.services.runs.request import model_request
from app.values.json import count_marks

# Characters of the instructions that a replay renders and keeps, one for each selection of placeholder values.
RENDERED_MAX = 10_000_000
ANSWERED_BYTES_MAX = 8_000_000
"""What one model may answer during a replay, in bytes of JSON."""
ANSWERED_MARKS_MAX = 500_000
"""Brackets and commas in the arguments of its calls: each may need some hundred bytes of memory to be read again."""


class Progress:
    """Counts the played steps of a replay, and adds up the usage of its calls; it is thread-safe.

    Interrupted attempts count too.
    """

    def __init__(self, before: ReplayRow) -> None:
        self._done = 0
        self._lock = threading.Lock()
        self._tokens = Tokens(**{name: getattr(before, f"{name}_tokens") for name in TOKEN_COUNTS})
        self._prompt_usd = Decimal(before.prompt_cost_usd)
        self._completion_usd = Decimal(before.completion_cost_usd)
        self._reported_judge: str | None = None
        self._reported_model: str | None = None

    def note_judge_model(self, reported_model: str) -> None:
        """Note the model that the vendor of the judge reports."""
        self._reported_judge = reported_model

    def note_model(self, reported_model: str) -> None:
        """Note the model that the vendor of the prompt's model reports."""
        self._reported_model = reported_model

    def note(self, done: int, _total: int, _turn: TurnResult | None) -> None:
        self._done = done

    def add(self, model: LanguageModel, tokens: Tokens) -> None:
        """Add the tokens of a call and their cost at the model's price."""
        cost = cost_of(model, tokens)
        with self._lock:
            self._tokens += tokens
            self._prompt_usd += cost.prompt
            self._completion_usd += cost.completion

    def columns(self) -> dict[str, Any]:
        """Return the columns of a replay with its progress and its usage."""
        with self._lock:
            tokens = {f"{name}_tokens": min(getattr(self._tokens, name), TOKENS_MAX) for name in TOKEN_COUNTS}
            costs = {"prompt_cost_usd": float(self._prompt_usd), "completion_cost_usd": float(self._completion_usd)}
            reported = {"judge_snapshot": self._reported_judge, "model_snapshot": self._reported_model}
            return {"done": self._done, **reported, **tokens, **costs}


class AnsweredBytes:
    """Counts what a model has answered during one replay; it is thread-safe.

    All of it stays in memory, is sent with the calls that follow, and is stored in the result.
    """

    def __init__(self, grown: Callable[[int], None] = lambda _size: None) -> None:
        """`grown` is called with the memory of each answer."""
        self._bytes = self._marks = 0
        self._lock = threading.Lock()
        self._grown = grown

    def add(self, answer: Answer) -> None:
        """Count an answer; raises `ProviderError` beyond `ANSWERED_BYTES_MAX` and `ANSWERED_MARKS_MAX`."""
        calls = msgspec.json.encode(answer.tool_calls)
        size = len(calls) + len(msgspec.json.encode((answer.text, answer.refusal, answer.vendor_state)))
        with self._lock:
            self._bytes += size
            self._marks += count_marks(calls)
            if self._bytes > ANSWERED_BYTES_MAX:
                raise ProviderError(f"The model's answers have more than {ANSWERED_BYTES_MAX:,} bytes in this replay.")
            if self._marks > ANSWERED_MARKS_MAX:
                raise ProviderError(
                    f"The arguments of the model's calls have more than {ANSWERED_MARKS_MAX:,} brackets and commas in "
                    "this replay."
                )
        self._grown(max(size, sys.getsizeof(answer.text or "")))


class Meter(Protocol):
    """Counts the usage of calls of models."""

    def add(self, model: LanguageModel, tokens: Tokens) -> None: ...


def _ignore(_reported_model: str) -> None:
    pass


@dataclass(frozen=True)
class MeteredModel:
    """The engine's `ModelPort` on top of the providers.

    `config` is a prompt's configuration; its tools are replaced by the engine's. `reported` is called with the model
    that the vendor reports.
    """

    model: LanguageModel
    config: dict[str, Any]
    providers: ProviderPort
    credentials: CredentialService
    progress: Meter
    budget: Budget
    timeout_s: float
    organization_id: int
    reported: Callable[[str], None] = _ignore
    answered: AnsweredBytes = field(default_factory=AnsweredBytes)

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Call the model; a request that the model rejects raises `ProviderError`, like a failure of its provider."""
        whole = (Message("system", instruction), *messages)
        return self._answered(whole, tools=tuple(tools))

    def structured(self, instruction: str, question: str, schema: dict[str, Any]) -> Answer:
        """Return the answer to a question, as JSON of the schema where the model's vendor can guarantee that.

        A request that the vendor does not accept is sent again without the schema; its answer may be any text. Raises
        `ProviderError`.
        """
        messages = Message("system", instruction), Message("user", question)
        try:
            return self._answered(messages, response_format="json_schema", json_schema=schema, strict=True)
        except ProviderFailure as failure:
            if not failure.unaccepted:
                raise
        return self._answered(messages)

    def reads(self, file: File) -> bool:
        """Return whether the model can read a file of this type."""
        message = Message("user", "", files=(file,))
        try:
            self.providers.check(model_request(self.model, self.config, (message,), None, self.timeout_s))
        except Invalid:
            return False
        return True

    def _answered(self, messages: tuple[Message, ...], **config: Any) -> Answer:
        try:
            request = model_request(
                self.model, self.config, messages, self.credential, self.timeout_s, self.organization_id
            )
            request = replace(request, config=replace(request.config, **config), background=True)
            with self.budget.call(partial(most_cost, self.model, request)):
                answer = self._completed(request)
                self.progress.add(self.model, answer.tokens)
                if answer.reported_model:
                    self.reported(answer.reported_model)
            self.answered.add(answer)
        except Invalid as refused:
            raise ProviderError(str(refused)) from refused
        return answer

    def _completed(self, request: ModelRequest) -> Answer:
        try:
            return self.providers.complete(request)
        except ProviderFailure as failure:
            # The usage of an answer that can't be read is not known.
            if failure.is_answered:
                self.progress.add(self.model, most_tokens(self.model, request))
            raise

    @cached_property
    def credential(self) -> Credential | None:
        """The credential of the model's vendor; raises `ProviderError` with advice if there is none."""
        return self.credentials.find(self.organization_id, self.model.vendor, base_url=self.model.base_url)

    def as_judge(self) -> JudgePort:
        return ModelJudge(self, lambda: token_hex(16), self.model.name)


def most_tokens(model: LanguageModel, request: ModelRequest) -> Tokens:
    """Return the most tokens that a call can use, counting one token for each byte sent."""
    sent = len(msgspec.json.encode((request.messages, request.config.tools, request.config.json_schema)))
    written = request.config.max_tokens or model.completion_tokens_max
    return Tokens(min(sent, model.context_tokens_max), written)


def most_cost(model: LanguageModel, request: ModelRequest) -> float:
    """Return the most that a call can cost, in USD."""
    cost = cost_of(model, most_tokens(model, request))
    return float(cost.prompt + cost.completion)


@dataclass(frozen=True)
class PlayedContent:
    """A frozen content; each selection of placeholder values is rendered once, for all turns of all test cases."""

    content: PromptContent
    _selections: set[frozenset[tuple[str, str]]] = field(default_factory=set)
    _rendered: dict[frozenset[tuple[str, str]], RenderedDraft] = field(default_factory=dict)

    def add(self, case: TestCase) -> None:
        """Add a test case's turns; raises `Invalid` if all selections make more than `RENDERED_MAX` characters."""
        selections = self._selections | {frozenset((turn.placeholders or {}).items()) for turn in case.played_turns}
        if len(selections) > 1 and len(selections) * self._longest > RENDERED_MAX:
            raise Invalid(
                f"The turns choose {len(selections)} different sets of placeholder values. "
                f"A replay renders at most {RENDERED_MAX:,} characters of instructions."
            )
        self._selections.update(selections)

    @cached_property
    def config(self) -> ModelConfig:
        return parse_config(self.content.config, self.content.model)

    def render(self, placeholders: Mapping[str, str]) -> RenderedDraft:
        """Return the instruction with these values."""
        selection = frozenset(placeholders.items())
        if selection not in self._rendered:
            content = self.content
            rendered = render(content.value, content.instruction_format, content.placeholders, placeholders)
            self._rendered[selection] = RenderedDraft(rendered.instruction, tuple(rendered.ignored))
        return self._rendered[selection]

    @cached_property
    def _longest(self) -> int:
        """The length of the longest instruction."""
        return self.content.filled_length


@dataclass(frozen=True)
class SnapshotDraft:
    """The engine's `DraftPort` on the content that was frozen when the replay was started.

    `versions` are the names of the tools that versions of the prompt define, by hash; None is the newest version that
    the test case may have been recorded with.
    """

    played: PlayedContent
    versions: Mapping[str | None, frozenset[str]]
    defined_before: bool

    @property
    def content(self) -> PromptContent:
        return self.played.content

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        return self.played.config.tools

    @property
    def agent_owns_tools(self) -> bool:
        return not self.tools and not self.defined_before

    def version_tools(self, commit_hash: str | None) -> frozenset[str]:
        return self.versions.get(commit_hash if commit_hash in self.versions else None, frozenset())

    def render(self, placeholders: Mapping[str, str]) -> RenderedDraft:
        return self.played.render(placeholders)

    def nok(self, answer: Answer) -> str | None:
        return nok_status(answer, self.played.config)
