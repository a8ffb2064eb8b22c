"""Protobuf gives the spans that JSON gives, and what is made to cost much is refused before it does."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.internal import api_implementation
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid, TooLarge
from app.otlp import decode_protobuf as decoding
from app.otlp.decode import LARGE_BYTES, Decoded, decode
from app.otlp.decode_protobuf import decode_protobuf
from app.otlp.protobuf import ITEM_ELEMENTS_MAX, Elements
from app.otlp.span import Span
from app.services.ingest.turns import parts_of
from app.sessions.build import build_session
from app.sessions.spans import read_span
from tests.support.exports import SPAN_ID, export, span
from tests.support.protobuf import in_range, traces
from tests.unit.otlp.test_wire import field

DATA = Path(__file__).parents[2] / "data" / "otlp"
RECORDED = sorted(path.name for path in DATA.glob("*.json") if path.name != "expected.json")
PROMPT = 9


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def in_an_export(*spans: bytes) -> bytes:
    """An export of spans that are bytes."""
    return field(1, field(2, b"".join(field(2, one) for one in spans)))


def content_of(body: bytes) -> bytes:
    """The first span of an export."""
    (_, content), *_ = decoding.items(body)
    return bytes(content)


def facts(found: Span) -> tuple[Any, ...]:
    """All fields of a span, but the form that it is stored in."""
    return (
        *(found.trace_id, found.span_id, found.parent_span_id, found.name, found.scope, found.start_ns, found.end_ns),
        *(found.prompt_id, found.conversation_id, found.failed, dict(found.attributes), read_span(bytes(found.raw))),
    )


def test_the_parser_is_the_one_written_in_c() -> None:
    assert api_implementation.Type() == "upb"


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_exports_are_the_same_in_both_encodings(name: str) -> None:
    body = json.dumps(in_range(json.loads((DATA / name).read_text()))).encode()
    there, here = decode(body, PROMPT), decode_protobuf(traces(body), PROMPT)

    assert list(map(facts, here.spans)) == list(map(facts, there.spans))
    assert here.rejected == there.rejected
    assert parts_of(here.spans) == parts_of(there.spans)
    assert build_session([here.spans]) == build_session([there.spans])


INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = TEXT | st.booleans() | INT64 | st.floats(allow_nan=False, allow_infinity=False) | st.none()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
ATTRIBUTES = st.dictionaries(TEXT, VALUES, max_size=5)


@pytest.mark.slow
@given(ATTRIBUTES, ATTRIBUTES, TEXT.filter(bool), st.integers(1, 2**63 - 1))
def test_every_field_of_a_span_is_read_the_same(
    attributes: dict[str, Any], of_event: dict[str, Any], name: str, start: int
) -> None:
    event = {"name": name, "timeUnixNano": "1", "attributes": span(of_event)["attributes"]}
    body = export(span(attributes, name=name, startTimeUnixNano=str(start), events=[event]), scope=name)

    assert list(map(facts, decode_protobuf(traces(body), PROMPT).spans)) == list(map(facts, decode(body).spans))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_json_has_no_word_for_are_words(number: float) -> None:
    name = b"double"
    value = field(9, field(1, name) + field(2, b"\x21" + struct.pack("<d", number)))
    (found,) = decode_protobuf(in_an_export(content_of(traces(export(span()))) + value), PROMPT).spans

    word = "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
    assert found.attributes["double"] == read_span(bytes(found.raw)).attributes["double"] == word


def test_a_span_without_a_prompt_belongs_to_that_of_the_address_and_one_with_its_own_keeps_it() -> None:
    spans = [span(spanId="1" * 16), span(spanId="2" * 16, attributes=[])]
    for found in (decode(export(*spans), PROMPT), decode_protobuf(traces(export(*spans)), PROMPT)):
        assert [(one.span_id.hex(), one.prompt_id) for one in found.spans] == [("1" * 16, 7), ("2" * 16, PROMPT)]


@pytest.mark.parametrize("value", ["x", 0, -1, 1.5, True, "", None, [7], 2**63 - 1 + 0.5])
def test_a_span_that_names_no_valid_prompt_is_not_moved_to_that_of_the_address(value: Any) -> None:
    body = export(span({"service.prompt.id": value}))
    for found in (decode(body, PROMPT), decode_protobuf(traces(body), PROMPT)):
        assert found.spans == []
        assert found.rejected[0].code in {"bad_prompt_id", "unknown_prompt"}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"traceId": "00"}, "bad_trace_id"),
        ({"traceId": "0" * 32}, "bad_trace_id"),
        ({"spanId": ""}, "bad_span_id"),
        ({"name": ""}, "no_name"),
        ({"startTimeUnixNano": "0"}, "no_start_time"),
    ],
)
def test_a_span_that_lacks_something_is_rejected_with_the_same_reason(fields: dict[str, Any], code: str) -> None:
    body = export(span(**fields), span(spanId="3" * 16))
    there, here = decode(body, PROMPT), decode_protobuf(traces(body), PROMPT)

    assert [one.code for one in here.rejected] == [code]
    assert here.rejected[0].reason == there.rejected[0].reason
    assert [one.span_id.hex() for one in here.spans] == ["3" * 16]


@pytest.mark.parametrize(
    "body", [b"", field(1, b""), field(1, field(2, b"")), field(7, b"unknown"), field(1, field(1, b""))]
)
def test_an_export_without_spans_is_valid(body: bytes) -> None:
    assert decode_protobuf(body, PROMPT) == Decoded([], [])


BAD_SPANS = {
    "text that is not UTF-8": field(5, b"\xff"),
    "cut": b"\x0a\x10abc",
    "nested too deeply": field(9, field(1, b"a") + field(2, b"")),
    "a group": b"\x7b\x7c",
}


@pytest.mark.parametrize("name", BAD_SPANS)
def test_only_a_span_that_cannot_be_read_is_rejected(name: str) -> None:
    good = content_of(traces(export(span())))
    bad = BAD_SPANS[name]
    if name == "nested too deeply":
        deep = b""
        for _ in range(200):
            deep = field(5, field(1, deep))
        bad = good + field(9, field(1, b"a") + field(2, deep))
    found = decode_protobuf(in_an_export(bad, good), PROMPT)

    assert [one.span_id.hex() for one in found.spans] == [SPAN_ID]
    assert [one.code for one in found.rejected] == ["malformed_span"]


def test_as_deep_as_the_parser_goes_a_span_is_stored_and_shown() -> None:
    body = traces(export(span({"deep": nested("x", 40)})))
    (found,) = decode_protobuf(body, PROMPT).spans
    assert read_span(bytes(found.raw)).attributes["deep"] == nested("x", 40)


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_spans_rejections_or_refused(noise: bytes, as_span: bool) -> None:
    try:
        found = decode_protobuf(in_an_export(noise) if as_span else noise, PROMPT)
    except Invalid:
        return
    for one in found.spans:
        read_span(bytes(one.raw))


def test_a_small_span_of_many_empty_attributes_is_rejected() -> None:
    good = content_of(traces(export(span())))
    found = decode_protobuf(in_an_export(good + field(9, b"") * (ITEM_ELEMENTS_MAX + 1), good), PROMPT)

    assert [(one.code, one.span_id) for one in found.rejected] == [("too_large", SPAN_ID)]
    assert len(found.spans) == 1


@pytest.mark.parametrize("inside", ["list", "event", "object in a list"])
def test_many_elements_are_found_wherever_they_are(inside: str) -> None:
    many = field(1, b"") * (ITEM_ELEMENTS_MAX + 1)
    bombs = {
        "list": field(9, field(1, b"a") + field(2, field(5, many))),
        "event": field(11, field(3, b"") * (ITEM_ELEMENTS_MAX + 1)),
        "object in a list": field(9, field(1, b"a") + field(2, field(5, field(1, field(6, many))))),
    }
    found = decode_protobuf(in_an_export(content_of(traces(export(span()))) + bombs[inside]), PROMPT)
    assert [one.code for one in found.rejected] == ["too_large"]


@pytest.mark.slow
def test_a_large_batch_may_not_have_more_elements_than_all_spans_together_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "Elements", lambda: Elements(batch=100))
    filler = export(span({"text": "x" * LARGE_BYTES}), *(span(spanId=f"{n:016x}") for n in range(1, 150)))
    with pytest.raises(TooLarge, match="attributes and values"):
        decode_protobuf(traces(filler), PROMPT)


@pytest.mark.slow
def test_the_spans_of_a_large_batch_are_read_the_same() -> None:
    spans = [span({"n": number, "text": "x" * 3_000_000}, spanId=f"{number:016x}") for number in range(1, 4)]
    found = decode_protobuf(traces(export(*spans)), PROMPT).spans
    assert [one.attributes["n"] for one in found] == [1, 2, 3]
    assert [len(one.attributes["text"]) for one in reversed(found)] == [3_000_000] * 3
    assert "missing" not in found[0].attributes
    with pytest.raises(KeyError):
        found[0].attributes["missing"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, LARGE_BYTES])
def test_spans_are_parts_of_the_batch_and_no_copies_of_it(size: int) -> None:
    body = traces(export(span({"app.note": "x" * size}), span(spanId="00000000000000aa")))
    assert [one.raw.obj is body for one in decode_protobuf(body, PROMPT).spans] == [True, True]
