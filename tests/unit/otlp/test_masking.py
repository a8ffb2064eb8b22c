"""Text that a rule names is in no stored byte; all other text stays byte for byte."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid
from app.otlp.mask_texts import MaskingBudget
from app.otlp.masking import MASK, RULES_MAX, Masking, Rule, checked
from app.otlp.span import MAX_SCOPE
from tests.support.exports import span

EMAIL = Rule("pattern", r"[\w.]+@[\w.]+")
CARD = Rule("pattern", r"\b\d{16}\b")
ADA = "ada@example.org"


def masked(rules: list[Rule], attributes: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return json.loads(Masking(rules).span(json.dumps(span(attributes, **fields)).encode()))


def value(found: dict[str, Any], key: str) -> Any:
    return next(pair["value"] for pair in found["attributes"] if pair["key"] == key)


def test_a_pattern_is_masked_in_text() -> None:
    found = masked([EMAIL], {"app.note": f"from {ADA}, twice {ADA}"})
    assert value(found, "app.note") == {"stringValue": f"from {MASK}, twice {MASK}"}


@pytest.mark.parametrize(
    "attributes",
    [
        {"a": f'{{"to": "{ADA}", "again": "{{\\"cc\\": \\"{ADA}\\"}}"}}'},
        {"a": '["\\u0061da@example.org"]'},
        {"a": [ADA, {"deep": [ADA]}]},
        {"gen_ai.conversation.id": ADA},
    ],
    ids=["JSON in JSON in a string", "escaped", "structured", "conversation id"],
)
def test_a_pattern_is_masked_wherever_it_hides(attributes: dict[str, Any]) -> None:
    assert ADA not in json.dumps(masked([EMAIL], attributes))


def test_a_pattern_is_masked_in_name_status_events_and_links() -> None:
    event = {"name": f"to {ADA}", "attributes": [{"key": "exception.message", "value": {"stringValue": ADA}}]}
    found = masked([EMAIL], name=f"mail {ADA}", status={"code": 2, "message": ADA}, events=[event], links=[event])
    assert ADA not in json.dumps(found)
    assert found["status"]["code"] == 2


def test_fields_without_a_meaning_and_states_of_traces_are_masked() -> None:
    link = {"traceId": f"of {ADA}", "spanId": "b" * 16, "traceState": f"vendor={ADA}", "flags": 1}
    note = {"by": [ADA, {"mail": ADA}]}
    found = masked([EMAIL], traceState=f"vendor={ADA}", links=[link], note=note, status={"code": 2, "more": ADA})
    assert ADA not in json.dumps(found)
    assert (found["status"], found["links"][0]["flags"]) == ({"code": 2, "more": MASK}, 1)


def test_ids_times_kinds_and_counts_are_no_text() -> None:
    fields = {"kind": 3, "flags": 257, "droppedAttributesCount": 12, "endTimeUnixNano": "1760000001000000000"}
    link = {"traceId": "4" * 32, "spanId": "5" * 16}
    fields |= {"traceId": "4" * 32, "spanId": "4" * 16, "parentSpanId": "5" * 16, "links": [link]}
    assert masked([Rule("pattern", "[0-9]+")], {}, **fields) == span({}, **fields)


def test_the_name_of_a_scope_is_masked_by_patterns() -> None:
    masking = Masking([Rule("pattern", r"\d+", "#"), Rule("pointer", "/scope")])
    assert masking.cut("scope 1234", MAX_SCOPE) == "scope #"
    assert len(Masking([Rule("pattern", "a", "b" * 200)]).cut("a" * 9, MAX_SCOPE)) == MAX_SCOPE


def test_the_name_of_a_scope_that_was_cut_is_masked_whole() -> None:
    name = ("x" * 250 + " ada@example.org")[:MAX_SCOPE]
    assert Masking([Rule("pattern", r"\w+@\w+\.org")]).cut(name, MAX_SCOPE) == MASK
    assert Masking([Rule("pointer", "/name")]).cut(name, MAX_SCOPE) == name


def test_json_in_a_string_stays_json() -> None:
    found = masked([Rule("pattern", '"|}')], {"a": '{"said": "a \\"quote\\""}'})
    assert json.loads(value(found, "a")["stringValue"]) == {"said": f"a {MASK}quote{MASK}"}


@pytest.mark.parametrize("number", [4111111111111111, '{"card": 4111111111111111}'])
def test_a_number_that_a_pattern_finds_is_masked(number: Any) -> None:
    assert "4111" not in json.dumps(masked([CARD], {"a": number}))


def test_a_pointer_masks_only_its_place() -> None:
    arguments = '{"customer": {"name": "Ada", "id": 7}, "name": "kept"}'
    found = masked(
        [Rule("pointer", "/gen_ai.tool.call.arguments/customer/name")], {"gen_ai.tool.call.arguments": arguments}
    )
    assert json.loads(value(found, "gen_ai.tool.call.arguments")["stringValue"]) == {
        "customer": {"name": MASK, "id": 7},
        "name": "kept",
    }


def test_a_star_is_every_member_and_a_number_one_of_a_list() -> None:
    messages = [{"parts": [{"content": "one"}, {"content": "two"}]}, {"parts": [{"content": "three"}]}]
    every = masked([Rule("pointer", "/m/*/parts/*/content")], {"m": json.dumps(messages)})
    first = masked([Rule("pointer", "/m/0/parts")], {"m": messages})
    assert not any(word in json.dumps(every) for word in ("one", "two", "three"))
    assert "two" not in json.dumps(first)
    assert "three" in json.dumps(first)


def test_a_pointer_of_one_step_masks_the_attribute() -> None:
    assert value(masked([Rule("pointer", "/app~1user", "-")], {"app/user": 7}), "app/user") == {"stringValue": "-"}


def test_json_that_was_cut_off_is_masked_whole() -> None:
    cut = '{"customer": {"name": "Ad'
    assert value(masked([Rule("pointer", "/a/customer/name")], {"a": cut}), "a") == {"stringValue": MASK}


def test_the_turns_of_a_masked_conversation_stay_together() -> None:
    one, two, other = (
        value(masked([EMAIL], {"gen_ai.conversation.id": who}), "gen_ai.conversation.id")
        for who in (ADA, ADA, f"b{ADA}")
    )
    assert one == two != other


def test_the_prompt_that_a_span_names_is_never_masked() -> None:
    rules = [Rule("pattern", r"\d+"), Rule("pointer", "/service.prompt.id")]
    assert value(masked(rules), "service.prompt.id") == {"intValue": 7}


@pytest.mark.parametrize(
    "rule", [Rule("pattern", "("), Rule("pattern", "x" * 1001), Rule("pointer", "name"), Rule("pointer", "/")]
)
def test_a_rule_that_can_not_be_used_is_refused_by_its_place(rule: Rule) -> None:
    with pytest.raises(Invalid, match=r"masking\.1\.value"):
        Masking([EMAIL, rule])


def test_a_replacement_is_written_without_changes() -> None:
    found = masked([Rule("pattern", "(a)b", r"\1\0")], {"a": "ab"})
    assert value(found, "a") == {"stringValue": r"\1\0"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans())
def test_what_no_rule_finds_stays_byte_for_byte(content: Any, as_text: bool) -> None:
    raw = json.dumps(span({"a": json.dumps(content) if as_text else content})).encode()
    assert Masking([Rule("pattern", "nowhere to be found"), Rule("pointer", "/b/c")]).span(raw) is raw


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_nothing_of_a_secret_is_left_whatever_surrounds_it(before: str, after: str) -> None:
    secret = "s3cr3t-t0ken"
    nested = json.dumps({"k": [before + secret + after, json.dumps({"k": before + secret})]})
    assert secret not in json.dumps(masked([Rule("pattern", secret)], {"a": nested, "b": before + secret + after}))


CONTENT = ("messages", "*", "content")


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("/messages", MASK),
        ("/messages/*/content", MASK),
        ("/messages/7/content", MASK),
        ("/messages/*/content/to", '{"to":"[masked]","cc":"Bob"}'),
        ("/messages/*/content/*", '{"to":"[masked]","cc":"[masked]"}'),
        ("/messages/*/content/bcc", '{"to":"Ada","cc":"Bob"}'),
        ("/messages/*/name", '{"to":"Ada","cc":"Bob"}'),
        ("/other/*/content", '{"to":"Ada","cc":"Bob"}'),
        ("/*/*/content", '{"to":"Ada","cc":"Bob"}'),
    ],
)
def test_a_pointer_masks_the_value_that_it_names_encloses_or_leads_into(pointer: str, found: str) -> None:
    rules = Masking([Rule("pointer", pointer)])
    assert rules.at('{"to":"Ada","cc":"Bob"}', CONTENT) == found
    assert rules.at('{"to":"Ada","cc":"Bob"}', ("elsewhere",), CONTENT) == found


def test_a_value_without_a_place_is_masked_only_by_patterns() -> None:
    rules = Masking([Rule("pointer", "/messages"), EMAIL])
    assert rules.at({"to": ADA, "of": [f"{ADA}, Ada"]}) == {"to": MASK, "of": [f"{MASK}, Ada"]}


@pytest.mark.parametrize("inside", ["object", "list", "text"])
def test_pointers_spend_what_they_look_at_and_what_is_left_is_masked_whole(inside: str) -> None:
    entry = {
        "object": {f"key {number}": 1 for number in range(100)},
        "list": [1] * 100,
        "text": json.dumps(["x" * 6_400]),
    }[inside]
    rules = Masking([Rule("pointer", f"/a/{number}/nowhere") for number in range(RULES_MAX)])
    enough, budget = MaskingBudget(search=10**9), MaskingBudget(search=10_000)

    assert rules.at([entry] * RULES_MAX, ("a",), budget=enough) == [entry] * RULES_MAX
    assert 10**9 - enough.search >= 2 * RULES_MAX * 6_400
    assert rules.at([entry] * RULES_MAX, ("a",), budget=budget) == MASK


@pytest.mark.slow
def test_new_rules_that_are_dear_to_compile_together_are_refused_and_stored_ones_still_mask() -> None:
    dear = [Rule("pattern", f"{number}" + r"\PL|" * 99 + "x") for number in range(60)]

    with pytest.raises(Invalid, match=r"masking\.[0-9]+\.value: .*needs more than 500,000 steps to compile"):
        checked(dear)
    assert Masking(dear).text("abc0+") != "abc0+"


@pytest.mark.parametrize(
    "hidden",
    [
        {"stringValue": '{"card": "4111111111111111", "card": "x"}'},
        {"stringValue": '[{"in": "{\\"card\\": \\"4111111111111111\\", \\"card\\": 1}"}]'},
        {"stringValue": "x", "intValue": "4111111111111111"},
        {
            "kvlistValue": {
                "values": [
                    {"key": "card", "value": {"stringValue": "4111111111111111"}},
                    {"key": "card", "value": {"stringValue": "x"}},
                ]
            }
        },
        {"arrayValue": {"values": [{"boolValue": True, "stringValue": "4111111111111111"}]}},
    ],
    ids=["JSON", "JSON in JSON", "two fields", "pairs", "a list"],
)
@pytest.mark.parametrize("rules", [[CARD], [Rule("pointer", "/a/card"), Rule("pointer", "/a/*/in/card")]])
def test_a_value_that_another_one_hides_is_not_stored(rules: list[Rule], hidden: dict[str, Any]) -> None:
    stored = Masking(rules).span(json.dumps(span() | {"attributes": [{"key": "a", "value": hidden}]}).encode())

    assert b"4111" not in stored


def test_json_without_a_repeated_key_stays_byte_for_byte() -> None:
    text = '{ "a": [1.0, 1e3, {"b": "\\u0061"}], "c": {"a": 12345678901234567890123} }'
    raw = json.dumps(span({"a": text, "b": [1, {"c": True}]})).encode()

    assert Masking([CARD]).span(raw) == raw


NAME = Rule("pattern", r"Jane\s+Doe|O'Brien|Zoë|🦜@")


@pytest.mark.parametrize(
    "text",
    [
        repr([{"role": "user", "content": "Jane\nDoe"}]),
        repr({"asked": 'O\'Brien "says"'}),
        ascii({"name": "Zoë"}),
        json.dumps("🦜@")[1:-1],
        '{"line": 1}\n{"name": "Jane\\nDoe"}',
        'data: {"name": "Zo\\u00eb"}',
        '{"name": "Jane\\nDoe", "cut": "of',
        '{"name": "Jane\\nDoe",}',
        json.dumps({"printed": repr({"name": "Jane\nDoe"})}),
        repr({"json": json.dumps({"json": json.dumps({"name": "Jane\nDoe"})})}),
    ],
)
def test_escapes_do_not_hide_a_match_from_a_pattern(text: str) -> None:
    found = value(masked([NAME], {"a": text}), "a")["stringValue"]
    assert found in (MASK, f'{{"printed":"{MASK}"}}')


@pytest.mark.parametrize("pattern", ["Zoë", unicodedata.normalize("NFD", "Zoë")], ids=["composed", "decomposed"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_pattern_matches_composed_and_decomposed_characters(pattern: str, form: Any) -> None:
    text = unicodedata.normalize(form, "for Zoë")
    rules = [Rule("pattern", pattern)]
    for sent in (text, json.dumps([text]), ascii([text])):
        assert "Zo" not in value(masked(rules, {"a": sent}), "a")["stringValue"]
    other = unicodedata.normalize("NFD", "for Chloë")
    assert value(masked(rules, {"a": other}), "a") == {"stringValue": other}


def test_a_text_that_quotes_a_cut_text_is_masked_whole() -> None:
    masking = Masking([Rule("pattern", "[0-9]{8}")])
    assert masking.quoting("'12345678' is no id") == "'[masked]' is no id"
    assert masking.quoting("'1234567… is no id") == MASK
    assert Masking([]).quoting("'1234567… is no id") == "'1234567… is no id"


@pytest.mark.parametrize("text", ["C:\\new\\x41", r"\d+ is \w", "\\", r"\u00", r"\U00110000", "Doe\\nJane"])
def test_text_with_escapes_that_hide_nothing_stays(text: str) -> None:
    found = masked([NAME], {"a": text})
    assert value(found, "a") == {"stringValue": text}


def test_escapes_next_to_a_match_stay() -> None:
    assert Masking([NAME]).text(r"Jane Doe wrote \d+") == rf"{MASK} wrote \d+"


def test_escapes_are_read_within_the_budget() -> None:
    assert Masking([NAME]).text("\\n" * 1000, MaskingBudget(search=10_000)) == MASK


@pytest.mark.parametrize("text", ['{"card": "4111", "id": 7}', '\n {"id": 7, "card": "4111"}'])
def test_a_pointer_leads_into_json_in_a_json_text(text: str) -> None:
    found = value(masked([Rule("pointer", "/a/card")], {"a": json.dumps(text)}), "a")["stringValue"]
    assert json.loads(found) == {"card": MASK, "id": 7}


@pytest.mark.parametrize(
    "text", ['\ufeff{"card": "4111"}', json.dumps('{"card": "4111"}')[:-4], '["4111"', " {'card': 4111}"]
)
def test_what_a_pointer_can_not_follow_is_masked_whole(text: str) -> None:
    assert value(masked([Rule("pointer", "/a/card")], {"a": text}), "a") == {"stringValue": MASK}


def test_a_pointer_leaves_a_quoted_text_unchanged() -> None:
    for text in ('"4111" {', '"4111"', "4111"):
        assert value(masked([Rule("pointer", "/a/card")], {"a": text}), "a") == {"stringValue": text}
