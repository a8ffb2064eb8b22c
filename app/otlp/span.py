"""A span in three forms: as exporters send it, as ingest stores it, and as rejected.

The sent form is typed for speed and ignores unknown fields. Each rejection has a reason that explains what to change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from app.values.json import parse_json
from app.values.storable import cut
from app.values.structs import decoder

Raw = msgspec.Raw
MAX_SCOPE = 255
_NOTHING = Raw(b"null")


class ScopeSpans(msgspec.Struct, gc=False):
    scope: Raw = _NOTHING
    spans: list[Raw] | None = None


class ResourceSpans(msgspec.Struct, gc=False):
    resource: Raw = _NOTHING
    scopeSpans: list[ScopeSpans] | None = None  # noqa: N815 - the wire's own names


class SpansExport(msgspec.Struct, gc=False):
    resourceSpans: list[ResourceSpans] | msgspec.UnsetType | None = msgspec.UNSET  # noqa: N815


class WireAttribute(msgspec.Struct, gc=False):
    key: str
    value: Raw = _NOTHING


class WireStatus(msgspec.Struct, gc=False):
    code: int | str | None = None


class WireSpan(msgspec.Struct, gc=False):
    """A span with the types that exporters send; one that fails here is read by `lenient_span`."""

    traceId: str | None = None  # noqa: N815
    spanId: str | None = None  # noqa: N815
    parentSpanId: str | None = None  # noqa: N815
    name: str | None = None
    startTimeUnixNano: int | float | str | None = None  # noqa: N815
    endTimeUnixNano: int | float | str | None = None  # noqa: N815
    attributes: list[WireAttribute] | None = None
    droppedAttributesCount: int | float | str | None = None  # noqa: N815
    status: WireStatus | None = None


decode_span = decoder(WireSpan)


def scope_name(scope: Raw) -> str:
    """Return the instrumentation scope's name, "" where there is none."""
    try:
        fields = parse_json(bytes(scope))
    except ValueError:
        return ""
    name = fields.get("name") if isinstance(fields, dict) else None
    return name[:MAX_SCOPE] if isinstance(name, str) else ""


_TEXTS = ("traceId", "spanId", "parentSpanId", "name")
_SCALARS = ("startTimeUnixNano", "endTimeUnixNano", "droppedAttributesCount")


def lenient_span(fields: dict[str, Any]) -> WireSpan:
    """Return a span of which some field has a wrong type: each field that is right on its own is kept."""
    status, pairs = fields.get("status"), fields.get("attributes")
    return WireSpan(
        **{name: fields[name] for name in _TEXTS if isinstance(fields.get(name), str)},
        **{name: fields[name] for name in _SCALARS if type(fields.get(name)) in (int, float, str)},
        attributes=[
            WireAttribute(pair["key"], Raw(msgspec.json.encode(pair.get("value"))))
            for pair in (pairs if isinstance(pairs, list) else ())
            if isinstance(pair, dict) and isinstance(pair.get("key"), str)
        ],
        status=WireStatus(status.get("code")) if isinstance(status, dict) else None,
    )


