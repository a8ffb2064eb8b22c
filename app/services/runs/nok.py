"""Says when an answer can't be used as it was asked for (decisions.md §7); pure."""

from __future__ import annotations

from typing import Any

import orjson

from app.chat import Answer
from app.json_schema.check import STEPS_MAX, breach_of, schema_breach
from app.json_schema.references import Unresolvable
from app.meter import Meter, TooMuch
from app.providers.types import ModelConfig

MESSAGE_MAX = 500


def nok_status(answer: Answer, config: ModelConfig) -> str | None:
    """`NOK: <reason>`, or None when all went well."""
    reason = _reason(answer, config)
    return f"NOK: {reason}" if reason else None


def _reason(answer: Answer, config: ModelConfig) -> str | None:
    if answer.finish_reason == "refused":
        return f"the model refused to answer: {answer.refusal}" if answer.refusal else "the model refused to answer"
    if answer.finish_reason == "length":
        limit = "" if config.max_tokens is None else f" ({config.max_tokens})"
        return f"the answer was cut off at max_tokens{limit}"
    if answer.tool_calls or config.response_format in (None, "text"):
        return None
    try:
        value = orjson.loads(answer.text.encode("utf-8", "replace"))
    except orjson.JSONDecodeError as error:
        return f"the answer is not JSON: {error}"
    return _breach(value, config.json_schema) if config.response_format == "json_schema" else None


def _breach(value: Any, schema: dict[str, Any] | None) -> str | None:
    """How the value breaks the schema; one budget serves for the schema and for the value."""
    meter = Meter(STEPS_MAX)
    try:
        if wrong := schema_breach(schema or {}, meter):
            return f"json_schema is not a valid JSON Schema: {wrong.message()[:MESSAGE_MAX]}"
        breach = breach_of(schema or {}, value, meter)
        return (
            f"the answer breaks json_schema at {breach.json_path}: {breach.message()[:MESSAGE_MAX]}" if breach else None
        )
    except TooMuch:
        return "json_schema takes too many steps to check"
    except (Unresolvable, RecursionError) as problem:
        return f"json_schema can't be resolved: {problem}"
