"""What a trace records of an agent itself: its instruction, tools, model and parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from app.sessions.build import offered_tools
from app.sessions.fidelity import instruction_of
from app.sessions.spans import RawSpan, Records, TurnSpan, read_turn
from app.values.json import json_container

TRACES_MAX, BYTES_MAX = 20, 4 * 1024 * 1024
"""The most traces of a batch, and bytes of their spans, that are looked at."""
# The names of a prompt's parameters, and of the recorded attributes and fields that have them.
_PARAMETERS = {
    "temperature": ("temperature",),
    "top_p": ("top_p", "topP"),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxTokens", "maxOutputTokens"),
    "seed": ("seed",),
    "stop": ("stop_sequences", "stop", "stopSequences"),
}
# Attributes that have all parameters as JSON.
_TOGETHER = ("llm.invocation_parameters", "model_request_parameters")
# Names of the format of answers, values of it that mean JSON, and names of a schema next to it.
_FORMATS = (
    "response_format",
    "gen_ai.openai.request.response_format",
    "gen_ai.request.response_format",
    "gen_ai.output.type",
    "response_mime_type",
    "responseMimeType",
)
_JSON = frozenset({"json", "json_object", "json_schema", "application/json"})
_SCHEMAS = ("response_schema", "responseSchema", "response_json_schema", "gen_ai.request.structured_output_schema")
_PREFIXES = ("gen_ai.request.", "llm.request.", "ai.settings.")


@dataclass(frozen=True, slots=True)
class RecordedAgent:
    """An agent as a trace shows it. `tools` are definitions.

    `parameters` and `response_format` have names of a prompt's configuration.
    """

    instruction: str
    model: str | None = None
    tools: tuple[dict[str, Any], ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    response_format: dict[str, Any] = field(default_factory=dict)


def recorded_agent(spans: Iterable[RawSpan], records: Records = MappingProxyType({})) -> RecordedAgent | None:
    """Return the agent of the first trace that records an instruction; None if none of those looked at does.

    `records` are the log records of spans, by their keys.
    """
    traces: dict[bytes, list[RawSpan]] = defaultdict(list)
    left = BYTES_MAX
    for span in spans:
        left -= len(span.raw)
        if left < 0 or (span.trace_id not in traces and len(traces) == TRACES_MAX):
            break
        traces[span.trace_id].append(span)
    for trace in traces.values():
        turn = read_turn(trace, None, records)
        if instruction := instruction_of(turn, typed=False):
            return _agent(instruction, turn)
    return None


def _agent(instruction: str, turn: list[TurnSpan]) -> RecordedAgent:
    chats = [span for span in turn if span.normal.is_chat]
    model = next((span.normal.model for span in chats if span.normal.model), None)
    requested = next((named for span in chats if (named := span.full.attributes.get("gen_ai.request.model"))), model)
    tools = tuple(tool for tool in offered_tools(turn) or () if isinstance(tool, dict))
    sources = _sources(chats[0].full.attributes) if chats else []
    name = requested if isinstance(requested, str) else model
    return RecordedAgent(instruction, name, tools, _parameters(sources), _response_format(sources))


def _sources(attributes: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    together = (json_container(attributes[name]) for name in _TOGETHER if name in attributes)
    return [attributes, *(source for source in together if isinstance(source, dict))]


def _response_format(sources: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the recorded format of answers: JSON, with its schema if that is recorded; {} for text."""
    for source in sources:
        recorded = next((source[key] for key in _FORMATS if source.get(key) is not None), None)
        text = json_container(source.get("text"))  # OpenAI's Responses have the format in `text`
        recorded = text.get("format") if recorded is None and isinstance(text, dict) else recorded
        asked = json_container(recorded)
        asked = asked if isinstance(asked, dict) else {"type": recorded}
        within = asked.get("json_schema")
        schema = within.get("schema") if isinstance(within, dict) else asked.get("schema")
        schema = schema or next((json_container(source[key]) for key in _SCHEMAS if source.get(key)), None)
        if isinstance(schema, dict):
            return {"response_format": "json_schema", "json_schema": schema}
        if isinstance(kind := asked.get("type"), str) and kind in _JSON:
            return {"response_format": "json_object"}
    return {}


def _parameters(sources: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for parameter, names in _PARAMETERS.items():
        keys = [*(prefix + name for prefix in _PREFIXES for name in names), *names]
        values = (source[key] for source in sources for key in keys if source.get(key) is not None)
        if (value := next(values, None)) is not None:
            parameters[parameter] = value
    return parameters