class Span(msgspec.Struct, frozen=True, gc=False):
    """A valid span of a batch. Times are Unix nanoseconds within int64, `end_ns` never before `start_ns`.

    `raw` is the span's own JSON object, UTF-8: all of its content that the database must keep. It is a part of the
    batch, not a copy, so that a large batch is in memory once. `attributes` decode lazily. `failed` is true if the
    span's status is an error. The lower `conversation_rank` is, the better is the attribute that `conversation_id`
    comes from. A span that names its prompt by a `prompt_name` has the `prompt_id` 0 until the name is looked up.
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes | None
    name: str
    scope: str
    start_ns: int
    end_ns: int
    prompt_id: int
    conversation_id: str | None
    raw: memoryview
    attributes: Mapping[str, Any]
    failed: bool
    conversation_rank: int = 0
    prompt_name: str = ""


Code = Literal[
    "malformed_span",
    "bad_trace_id",
    "bad_span_id",
    "no_name",
    "no_start_time",
    "bad_attributes",
    "missing_prompt_id",
    "prompt_id_on_resource",
    "prompt_id_cut",
    "bad_prompt_id",
    "unknown_prompt",
    "too_large",
    "clock_ahead",
    "clock_behind",
    "batch_400",
    "batch_403",
    "batch_404",
    "batch_405",
    "batch_413",
    "batch_415",
    "batch_429",
]

MAX_SHOWN = 100
"""Characters kept of a value that came from outside."""
MAX_ID = 64
"""Characters of an id that a rejection keeps."""
_MAX_NAMED = 3
_MAX_GROUPS = 10


@dataclass(frozen=True, slots=True)
class Rejection:
    """One span that was not stored, or one batch; ids and name as they came (shortened), for people to find it.

    `prompt_id` is the one that the span or the path named, of any project; None where neither named one. The name of a
    batch is its path.
    """

    trace_id: str
    span_id: str
    name: str
    code: Code
    reason: str
    prompt_id: int | None = None


def with_prompts_of_names(
    spans: Iterable[Span], prompt_ids: Mapping[str, Sequence[int]]
) -> tuple[list[Span], list[Rejection]]:
    """Return spans with the prompt that they name, and reject those with a name that is not exactly one prompt's.

    `prompt_ids` has the prompts of the key's project by name.
    """
    kept: list[Span] = []
    rejected: list[Rejection] = []
    for span in spans:
        ids = prompt_ids.get(span.prompt_name, ())
        if not span.prompt_name:
            kept.append(span)
        elif len(ids) == 1:
            kept.append(replace(span, prompt_id=ids[0]))
        else:
            rejected.append(_rejection(span, "unknown_prompt", _name_reason(span.prompt_name, len(ids))))
    return kept, rejected


def _name_reason(name: str, count: int) -> str:
    prompts = "several prompts have" if count else "no prompt has"
    return (
        f"in this API key's project {prompts} the name {shown(name)} of gen_ai.prompt.name; "
        "set service.prompt.id to the id of one prompt"
    )


def reject_unknown_prompts(spans: Iterable[Span], known: Set[int]) -> tuple[list[Span], list[Rejection]]:
    """Split spans into those of a prompt in `known` (the ids of the key's project) and the others."""
    kept: list[Span] = []
    rejected: list[Rejection] = []
    for span in spans:
        if span.prompt_id in known:
            kept.append(span)
        else:
            rejected.append(_rejection(span, "unknown_prompt", unknown_prompt_reason(str(span.prompt_id))))
    return kept, rejected


def too_large(span: Span, limit: int) -> Rejection:
    """Return the rejection of a span with more than `limit` bytes."""
    reason = (
        f"the span is larger than {limit} bytes; limit the length of its attributes "
        "(OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT)"
    )
    return _rejection(span, "too_large", reason)


def clock_ahead(span: Span, ahead_s: int) -> Rejection:
    """Return the warning on a stored span that begins in the future."""
    reason = (
        f"the span is stored, but it begins {ahead_s} s in the future: set the clock of the computer that sends it; "
        "until then its session is listed before newer ones"
    )
    return _rejection(span, "clock_ahead", reason)


def clock_behind(span: Span, behind_s: int) -> Rejection:
    """Return the warning on a stored span that arrived late, as those of earlier batches did."""
    reason = (
        f"the span is stored, but it ended {behind_s} s before it arrived, and earlier batches had the same delay: set "
        "the clock of the computer that sends it; until then its session is listed after older ones"
    )
    return _rejection(span, "clock_behind", reason)


def _rejection(span: Span, code: Code, reason: str) -> Rejection:
    prompt_id = span.prompt_id or None
    return Rejection(span.trace_id.hex(), span.span_id.hex(), shown(span.name), code, reason, prompt_id)


def unknown_prompt_reason(prompt_id: str) -> str:
    """Return why a span is rejected: its prompt does not exist in the key's project."""
    return (
        f"service.prompt.id {shown(prompt_id)} is no prompt of this API key's project; "
        "use the id of one of its prompts, or a key of the prompt's project"
    )


def explain(rejections: Sequence[Rejection]) -> str:
    """Return one message of bounded length: each reason with its count and the first few spans ("" for none)."""
    groups: dict[str, list[Rejection]] = defaultdict(list)
    for rejection in rejections:
        groups[rejection.reason].append(rejection)
    ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
    parts = [_explain_group(reason, members) for reason, members in ranked[:_MAX_GROUPS]]
    if len(ranked) > _MAX_GROUPS:
        rest = sum(len(members) for _, members in ranked[_MAX_GROUPS:])
        parts.append(f"{span_count(rest)} for other reasons")
    return "; ".join(parts)


def _explain_group(reason: str, members: list[Rejection]) -> str:
    names = ", ".join(f'"{member.name}" ({member.span_id or "no id"})' for member in members[:_MAX_NAMED])
    more = f" and {len(members) - _MAX_NAMED} more" if len(members) > _MAX_NAMED else ""
    return f"{span_count(len(members))} rejected: {reason} [{names}{more}]"


def span_count(number: int) -> str:
    return "1 span" if number == 1 else f"{number} spans"


def shown(value: object) -> str:
    """Return a value from outside as short text."""
    text = value if isinstance(value, str) else str(value)
    return cut(text, MAX_SHOWN)
