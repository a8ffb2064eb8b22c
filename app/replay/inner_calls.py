"""Finds the call in the arguments of a tool that calls other tools, and the operation of a tool that has several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.replay.http_requests import METHOD_KEYS
from app.replay.tables import words
from app.replay.texts.sources import json_of
from app.replay.tool_names import effect_of_name, words_of_name

_TOOL, _ARGUMENTS, _RPC_READS = (words("requests", name) for name in ("tool", "arguments", "rpc_reads"))
_OPERATION, _OPERATIONS, _MORE = (words("requests", name) for name in ("operation", "operations", "more"))
OPERATION = "operation"
OPERATION_KEYS = _OPERATION | {"command"}
_MODEL_READS, _OF_MODEL = words("requests", "model_reads"), words("requests", "of_model")
_LONGEST = 200  # characters of the name of an operation

InnerCall = tuple[str, Any]
"""The name of the inner tool and its arguments."""


def inner_call(keys: Mapping[str, str], arguments: Mapping[str, Any]) -> InnerCall | None:
    """Return the call that JSON-RPC, MCP, gRPC or a tool for all tools hands over; None for other arguments.

    `keys` are those of the arguments in lower case.
    """
    known = {lower: arguments[key] for key, lower in keys.items()}
    if len(known) < len(keys):  # two spellings of a key
        return None
    method = known.get("method")
    if isinstance(method, str) and (method == "tools/call" or "jsonrpc" in known):
        return _of_rpc(method, known.get("params"))
    named = _TOOL | ({"rpc"} | METHOD_KEYS if "service" in known else frozenset())
    inner = [value for lower, value in known.items() if lower in _ARGUMENTS]
    names = [value for lower, value in known.items() if lower in named]
    if not names and inner:
        names = [value for lower, value in known.items() if lower == "name"]
    if len(names) != 1 or not isinstance(names[0], str) or len(inner) > 1:
        return None
    return names[0], _decoded(inner[0]) if inner else {}


def operation_reads(keys: Mapping[str, str], arguments: Mapping[str, Any]) -> bool:
    """Return whether a call names one operation, which reads, and hands over nothing with which it may do more."""
    operations = [arguments[key] for key, lower in keys.items() if lower in _OPERATION]
    if len(operations) != 1 or not isinstance(operations[0], str) or len(operations[0]) > _LONGEST:
        return False
    words_of_it = words_of_name(operations[0])
    reads = words_of_it[:1] == words_of_it or effect_of_name(operations[0]) == "read"
    more = _MORE | {"status"} if words_of_it[:1] == ["status"] else _MORE  # a status with a value may set it
    is_more = any(lower in more and arguments[key] for key, lower in keys.items())
    return reads and not _OPERATIONS.isdisjoint(words_of_it[:1]) and not is_more


def model_reads(keys: Mapping[str, str], arguments: Mapping[str, Any]) -> bool:
    """Return whether a call names a model and one of the methods with which Odoo's models are read."""
    known = {lower: arguments[key] for key, lower in keys.items()}
    is_call = isinstance(known.get("model"), str) and known.keys() <= _OF_MODEL
    return is_call and isinstance(method := known.get("method"), str) and method in _MODEL_READS


def _of_rpc(method: str, params: Any) -> InnerCall | None:
    if method in _RPC_READS:
        return "list", {}
    if method != "tools/call":
        return method, params
    name = params.get("name") if isinstance(params, dict) else None
    return (name, _decoded(params.get("arguments"))) if isinstance(name, str) else None


def _decoded(value: Any) -> Any:
    return json_of(value) if isinstance(value, str) else value
