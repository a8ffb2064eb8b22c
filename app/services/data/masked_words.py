"""Masks what is said in calls of models, in runs and in replays, as it is masked in the spans of such calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.otlp.mask_texts import Budget
from app.otlp.masking import EVERY, MASK, Masking

# Where a span has it (OpenTelemetry's conventions for GenAI), so that the same pointers mean the same.
_INSTRUCTION = ("gen_ai.system_instructions", EVERY, "content")
_ASKED = ("gen_ai.input.messages", EVERY, "parts", EVERY, "content")
_ANSWERED = ("gen_ai.output.messages", EVERY, "parts", EVERY, "content")
_ARGUMENTS = (("gen_ai.tool.call.arguments",), ("gen_ai.output.messages", EVERY, "parts", EVERY, "arguments"))
_RESULT = (("gen_ai.tool.call.result",), ("gen_ai.input.messages", EVERY, "parts", EVERY, "response"))


@dataclass(frozen=True, slots=True)
class MaskedWords:
    """Each method takes what was said, None for nothing; `path` leads to a part of it, as a pointer's tokens do.

    All that one run or replay says is masked within one budget.
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
        return self._at(value, *((*place, *path) for place in _ARGUMENTS))

    def result(self, value: Any) -> Any:
        return self._at(value, *_RESULT)

    def other(self, value: Any) -> Any:
        """What has no place of its own in a span, such as errors: patterns alone are searched in it.

        An object or list stays one, whatever has to be masked whole in it.
        """
        if isinstance(value, dict):
            return {name: self._at(inner) for name, inner in value.items()}
        return [self._at(inner) for inner in value] if isinstance(value, list) else self._at(value)

    def _at(self, value: Any, *places: Sequence[str]) -> Any:
        if value is None:
            return None
        try:
            return self.masking.at(value, *places, budget=self.budget)
        except RecursionError:
            # What nests too deeply to be looked into: better nothing of it than the wrong part.
            return MASK
