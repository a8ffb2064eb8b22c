"""Phoenix: spans as its REST API lists them, and as its client's data frame writes them with `to_json`.

Both hold what an instrumentation of OpenInference sent: its attributes are restored under their own names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprise_formats.importers.spans import ImportedSpan, Unreadable, in_json, object_in, required, text
from reprise_formats.importers.times import nanoseconds

_COLUMN = "attributes."
_KIND = "openinference.span.kind"
# Far more than a span of a long conversation has.
_ATTRIBUTES_MAX = 100_000
# Characters of the names of objects, counted for each of their members, which repeat them.
_NAMES_MAX = 8_000_000


def convert(record: Mapping[str, Any], at_ns: int) -> list[ImportedSpan]:
    """Return the one span of a record."""
    context = {**record, **object_in(record.get("context"))}
    start_ns = nanoseconds(record.get("start_time")) or at_ns
    attributes = dict(_flat(_recorded(record)))
    attributes.setdefault(_KIND, text(record.get("span_kind")))
    failed = record.get("status_code") == "ERROR"
    return [
        ImportedSpan(
            required(context, "trace_id", "context.trace_id"),
            required(context, "span_id", "context.span_id"),
            text(record.get("parent_id")),
            text(record.get("name")) or "span",
            start_ns,
            nanoseconds(record.get("end_time")) or start_ns,
            attributes,
            (text(record.get("status_message")) or "") if failed else None,
        )
    ]


def _recorded(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of an object, or of a data frame's columns, with null for empty cells."""
    columns = {key[len(_COLUMN) :]: value for key, value in record.items() if key.startswith(_COLUMN)}
    return {**object_in(record.get("attributes")), **columns}


def _flat(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield `llm.input_messages.0.message.role` for what is nested in objects and in lists of objects."""
    waiting: list[tuple[str, Any]] = list(attributes.items())
    left = _NAMES_MAX
    for _ in range(_ATTRIBUTES_MAX):
        if not waiting:
            return
        name, value = waiting.pop()
        inner = _members(in_json(value) if name == "metadata" else value)
        if inner is None:
            yield name, value
        else:
            left -= len(name) * len(inner)
            if left < 0:
                raise Unreadable(f"has names of attributes with more than {_NAMES_MAX} characters")
            waiting += [(f"{name}.{key}", item) for key, item in inner]
    raise Unreadable(f"has more than {_ATTRIBUTES_MAX} attributes")


def _members(value: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return list(enumerate(value))
    return None
