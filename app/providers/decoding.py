"""Collects the answers of models in a form that can be stored, whatever was sent.

Texts lose what no database accepts (`storable_text`). Arguments that are no JSON, or nest too deeply to be stored as
JSON, stay text. A count is a whole number that fits its column. A value of a wrong type is a `ProviderFailure`.
"""

from __future__ import annotations

import json
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Literal, TypeVar

import orjson

from app.chat import Answer, FinishReason, StreamEvent, Tokens, ToolCall, VendorState
from app.providers.answer_memory import AnswerPart
from app.providers.bounds import check_elements
from app.providers.call_pieces import CallPieces
from app.providers.failures import ProviderFailure
from app.values.json import count_marks
from app.values.storable import storable_text

T = TypeVar("T")

TOKENS_MAX = 2**31 - 1
"""The largest number in a column of counts; a replay adds up the counts of its calls."""
ANSWER_MAX = 6_000_000
"""Bytes of an answer's JSON, escapes included: less than a database accepts in one packet."""
CALLS_MAX = 1000
CALL_ID_MAX = 255
"""Characters of a call's id, as in the history of a run. A longer one is replaced."""
REPORTED_MODEL_MAX = 200
"""Characters of the name of a model that are kept."""

Finish = Literal["stop", "length", "refused"]


@dataclass(slots=True)
class AnswerBuilder:
    """Collects an answer from its pieces; a whole answer is one piece.

    `calls` are the tool calls by their place in the answer. `finish` is None until the vendor has sent the end of the
    answer. `vendor_state` is data that must be sent back to this vendor with the message. `part` counts the memory of
    the texts, if that is limited; it raises `ProviderFailure` if they are too large.
    """

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, CallPieces] = field(default_factory=dict)
    finish: Finish | None = None
    tokens: Tokens = Tokens()
    vendor_state: VendorState = field(default_factory=dict)
    reported_model: str = ""
    part: AnswerPart | None = None
    _characters: int = 0
    _bytes: int = 0
    _elements: int = 0

    def add_text(self, text: str) -> list[StreamEvent]:
        return self._add(self.text, "token", text)

    def add_reasoning(self, text: str) -> list[StreamEvent]:
        return self._add(self.reasoning, "reasoning", text)

    def add_refusal(self, text: str) -> None:
        if text:
            self._count(text)
            self.refusal.append(text)

    def add_arguments(self, call: CallPieces, text: str) -> None:
        """Append a piece of the JSON of a call's arguments; `ProviderFailure` for JSON with too many elements."""
        if text:
            self._count(text)
            self._elements += count_marks(text)
            check_elements(self._elements)
            call.add_arguments(text)

    def call(self, place: int) -> CallPieces:
        """Return the call at a place, a new one where there is none."""
        call = self.calls.setdefault(place, CallPieces())
        if len(self.calls) > CALLS_MAX:
            raise ProviderFailure(f"The answer calls more than {CALLS_MAX} tools at once.")
        return call

    def end(self) -> Answer:
        """Return the answer. Raises `ProviderFailure` when it broke off, or is too large to be stored."""
        if self.finish is None:
            raise ProviderFailure("The answer broke off before its end.", retryable=True, outage=True)
        reason = self._finish_reason(self.finish)
        refusal = storable_text("".join(self.refusal)) or "The vendor's filter stopped this answer."
        answer = replace(
            self.so_far(),
            tool_calls=tuple(self._decoded_calls()),
            finish_reason=reason,
            refusal=refusal if reason == "refused" else None,
            vendor_state=self.vendor_state or None,
        )
        _check_size(answer)
        return answer

    def so_far(self) -> Answer:
        """Return what is written of the answer, without its calls: the last one may lack a part."""
        text, reasoning = (storable_text("".join(texts)) for texts in (self.text, self.reasoning))
        return Answer(text, reasoning=reasoning or None, tokens=self.tokens, reported_model=self.reported_model)

    def _decoded_calls(self) -> Iterator[ToolCall]:
        """Yield the calls in order. A call without an id, with the id of an earlier one or a long one gets another."""
        sent, given = {storable_text(call.id) for call in self.calls.values()}, {""}
        for number, (_, call) in enumerate(sorted(self.calls.items()), 1):
            call_id = storable_text(call.id)
            if call_id in given or len(call_id) > CALL_ID_MAX:
                free = (made for made in _numbered(f"call_{number}") if made not in sent and made not in given)
                call_id = next(free)
            given.add(call_id)
            yield call.decoded(call_id)

    def _finish_reason(self, finish: Finish) -> FinishReason:
        if self.refusal:
            return "refused"
        return "tool_calls" if self.calls and finish == "stop" else finish

    def _add(self, texts: list[str], kind: Literal["token", "reasoning"], text: str) -> list[StreamEvent]:
        if not text:
            return []
        self._count(text)
        texts.append(text)
        return [StreamEvent(kind, storable_text(text))]

    def _count(self, text: str) -> None:
        """Refuse an answer once its text is too large, since a character is a byte or more."""
        self._characters += len(text)
        if self._characters > ANSWER_MAX:
            raise _too_large(f"more than {self._characters - 1}")
        self._bytes += sys.getsizeof(text)
        if self.part and self._bytes > self.part.until:
            self.part.grow(self._bytes)


