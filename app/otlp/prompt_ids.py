"""The prompt that a span belongs to, and the rejection of spans that name none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from app.otlp.names import MAX_PROMPT_NAME, PROMPT_ID, PROMPT_NAME, text_of
from app.otlp.span import MAX_ID, Code, Raw, Rejection, WireSpan, shown, unknown_prompt_reason
from app.otlp.values import MAX_INT64, attributes, integer, plain_integer, raw_value
from app.values.json import parse_json

_SDK_ATTRIBUTE_LIMIT = 128


class BadSpan(Exception):
    """Raised for a span that is rejected; the rest of the batch is stored."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.reason)
        self.rejection = rejection


class ResourceAttributes:
    """The resource of a group of spans. It is decoded at most once, and only to explain a rejection."""

    def __init__(self, raw: Raw) -> None:
        self._raw = raw

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    @cached_property
    def _keys(self) -> frozenset[str]:
        try:
            resource = parse_json(bytes(self._raw))
        except ValueError:
            return frozenset()
        return frozenset(attributes(resource.get("attributes"))) if isinstance(resource, dict) else frozenset()


NO_RESOURCE = ResourceAttributes(Raw(b"null"))


def prompt_of(
    wire: WireSpan, values: Mapping[str, Any], resource: ResourceAttributes, default_id: int | None
) -> tuple[int, str]:
    """Return the id of a span's prompt and "", or 0 and the name of the prompt that it names."""
    recorded = values.get(PROMPT_ID)
    value = plain_integer(recorded)
    if value is not None and 0 < value <= MAX_INT64:
        return value, ""
    if value is not None:
        raise bad_span(wire, "unknown_prompt", unknown_prompt_reason(str(value)))
    if PROMPT_ID not in values:
        if default_id is not None:
            return default_id, ""
        if name := text_of(values.get(PROMPT_NAME)):
            return 0, name[: MAX_PROMPT_NAME + 1]
        raise _missing_prompt_id(wire, resource)
    reason = f"{PROMPT_ID} must be an integer (or its digits as a string), not {shown(repr(recorded))}"
    raise bad_span(wire, "bad_prompt_id", reason)


def _named_prompt_id(wire: WireSpan) -> int | None:
    """Return the id of the prompt that a span names. The span is rejected for another reason."""
    prompt_ids = (plain_integer(raw_value(pair.value)) for pair in wire.attributes or () if pair.key == PROMPT_ID)
    value = next(prompt_ids, None)
    return value if value is not None and 0 < value <= MAX_INT64 else None


def _missing_prompt_id(wire: WireSpan, resource: ResourceAttributes) -> BadSpan:
    if PROMPT_ID in resource:
        reason = f"{PROMPT_ID} is only on the resource; set it as an attribute of each span"
        return bad_span(wire, "prompt_id_on_resource", reason)
    if len(wire.attributes or ()) >= _SDK_ATTRIBUTE_LIMIT or (integer(wire.droppedAttributesCount) or 0) > 0:
        reason = (
            f"{PROMPT_ID} is missing, probably cut by the SDK's limit of {_SDK_ATTRIBUTE_LIMIT} attributes; "
            "raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT (Python's SDK drops the attributes that were set first)"
        )
        return bad_span(wire, "prompt_id_cut", reason)
    reason = f"attribute {PROMPT_ID} is missing; set it, or {PROMPT_NAME}, on each span"
    return bad_span(wire, "missing_prompt_id", reason)


def bad_span(wire: WireSpan, code: Code, reason: str) -> BadSpan:
    """Return the rejection of a span, for the caller to raise."""
    ids = ((wire.traceId or "")[:MAX_ID], (wire.spanId or "")[:MAX_ID])
    return BadSpan(Rejection(*ids, shown(wire.name or ""), code, reason, _named_prompt_id(wire)))
