"""Says when an answer can't be used as it was asked for (decisions.md §7); pure."""

from __future__ import annotations

from typing import Any

import jsonschema
import orjson
import referencing
import referencing.exceptions

from app.chat import Answer
from app.providers.types import ModelConfig
from app.services.runs.schema_checks import TooMuch, bounded


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
    """How the value breaks the schema. An empty registry: no schema may send us to the network."""
    schema = schema or {}
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
        validator = bounded(kind, schema)(schema, registry=referencing.Registry())
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    except jsonschema.SchemaError as wrong:
        return f"json_schema is not a valid JSON Schema: {wrong.message}"
    except TooMuch:
        return "json_schema takes too many steps to check"
    except (referencing.exceptions.Unresolvable, RecursionError) as wrong:
        return f"json_schema can't be resolved: {wrong}"
    return f"the answer breaks json_schema at {error.json_path}: {error.message[:500]}" if error else None