class Decoder(ABC):
    """Reads one answer of a vendor."""

    def __init__(self) -> None:
        self.answer = AnswerBuilder()

    @abstractmethod
    def read_whole(self, sent: Any) -> None:
        """Read the JSON of an answer that is not streamed."""

    @abstractmethod
    def read_event(self, sent: Any) -> list[StreamEvent]:
        """Read the JSON of an event; return its text as events. Tool calls are whole only when all were read."""

    def read_model(self, sent: Any) -> None:
        """Read the name of the model in the JSON of an answer that is not streamed."""
        named = (sent.get("model") or sent.get("modelVersion")) if isinstance(sent, dict) else None
        if isinstance(named, str):
            self.answer.reported_model = storable_text(named[:REPORTED_MODEL_MAX])

    def read_done(self) -> None:
        """Note that the vendor ended its stream: an answer without a reason of its end is whole, even an empty one."""
        if self.answer.finish is None:
            self.answer.finish = "stop"

    def read_refusal(self, words: str) -> None:
        """Note that the vendor refused to answer, or to go on."""
        self.answer.finish = "refused"
        self.answer.add_refusal(words)

    def rest(self) -> list[StreamEvent]:
        """Return as events what has waited for more; nothing more comes."""
        return []

    def so_far(self) -> Answer:
        """Return what is written of an answer that is not read to its end."""
        self.rest()
        return self.answer.so_far()

    def end(self) -> Answer:
        """Return the answer. Raises `ProviderFailure` when it broke off, or is too large to be stored."""
        self.rest()
        return self.answer.end()


def _check_size(answer: Answer) -> None:
    calls = [(call.id, call.name, call.arguments) for call in answer.tool_calls]
    size = len(orjson.dumps((answer.text, answer.reasoning, answer.refusal, calls)))
    if size > ANSWER_MAX:
        raise _too_large(str(size))


def _too_large(size: str) -> ProviderFailure:
    return ProviderFailure(f"The answer has {size} bytes; {ANSWER_MAX} are the most that can be stored.")


def object_of(value: object) -> dict[str, Any]:
    """Return an object of an answer, `{}` for null. Raises `ProviderFailure` for another type."""
    return _checked(value, dict, {})


def list_of(value: object) -> list[Any]:
    """Return a list of an answer, `[]` for null. Raises `ProviderFailure` for another type."""
    return _checked(value, list, [])


def text_of(value: object) -> str:
    """Return a text of an answer, `""` for null. Raises `ProviderFailure` for another type."""
    return _checked(value, str, "")


def _checked(value: object, expected: type[T], empty: T) -> T:
    if value is None:
        return empty
    if not isinstance(value, expected):
        raise ProviderFailure(f"The answer has a {type(value).__name__} where a {expected.__name__} belongs.")
    return value


def count_of(value: object) -> int:
    """Return a count of an answer, from 0 to `TOKENS_MAX`; 0 for what is no number."""
    if isinstance(value, float) and not math.isnan(value):
        value = min(value, TOKENS_MAX)
        value = int(max(value, 0))
    return min(max(value, 0), TOKENS_MAX) if type(value) is int else 0


def arguments_text(arguments: object) -> str:
    """Return the arguments of a call as text; some servers send the object itself."""
    if isinstance(arguments, dict | list):
        return json.dumps(arguments)
    return text_of(arguments)


def _numbered(text: str) -> Iterator[str]:
    yield text
    yield from (f"{text}_{number}" for number in count(2))
