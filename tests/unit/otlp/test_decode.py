"""Decoding exports: what is accepted, what is rejected by itself, and what makes the whole body invalid."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid
from app.otlp.decode import Decoded, decode
from app.otlp.protobuf import ITEM_ELEMENTS_MAX
from app.otlp.span import Rejection, explain, reject_unknown_prompts, with_prompts_of_names
from tests.support.exports import SPAN_ID, TRACE_ID, export, pairs_of, span

MAX_INT64 = 2**63 - 1


def rejection(*spans: Any, **of_export: Any) -> Rejection:
    decoded = decode(export(*spans, **of_export))
    assert decoded.spans == []
    (only,) = decoded.rejected
    return only


def test_a_span_is_decoded_with_its_json_as_it_came() -> None:
    body = export(span({"gen_ai.conversation.id": "c-1"}, parentSpanId="00F067AA0BA902B7"), scope="lib")

    (decoded,) = decode(body).spans

    assert decoded.trace_id.hex() == TRACE_ID
    assert decoded.span_id.hex() == SPAN_ID
    assert decoded.parent_span_id == bytes.fromhex("00f067aa0ba902b7")
    assert (decoded.name, decoded.scope, decoded.prompt_id) == ("chat gpt", "lib", 7)
    assert (decoded.start_ns, decoded.end_ns) == (1544712660000000000, 1544712661000000000)
    assert decoded.conversation_id == "c-1"
    assert bytes(decoded.raw) in body
    assert json.loads(bytes(decoded.raw))["spanId"] == SPAN_ID


@pytest.mark.slow
@pytest.mark.parametrize("inside", ["attributes", "list", "lists in lists", "event", "object in a list"])
def test_a_span_with_too_many_attributes_and_values_is_rejected_as_in_protobuf(inside: str) -> None:
    many = [{}] * ITEM_ELEMENTS_MAX
    fields: dict[str, Any] = {
        "attributes": {"attributes": [*pairs_of({"service.prompt.id": 7}), *many]},
        "list": {"links": [{"attributes": [{"key": "a", "value": {"arrayValue": {"values": many}}}]}]},
        "lists in lists": {"links": [[[[]]]] * (ITEM_ELEMENTS_MAX // 2)},
        "event": {"events": [{"attributes": many}]},
        "object in a list": {"events": [{"value": {"arrayValue": {"values": [{"kvlistValue": {"values": many}}]}}}]},
    }[inside]
    body = export(span(**fields), span(spanId="00f067aa0ba902b8"))

    found = decode(body)

    assert [(each.code, each.span_id) for each in found.rejected] == [("too_large", SPAN_ID)]
    assert found.rejected[0].reason == f"the span has more than {ITEM_ELEMENTS_MAX} attributes and values"
    assert [decoded.span_id.hex() for decoded in found.spans] == ["00f067aa0ba902b8"]


def test_commas_and_braces_in_texts_are_no_values() -> None:
    body = export(span({"text": "[{,}]" * ITEM_ELEMENTS_MAX}))
    assert len(decode(body).spans) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"\xef\xbb\xbf { \r\n\t} ",
        b'{"resourceSpans":null}',
        b'{"resourceSpans":null,"more":1}',
        b'{"resourceSpans":[]}',
        b'{"resourceSpans":[{}]}',
        b'{"resourceSpans":[{"resource":null,"scopeSpans":null}]}',
        b'{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":null}]}]}',
        b'{"resourceSpans":[{"scopeSpans":[{"scope":{},"spans":null,"schemaUrl":"x"}],"unknown":[1]}],"more":2}',
    ],
)
def test_an_export_without_spans_is_valid(body: bytes) -> None:
    assert decode(body) == Decoded([], [])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "The body is not valid JSON"),
        (b"resourceSpans", "The body is not valid JSON"),
        (b'{"resourceSpans":[}', "The body is not valid JSON"),
        (b'{"resourceSpans":[]} trailing', "The body is not valid JSON"),
        (b"\x0a\x8f\x01\x0a", "The body is not valid JSON"),
        (b"[]", "This is no OTLP trace export"),
        (b"null", "This is no OTLP trace export"),
        (b'"text"', "This is no OTLP trace export"),
        (b'{"resourceSpans":{}}', "resourceSpans"),
        (b'{"resource_spans":[]}', "has no resourceSpans"),
        (b'{"resourceLogs":[]}', "has no resourceSpans"),
        (b'{"":{}}', "has no resourceSpans"),
        (b'{"spans":[{"name":"\\ud83d"}]}', "has no resourceSpans"),
        (b'{"resourceSpans":[5]}', "resourceSpans"),
        (b'{"resourceSpans":[{"scopeSpans":"x"}]}', "scopeSpans"),
        (b'{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}', "spans"),
        (b'{"resourceSpans":[{"resource":' + b"[" * 100_000, "nested too deeply"),
        (b'{"other":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001, "nested too deeply"),
    ],
)
def test_what_is_no_export_is_invalid_for_a_reason(body: bytes, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        decode(body)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"traceId": None}, "bad_trace_id"),
        ({"traceId": "0" * 32}, "bad_trace_id"),
        ({"traceId": TRACE_ID[:-1]}, "bad_trace_id"),
        ({"traceId": TRACE_ID[:-1] + "g"}, "bad_trace_id"),
        ({"traceId": TRACE_ID[:-2] + "  "}, "bad_trace_id"),
        ({"traceId": 5}, "bad_trace_id"),
        ({"spanId": "0" * 16}, "bad_span_id"),
        ({"spanId": TRACE_ID}, "bad_span_id"),
        ({"spanId": ["x"]}, "bad_span_id"),
        ({"name": ""}, "no_name"),
        ({"name": None}, "no_name"),
        ({"name": 3}, "no_name"),
        ({"startTimeUnixNano": None}, "no_start_time"),
        ({"startTimeUnixNano": "0"}, "no_start_time"),
        ({"startTimeUnixNano": "noon"}, "no_start_time"),
        ({"startTimeUnixNano": -5}, "no_start_time"),
        ({"startTimeUnixNano": []}, "no_start_time"),
        ({"startTimeUnixNano": True}, "no_start_time"),
        ({"attributes": {"service.prompt.id": 7}}, "bad_attributes"),
        ({"attributes": "service.prompt.id=7"}, "bad_attributes"),
        *(({"attributes": nothing}, "bad_attributes") for nothing in ({}, "", 0, False)),
        ({"attributes": []}, "missing_prompt_id"),
        ({"attributes": None}, "missing_prompt_id"),
        ({"attributes": ["service.prompt.id", None, {"value": {}}]}, "missing_prompt_id"),
    ],
)
def test_a_span_that_lacks_what_identifies_it_is_rejected_alone(fields: dict[str, Any], code: str) -> None:
    good = span(spanId="00f067aa0ba902b7")

    decoded = decode(export(span(**fields), good))

    assert [one.code for one in decoded.rejected] == [code]
    assert [one.span_id.hex() for one in decoded.spans] == ["00f067aa0ba902b7"]


@pytest.mark.parametrize("entry", [None, 5, "x", [], True])
def test_only_an_entry_that_is_no_object_is_rejected(entry: Any) -> None:
    assert rejection(entry).code == "malformed_span"


@pytest.mark.parametrize(
    ("value", "prompt_id"),
    [
        ({"intValue": 42}, 42),
        ({"intValue": "42"}, 42),
        ({"intValue": 42.0}, 42),
        ({"stringValue": "42"}, 42),
        ({"intValue": MAX_INT64}, MAX_INT64),
    ],
)
def test_a_prompt_id_is_an_integer_or_its_digits(value: dict[str, Any], prompt_id: int) -> None:
    decoded = decode(export(span(attributes=[{"key": "service.prompt.id", "value": value}])))

    assert [one.prompt_id for one in decoded.spans] == [prompt_id]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"stringValue": "my-prompt"}, "bad_prompt_id"),
        ({"stringValue": ""}, "bad_prompt_id"),
        ({"stringValue": "4.2"}, "bad_prompt_id"),
        ({"stringValue": "٤٢"}, "bad_prompt_id"),
        ({"stringValue": "9" * 5000}, "bad_prompt_id"),
        ({"doubleValue": 4.5}, "bad_prompt_id"),
        ({"boolValue": True}, "bad_prompt_id"),
        ({"arrayValue": {"values": [{"intValue": 42}]}}, "bad_prompt_id"),
        ({}, "bad_prompt_id"),
        (None, "bad_prompt_id"),
        (42, "bad_prompt_id"),
        ({"intValue": 0}, "unknown_prompt"),
        ({"intValue": -3}, "unknown_prompt"),
        ({"intValue": 1e21}, "bad_prompt_id"),
        ({"stringValue": str(2**63)}, "unknown_prompt"),
    ],
)
def test_another_prompt_id_is_rejected(value: Any, code: str) -> None:
    assert rejection(span(attributes=[{"key": "service.prompt.id", "value": value}])).code == code


def test_an_id_that_is_only_on_the_resource_has_a_reason_for_itself() -> None:
    one = rejection(span(attributes=[]), resource={"service.prompt.id": 7})

    assert one.code == "prompt_id_on_resource"
    assert "attribute of each span" in one.reason


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": pairs_of({f"a{number}": 1 for number in range(128)})},
        {"attributes": pairs_of({"a": 1}), "droppedAttributesCount": 3},
    ],
)
def test_an_id_lost_to_the_sdks_attribute_limit_has_a_reason_for_itself(fields: dict[str, Any]) -> None:
    one = rejection(span(**fields))

    assert one.code == "prompt_id_cut"
    assert "probably cut by the SDK's limit of 128 attributes" in one.reason


@pytest.mark.parametrize(
    ("start", "end", "times"),
    [
        (1544712660000000000, 1544712661000000000, (1544712660000000000, 1544712661000000000)),
        ("5", None, (5, 5)),
        ("5", "3", (5, 5)),
        ("5", "garbage", (5, 5)),
        ("1e+21", 1e300, (MAX_INT64, MAX_INT64)),
        ("9" * 30, "9" * 30, (MAX_INT64, MAX_INT64)),
    ],
)
def test_times_are_clamped_to_what_the_database_holds(start: Any, end: Any, times: tuple[int, int]) -> None:
    (one,) = decode(export(span(startTimeUnixNano=start, endTimeUnixNano=end))).spans

    assert (one.start_ns, one.end_ns) == times


def test_fields_of_a_wrong_type_that_identify_nothing_are_let_through() -> None:
    (one,) = decode(export(span(status="bad", kind=[], events=7, links=None, parentSpanId=12, flags={}))).spans

    assert one.parent_span_id is None
    assert not one.failed


@pytest.mark.parametrize("code", [2, "2", "STATUS_CODE_ERROR"])
def test_a_failed_span_is_known_by_its_status(code: Any) -> None:
    assert decode(export(span(status={"code": code}))).spans[0].failed
    assert not decode(export(span(status={"code": 1}))).spans[0].failed


@pytest.mark.parametrize(("kind", "failed"), [("timeout", True), ("none", False), ("", False), (None, False)])
def test_a_span_that_names_the_type_of_its_error_has_failed(kind: Any, failed: bool) -> None:
    attributes = pairs_of({"service.prompt.id": 7, "error.type": kind})

    assert decode(export(span(attributes=attributes))).spans[0].failed is failed


def test_a_span_that_comes_twice_in_a_batch_is_kept_once_the_first() -> None:
    decoded = decode(export(span(name="first"), span(name="second"), span(traceId=TRACE_ID.upper(), name="third")))

    assert [one.name for one in decoded.spans] == ["first"]
    assert decoded.rejected == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (rb"cut \ud83d", "cut �"),
        (rb"cut \uDE00 low", "cut � low"),
        (rb"\ud83d\u0041", "�A"),
        (rb"whole \ud83d\ude00", "whole 😀"),
        (rb"no escape \\ud83d", r"no escape \ud83d"),
        (b"\xff\xfe", "��"),
        (b"\xed\xa0\xbd", "���"),
        (rb"nul \u0000", "nul \0"),
    ],
)
def test_text_that_no_parser_reads_is_repaired(text: bytes, name: str) -> None:
    (one,) = decode(export(span(name="NAME")).replace(b"NAME", text)).spans

    assert one.name == name
    assert json.loads(bytes(one.raw))["name"] == name


def test_a_byte_order_mark_is_no_obstacle() -> None:
    assert len(decode(b"\xef\xbb\xbf" + export(span())).spans) == 1


def test_a_number_out_of_range_in_one_attribute_loses_nothing_else() -> None:
    body = export(span({"big": "BIG"})).replace(b'{"stringValue": "BIG"}', b'{"doubleValue": 1e999}')

    assert len(decode(body).spans) == 1


def test_scope_and_conversation_are_cut_to_what_the_database_holds() -> None:
    (one,) = decode(export(span({"gen_ai.conversation.id": "c" * 600}), scope="s" * 300)).spans

    assert (len(one.conversation_id or ""), len(one.scope)) == (512, 255)


def test_spans_of_a_prompt_that_is_not_the_projects_are_split_off() -> None:
    spans = decode(export(span(), span({"service.prompt.id": 8}, spanId="00f067aa0ba902b7"))).spans

    kept, rejected = reject_unknown_prompts(spans, {7})

    assert [one.prompt_id for one in kept] == [7]
    assert [(one.code, one.span_id) for one in rejected] == [("unknown_prompt", "00f067aa0ba902b7")]
    assert "8 is no prompt of this API key's project" in rejected[0].reason


def named(name: Any, **attributes: Any) -> dict[str, Any]:
    """A span that names its prompt only by name."""
    return span(attributes=pairs_of({"gen_ai.prompt.name": name} | attributes))


@pytest.mark.parametrize(("name", "ids", "prompt_ids"), [("Shop", [7], [7]), ("Shop", [7, 8], []), ("Shop", [], [])])
def test_a_name_names_a_prompt_if_exactly_one_has_it(name: str, ids: list[int], prompt_ids: list[int]) -> None:
    kept, rejected = with_prompts_of_names(decode(export(named(name))).spans, {name: ids})

    assert [one.prompt_id for one in kept] == prompt_ids
    assert [(one.code, one.prompt_id) for one in rejected] == [("unknown_prompt", None)] * (not prompt_ids)
    for one in rejected:
        assert f"{'several prompts have' if ids else 'no prompt has'} the name Shop" in one.reason


def test_the_id_and_the_address_count_before_the_name() -> None:
    (by_id,) = decode(export(named("Shop", **{"service.prompt.id": 7}))).spans
    (by_address,) = decode(export(named("Shop")), 8).spans

    assert [(one.prompt_id, one.prompt_name) for one in (by_id, by_address)] == [(7, ""), (8, "")]


@pytest.mark.parametrize("name", ["", None, True, 1.5, ["Shop"]])
def test_a_name_that_is_no_text_names_no_prompt(name: Any) -> None:
    (rejected,) = decode(export(named(name))).rejected

    assert rejected.code == "missing_prompt_id"
    assert "gen_ai.prompt.name" in rejected.reason


def test_a_bad_id_is_not_replaced_by_the_name() -> None:
    (rejected,) = decode(export(named("Shop", **{"service.prompt.id": "x"}))).rejected

    assert rejected.code == "bad_prompt_id"


def test_a_long_name_is_cut_and_still_is_no_prompt_s() -> None:
    (one,) = decode(export(named("n" * 5000))).spans

    assert one.prompt_name == "n" * 129


def test_the_explanation_groups_reasons_and_stays_short() -> None:
    missing = [span(attributes=[], spanId=f"{number:016x}", name=f"step {number}") for number in range(1, 500)]
    strange = [span({"service.prompt.id": f"p{number}"}, name="n" * 5000) for number in range(200)]

    message = explain(decode(export(*missing, *strange)).rejected)

    assert message.startswith("499 spans rejected: attribute service.prompt.id is missing")
    assert '"step 1" (0000000000000001)' in message
    assert "and 496 more" in message
    assert len(message) < 10_000
    assert explain([]) == ""


def test_real_exports_decode_whole() -> None:
    samples = Path(__file__).parents[2] / "data" / "otlp"
    decoded = [decode(path.read_bytes()) for path in samples.glob("*.[0-9].json")]

    assert len(decoded) > 20
    assert sum(len(one.rejected) for one in decoded) == 1


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = ["traceId", "spanId", "parentSpanId", "name", "startTimeUnixNano", "endTimeUnixNano", "status", "attributes"]


@given(st.dictionaries(st.sampled_from([*FIELDS, "events", "links", "kind"]), anything, max_size=4))
def test_no_value_of_a_span_breaks_the_batch(fields: dict[str, Any]) -> None:
    decoded = decode(export(span() | fields, span(spanId="00f067aa0ba902b7")))

    assert decoded.spans[-1].span_id.hex() == "00f067aa0ba902b7"
    assert len(decoded.spans) + len(decoded.rejected) == 2


@given(st.sampled_from(["resourceSpans", "resource", "scopeSpans", "scope", "spans"]), anything)
def test_nothing_around_the_spans_breaks_the_decoder(place: str, value: Any) -> None:
    whole = json.loads(export(span()))
    group = whole["resourceSpans"][0]
    holder = {"resourceSpans": whole, "resource": group, "scopeSpans": group}.get(place, group["scopeSpans"][0])
    holder[place] = value

    with suppress(Invalid):
        assert len(decode(json.dumps(whole).encode()).spans) <= 1


@given(st.binary(max_size=200), st.integers(0, 400))
def test_no_bytes_break_the_decoder(noise: bytes, at: int) -> None:
    body = export(span())

    with suppress(Invalid):
        assert len(decode(body[:at] + noise + body[at + len(noise) :]).spans) <= 1
