"""Masks the messages of model calls in runs and replays by the same rules as spans of such calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.otlp.mask_texts import Budget
from app.otlp.masking import EVERY, MASK, Masking

# Attributes of a span that hold them (OpenTelemetry's GenAI conventions), so that JSON pointers apply to both.
_INSTRUCTION = ("gen_ai.system_instructions", EVERY, "content")
_ASKED = ("gen_ai.input.messages", EVERY, "parts", EVERY, "content")
_ANSWERED = ("gen_ai.output.messages", EVERY, "parts", EVERY, "content")
_ARGUMENTS = (("gen_ai.tool.call.arguments",), ("gen_ai.output.messages", EVERY, "parts", EVERY, "arguments"))
_RESULT = (("gen_ai.tool.call.result",), ("gen_ai.input.messages", EVERY, "parts", EVERY, "response"))


@dataclass(frozen=True, slots=True)
class MaskedWords:
    """Each method masks a value, which may be None; `path` has the pointer tokens that lead to a part of a message.

    All messages of a run or replay are masked within one budget.
    """

    masking: Masking
    budget: Budget = field(default_factory=Budget)

    def instruction(self, text: str | None) -> Any:
        return self._at(text, _INSTRUCTION)

    def asked(self, text: str | None) -> Any:
        return self._at(text, _ASKED)

    def answered(self, value: Any, path: Sequence[str] = ()) -> Any:
        return self._at(value, (*_ANSWERED, *path))

    def arguments(self, value: Any, path: Sequence[str] = ()) -> Any:
        return self._at(value, *((*pointer, *path) for pointer in _ARGUMENTS))

    def result(self, value: Any) -> Any:
        return self._at(value, *_RESULT)

    def other(self, value: Any) -> Any:
        """Mask a value that no span attribute holds, such as an error, by patterns alone.

        An object or list stays one; its members are masked one by one.
        """
        if isinstance(value, dict):
            return {name: self._at(inner) for name, inner in value.items()}
        return [self._at(inner) for inner in value] if isinstance(value, list) else self._at(value)

    def _at(self, value: Any, *pointers: Sequence[str]) -> Any:
        if value is None:
            return None
        try:
            return self.masking.at(value, *pointers, budget=self.budget)
        except RecursionError:
            # The value nests too deeply to be masked in parts, so it is masked as a whole.
            return MASK
