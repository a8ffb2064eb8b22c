"""Masking rules of projects, cached for some seconds because every batch and every run needs them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec

from app.concurrency.caches import TimedCache
from app.database.transactions import Database
from app.encryption import NO_KEY, ContentCipher
from app.errors import Unavailable
from app.models import data_policies
from app.otlp.decode import span_of
from app.otlp.mask_texts import MaskingBudget
from app.otlp.masking import EVERY, MASK, Masking, Rule
from app.otlp.prompt_ids import BadSpan
from app.otlp.span import MAX_ID, MAX_SCOPE, MAX_SHOWN, Rejection, Span, too_large
from app.values.storable import CUT

# A change of the rules reaches every process after this time.
CACHE_S = 5.0
# The limit of the column. Masking can make a span longer, because it writes numbers again.
SPAN_BYTES_MAX = 2**24 - 1
# Span attributes with parts of messages (OpenTelemetry's GenAI conventions); a rule's JSON pointer applies to both
# forms.
_INSTRUCTION = ("gen_ai.system_instructions", EVERY, "content")
_QUESTION = ("gen_ai.input.messages", EVERY, "parts", EVERY, "content")
_ANSWER = ("gen_ai.output.messages", EVERY, "parts", EVERY, "content")
_ARGUMENTS = (("gen_ai.tool.call.arguments",), ("gen_ai.output.messages", EVERY, "parts", EVERY, "arguments"))
_RESULT = (("gen_ai.tool.call.result",), ("gen_ai.input.messages", EVERY, "parts", EVERY, "response"))

Batch = tuple[list[Span], list[Rejection]]


def new_budget() -> MaskingBudget:
    """Return the budget of a batch, a run or a replay, which counts the time of this thread's processor."""
    return MaskingBudget(clock=time.thread_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingRules:
    """The masking rules by project; `cipher` encrypts data of projects with rules until it is masked."""

    database: Database
    cipher: ContentCipher
    cache: TimedCache[Masking] = field(default_factory=partial(TimedCache, CACHE_S), init=False)

    def of(self, project_id: int) -> Masking:
        """Return the project's rules, which are falsy if there are none.

        Raises `Unavailable` if they can't be read, or if there is no encryption key, so that unmasked data is never
        stored.
        """
        rules = self.cache.get_or_read(project_id, partial(self._read, project_id))
        if rules and not self.cipher:
            raise Unavailable(NO_KEY)
        return rules

    def _read(self, project_id: int) -> Masking:
        with self.database.read() as connection:
            policy = data_policies.find_policy(connection, project_id=project_id)
        return Masking([Rule(**rule) for rule in policy.masking])

    def forget(self, project_id: int) -> None:
        """Drop the project's cached rules, so that the next use reads them again."""
        self.cache.forget(project_id)

    def apply(self, project_id: int, spans: Sequence[Span], rejected: Sequence[Rejection]) -> Batch:
        """Return the batch with its spans masked; unchanged for a project without rules."""
        masking = self.of(project_id)
        if not masking:
            return list(spans), list(rejected)
        kept, rejections, budget = [], [masked_rejection(rejection, masking) for rejection in rejected], new_budget()
        for span in spans:
            try:
                kept.append(_masked(span, masking, budget))
            except RecursionError:
                rejections.append(_too_deep(span, masking))
            except BadSpan as error:
                rejections.append(masked_rejection(error.rejection, masking))
        return kept, rejections


def _masked(span: Span, masking: Masking, budget: MaskingBudget) -> Span:
    """Mask a span; raises RecursionError, and BadSpan for a span that can't be stored after masking."""
    raw = bytes(span.raw)
    masked, scope = masking.span(raw, budget), masking.cut(span.scope, MAX_SCOPE, budget)
    if masked is raw:
        return span if scope == span.scope else msgspec.structs.replace(span, scope=scope)
    if len(masked) > SPAN_BYTES_MAX:
        raise BadSpan(too_large(span, SPAN_BYTES_MAX))
    return span_of(msgspec.Raw(masked), scope, prompt_id=span.prompt_id)


def _too_deep(span: Span, masking: Masking) -> Rejection:
    ids = (span.trace_id.hex(), span.span_id.hex(), masking.text(span.name))
    return Rejection(*ids, "malformed_span", "its attributes nest too deeply to be masked", span.prompt_id)


def masked_rejection(rejection: Rejection, masking: Masking) -> Rejection:
    """Return a rejection, which quotes a span that is not stored, masked."""
    return replace(
        rejection,
        trace_id=masking.id(rejection.trace_id, MAX_ID),
        span_id=masking.id(rejection.span_id, MAX_ID),
        name=masking.cut(rejection.name, MAX_SHOWN),
        reason=masking.quoting(rejection.reason),
    )


@dataclass(frozen=True, slots=True)
class MessageMasking:
    """Masks the messages of a run or replay by the same rules as a span of such a model call.

    Each method masks a value, which may be None; `path` has the pointer tokens that lead to a part of a message. All
    messages of a run or replay share one budget.
    """

    masking: Masking
    budget: MaskingBudget = field(default_factory=new_budget)

    def instruction(self, text: str | None) -> Any:
        return self._at(text, _INSTRUCTION)

    def question(self, text: str | None) -> Any:
        return self._at(text, _QUESTION)

    def answer(self, value: Any, path: Sequence[str] = ()) -> Any:
        return self._at(value, (*_ANSWER, *path))

    def arguments(self, value: Any, path: Sequence[str] = ()) -> Any:
        return self._at(value, *((*pointer, *path) for pointer in _ARGUMENTS))

    def result(self, value: Any) -> Any:
        return self._at(value, *_RESULT)

    def other(self, value: Any) -> Any:
        """Mask a value without a span attribute, such as an id, by patterns only.

        The members of an object or list are masked one by one.
        """
        if isinstance(value, dict):
            return {name: self._at(inner) for name, inner in value.items()}
        return [self._at(inner) for inner in value] if isinstance(value, list) else self._at(value)

    def error(self, message: Any) -> Any:
        """Mask an error, which may quote a vendor; whole if it was cut, because it may end within a match."""
        is_cut = isinstance(message, str) and message.endswith(CUT) and bool(self.masking.texts)
        return MASK if is_cut else self.other(message)

    def _at(self, value: Any, *pointers: Sequence[str]) -> Any:
        if value is None:
            return None
        try:
            return self.masking.at(value, *pointers, budget=self.budget)
        except RecursionError:
            # The value nests too deeply to be masked in parts, so all of it is masked.
            return MASK
