"""Decides whether a request of HTTP only reads: one with a safe method (RFC 9110, 9.2.1) that names no action."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from app.replay.graphql import graphql_reads
from app.replay.tables import words
from app.replay.text_kinds import LONGEST
from app.replay.texts.sources import json_of
from app.replay.tool_names import ACTING_VERBS, ACTION_WORDS, READING, begins_acting, words_of_name
from app.values.unicode import is_stream_safe

_SAFE, _UNSAFE = words("requests", "safe"), words("requests", "unsafe")
METHOD_KEYS, ADDRESS, BODY = (words("requests", name) for name in ("method", "address", "body"))
PARAMETERS, HEADERS, _ACTION = (words("requests", name) for name in ("parameters", "headers", "action"))
_HARMLESS_KEYS = METHOD_KEYS | ADDRESS | BODY | PARAMETERS | HEADERS | words("requests", "harmless")
_RISKY_KEYS = words("keys", "risky")
_SEPARATORS = re.compile(r"[/.;:]")
_GRAPHQL_KEYS = frozenset(("query", "variables", "operationName"))


def request_reads(keys: Mapping[str, str], arguments: Mapping[str, Any], *, runs_only: bool) -> bool | None:
    """Return whether a request of HTTP only reads; None for a call without a request.

    It is also None for a POST to an address such as `/search`, of which the name of the tool has to decide.

    `keys` are those of the arguments in lower case. If the tool `runs_only` what the caller writes, other arguments,
    such as a tenant, make no difference unless they are sent or written.
    """
    methods = [arguments[key] for key, lower in keys.items() if lower in METHOD_KEYS]
    addresses = [arguments[key] for key, lower in keys.items() if lower in ADDRESS]
    if not methods and _is_sent_within(arguments):
        return False
    if not methods or not addresses or not all(isinstance(method, str) for method in methods):
        return None
    names = {method.lower() for method in methods}
    if not names <= _SAFE | _UNSAFE:
        return None
    if not all(isinstance(address, str) and 0 < len(address) <= LONGEST for address in addresses):
        return False
    others = [(lower, arguments[key]) for key, lower in keys.items()]
    is_plain = _RISKY_KEYS.isdisjoint(keys.values()) if runs_only else _HARMLESS_KEYS.issuperset(keys.values())
    if not is_plain or not _adds_nothing(others):
        return False
    bodies = [value for lower, value in others if lower in BODY and value]
    if names <= _SAFE:
        return not bodies and not any(map(address_acts, addresses))
    if names != {"post"}:
        return False
    last = words_of_name(_path(addresses[-1]).rstrip("/").rpartition("/")[2])
    if last[:1] == ["graphql"]:
        return len(bodies) == 1 and _is_query(bodies[0])
    return None if last and last[0] in READING else False


def _is_sent_within(arguments: Mapping[str, Any]) -> bool:
    """Return whether the options of a call, as those of `fetch(url, options)`, have a method that is not safe."""
    options = [value for value in arguments.values() if isinstance(value, dict)]
    methods = [part[key] for part in options for key in part if key.lower() in METHOD_KEYS]
    return any(isinstance(method, str) and method.lower() in _UNSAFE for method in methods)


def split_address(address: str) -> SplitResult:
    """Return the parts of an address; ValueError for what is none, and for too many combining marks in a row.

    The standard library normalizes a host as a whole, which is quadratic in such marks.
    """
    if not is_stream_safe(address):
        raise ValueError("Too many combining marks")
    return urlsplit(address)


def _adds_nothing(arguments: Sequence[tuple[str, Any]]) -> bool:
    """Return whether neither parameters nor headers name an action or another method."""
    return all(
        pairs is not None and not any(is_acting(name, value) for name, value in pairs)
        for keys, is_acting in ((PARAMETERS, _parameter_acts), (HEADERS, header_acts))
        for pairs in (_pairs(value) for lower, value in arguments if lower in keys)
    )


def _pairs(value: Any) -> list[tuple[str, str]] | None:
    """Return the names and values of parameters or headers; None for what is neither an object nor a text."""
    if not value:
        return []
    if isinstance(value, str):
        return parse_qsl(value.replace(":", "=").replace("\n", "&"), keep_blank_values=True) or None
    if not isinstance(value, dict):
        return None
    return [(name, inner if isinstance(inner, str) else "") for name, inner in value.items()]


def header_acts(name: str, _value: str = "") -> bool:
    """Return whether a header names another method, as `X-HTTP-Method-Override` does."""
    return "method" in name.lower()


def _parameter_acts(name: str, value: str) -> bool:
    named = name.lower().partition("[")[0]
    if "method" in named and value.lower() in _UNSAFE:  # `x-http-method-override`
        return True
    acting = ACTION_WORDS.intersection(words_of_name(value)[:1]) if named in _ACTION else ()
    return bool(acting) or named in ACTING_VERBS


def address_acts(address: str) -> bool:
    """Return whether a segment of the path or a parameter is, or begins with, a word for an action.

    An address of another protocol, such as gopher, may send anything.
    """
    try:
        parts = split_address(address)
        parameters = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return True
    return (
        parts.scheme not in ("", "http", "https")
        or any(map(begins_acting, _SEPARATORS.split(_path(address))))
        or any(_parameter_acts(name, value) for name, value in parameters)
    )


def _path(address: str) -> str:
    try:
        return unquote(split_address(address).path)
    except ValueError:
        return ""


def _is_query(body: Any) -> bool:
    sent = json_of(body) if isinstance(body, str) else body
    query = sent.get("query") if isinstance(sent, dict) and _GRAPHQL_KEYS.issuperset(sent) else None
    return isinstance(query, str) and graphql_reads(query)
