"""Matchers compare the arguments of two calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from app.replay.arguments import ArgumentsComparison, Question, compare_arguments, ranked
from app.replay.compare import ignored_paths
from app.replay.findings import Difference
from app.replay.matchers import parse_matcher, parse_matchers
from app.replay.texts import free_text
from app.replay.texts.facts import Facts
from app.replay.texts.free_text import SeenResults, fixed_arguments, free_paths
from app.replay.texts.sources import Sources

ORDER = Sources(user="Refund A-1, please. I am Anna Schmidt.", results=[{"id": "A-1", "total": 49.9}])


def compare(recorded: Any, produced: Any, matchers: dict[str, Any], **options: Any) -> ArgumentsComparison:
    return compare_arguments(recorded, produced, ranked(parse_matchers(matchers)), lambda: ORDER, **options)


def agree(matcher: Any, recorded: Any, produced: Any) -> bool:
    return compare({"a": recorded}, {"a": produced}, {"/a": matcher}) == ArgumentsComparison()


@pytest.mark.parametrize(
    "raw",
    [
        "exact",
        "facts",
        "any",
        "text",
        "number",
        "unordered",
        {"match": "number", "tolerance": 0.5},
        {"match": "regex", "value": "^A-"},
        {"match": "one_of", "values": ["a", 1, None]},
        {"match": "ai", "value": "is polite"},
    ],
)
def test_a_matcher_reads_back_as_it_was_written(raw: Any) -> None:
    assert parse_matcher(raw).to_json() == raw


def test_a_matcher_without_options_reads_back_as_its_name() -> None:
    assert parse_matcher({"match": "facts"}).to_json() == "facts"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (1, 'must be the name of a matcher or {"match": NAME}'),
        ({}, 'must be the name of a matcher or {"match": NAME}'),
        ("similar", "must be one of exact, facts, any, text, number, regex, one_of, unordered, ai"),
        ({"match": "facts", "value": "x"}, "value: is no option of facts"),
        ({"match": "number", "tolerance": -1}, "tolerance: must be a number that is not negative"),
        ({"match": "number", "tolerance": True}, "tolerance: must be a number that is not negative"),
        ("regex", "value: is required, the regular expression"),
        ({"match": "regex", "value": "("}, "value: missing ): ("),
        ({"match": "ai", "value": " "}, "value: is required, the assertion"),
        ("one_of", "values: is required, a list of at least one value"),
    ],
)
def test_a_matcher_that_is_none_is_refused(raw: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"^/a: ") as refused:
        parse_matchers({"/a": raw})

    assert str(refused.value) == f"/a: {message}"


@pytest.mark.parametrize(
    ("raw", "message"), [([], "must be an object"), ({"a": "any"}, "a: a JSON pointer is empty or")]
)
def test_matchers_are_an_object_of_pointers(raw: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_matchers(raw)


@pytest.mark.parametrize(
    ("matcher", "recorded", "produced"),
    [
        ("exact", 1, 1.0),
        ("facts", "A-1: $49.90 come back.", "We return 49.9 dollars for A-1"),
        ("facts", {"a": 1}, {"a": 1}),
        ("any", "a", [1]),
        ("text", "Hello,  World!", "hello world"),
        ("text", 5, 5.0),
        ("text", "Call A-1, e-mail: 5 %", "call a1 email 5%"),
        ("text", "- 5, 6", "5 6"),
        ("number", 5, "5.0"),
        ("number", "1e999999999", "10e999999998"),
        ({"match": "number", "tolerance": 0.1}, 1.0, 1.1),
        ({"match": "number", "tolerance": 0.01}, 19.99, 20.00),
        ({"match": "number", "tolerance": 0.5}, 5, 5.5),
        ({"match": "regex", "value": "^A-[0-9]$"}, "x", "A-2"),
        ({"match": "regex", "value": "^12$"}, "x", 12),
        ({"match": "one_of", "values": ["a", 1]}, "x", 1.0),
        ("unordered", [1, {"a": 2}, 1], [{"a": 2.0}, 1, 1]),
        ("unordered", "a", "a"),
    ],
)
def test_a_matcher_accepts(matcher: Any, recorded: Any, produced: Any) -> None:
    assert compare({"a": recorded}, {"a": produced}, {"/a": matcher}).differences == ()


@pytest.mark.parametrize(
    ("matcher", "recorded", "produced"),
    [
        ("exact", 1, True),
        ("facts", "A-1: $49.90 come back.", "We return 49.9 dollars."),
        ("facts", "Done.", "Done, see B-7."),
        ("facts", "text", ["text"]),
        ("facts", "text", " "),
        ("text", "1.5", "15"),
        ("text", "5 6", "56"),
        ("text", "5, 6", "56"),
        ("text", "Refund $50", "Refund €50"),
        ("text", "Refund ₿50", "Refund 50"),
        ("text", "-5", "5"),
        ("text", "at -$5", "at $5"),
        ("text", "a < b", "a > b"),
        ("text", "C++", "C"),
        ("text", "5 %", "5"),
        ("text", "5 °", "5"),
        ("number", 9007199254740993, 9007199254740992),
        ("number", "1e999999999", 1),
        ("number", "1e-999999999", 0),
        ("number", "1" * 5_000, "1" * 4_999 + "2"),
        ("number", 5, True),
        ("number", 5, "five"),
        ("number", 5, float("nan")),
        ({"match": "number", "tolerance": 0.5}, 5, 5.6),
        ({"match": "regex", "value": "^A-[0-9]$"}, "A-1", "B-1"),
        ({"match": "one_of", "values": [1]}, True, True),
        ("unordered", [1, 1, 2], [1, 2, 2]),
        ("unordered", [1], 1),
    ],
)
def test_a_matcher_refuses(matcher: Any, recorded: Any, produced: Any) -> None:
    comparison = compare({"a": recorded}, {"a": produced}, {"/a": matcher})

    assert [difference.path for difference in comparison.differences] == ["/a"]


def test_what_no_matcher_names_is_compared_exactly() -> None:
    comparison = compare({"id": "A-1", "body": "x"}, {"id": "A-2", "body": "y"}, {"/body": "any"})

    assert comparison.differences == (Difference("/id", "A-1", "A-2"),)


def test_facts_are_those_of_all_texts() -> None:
    recorded = {"subject": "Refund A-1", "body": "You get $49.90, Anna Schmidt."}
    produced = {"subject": "Refund A-1", "body": "You get $59.90."}

    comparison = compare(recorded, produced, {"/subject": "facts", "/body": "facts", "/cc": "facts"})

    assert comparison.facts == Facts(("A-1",), ("$49.90", "Anna Schmidt"), ("$59.90",))
    assert compare({}, {}, {"/body": "facts"}).facts is None


def test_a_judge_is_asked_about_what_ai_names() -> None:
    comparison = compare({"a": "x"}, {"a": "y"}, {"/a": {"match": "ai", "value": "is polite"}})

    assert comparison.questions == (Question("/a", "is polite", "x", "y"),)
    assert comparison.differences == ()


@pytest.mark.parametrize("matcher", ["facts", "exact", "text", {"match": "one_of", "values": [1]}])
def test_a_value_that_only_one_call_has_is_a_difference(matcher: Any) -> None:
    assert compare({"a": "x"}, {}, {"/a": matcher}).differences == (Difference("/a", "x", UNSET),)
    assert compare({}, {"a": "x"}, {"/a": matcher}).differences == (Difference("/a", UNSET, "x"),)
    assert compare({}, {"a": "x"}, {"/a": matcher}, subset=True).differences == ()
    assert compare({}, {"a": "x"}, {"/a": "any"}).differences == ()


def test_a_star_names_every_place_of_a_list_and_the_clearer_pointer_wins() -> None:
    recorded, produced = {"mails": [{"to": "a", "body": "x"}] * 2}, {"mails": [{"to": "a", "body": "y"}] * 2}

    assert compare(recorded, produced, {"/mails/*/body": "any"}) == ArgumentsComparison()
    clearer = compare(recorded, produced, {"/mails/*/body": "any", "/mails/1/body": "exact"})
    assert [difference.path for difference in clearer.differences] == ["/mails/1/body"]


def test_what_is_ignored_has_no_matcher() -> None:
    assert compare({"a": 1}, {"a": 2}, {"/a": "exact"}, ignored=ignored_paths(("/a",))) == ArgumentsComparison()


def test_what_is_below_an_ignored_path_has_no_matcher() -> None:
    recorded, produced = {"mails": [{"body": "$5"}], "mail": {"body": "A-1"}}, {"mails": [{"body": "$6"}]}
    matchers = {"/mail/body": "facts", "/mails/*/body": "facts"}

    assert compare(recorded, produced, matchers, ignored=ignored_paths(("/mail", "/mails/*"))) == ArgumentsComparison()
    assert compare(recorded, produced, matchers, ignored=ignored_paths(("/mai",))).differences != ()


json = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab*/~1 ", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab*/~0", max_size=2), inner, max_size=3),
    max_leaves=8,
)
pointers = st.lists(st.sampled_from(["", "/a", "/*", "/a/*", "/0", "/b/0", "/~1", "/a/b"]), max_size=3)


@given(json, pointers, st.sampled_from(["exact", "facts", "any", "text", "unordered"]))
def test_a_call_agrees_with_itself(arguments: Any, places: list[str], matcher: str) -> None:
    assert compare(arguments, arguments, dict.fromkeys(places, matcher)).differences == ()


@given(json, json, pointers)
def test_exact_matchers_say_what_no_matchers_say(recorded: Any, produced: Any, places: list[str]) -> None:
    differ = bool(compare(recorded, produced, {}).differences)

    assert bool(compare(recorded, produced, dict.fromkeys(places, "exact")).differences) is differ


def test_texts_under_the_listed_keys_are_free_at_any_depth_and_in_any_case() -> None:
    arguments = {
        "Body": "Hi",
        "mail": [{"SUBJECT": "x", "to": "a@b.c"}, {"note": "y"}],
        "emailBody": "Hi",
        "reason": ["z"],
    }

    assert free_paths(arguments) == {
        "/Body": "facts", "/mail/*/SUBJECT": "facts", "/mail/*/note": "facts", "/reason/*": "facts",
    }  # fmt: skip


def test_a_text_of_three_words_is_free_unless_it_was_taken_from_the_user_or_a_tool() -> None:
    arguments = {"a": "the blue one", "b": "two words", "c": "Blue  Wool Scarf", "d": "12 Main Street"}

    seen = SeenResults([{"street": ["12 Main Street"]}])
    assert free_paths(arguments, user="I want the blue wool scarf", results=seen) == {"/a": "facts"}


def test_each_result_is_read_once_however_many_calls_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    texts = free_text._texts
    monkeypatch.setattr(free_text, "_texts", lambda value, schema: read.append(value) or texts(value, schema))
    seen = SeenResults()

    for number in range(500):
        assert free_paths({"a": f"the blue one {number}"}, results=seen) == {"/a": "facts"}
        seen.add({"street": f"{number} Main Street"})

    assert len(read) == 1_000
    assert free_paths({"a": "7 main street", "b": "499  Main Street"}, results=seen) == {}


def test_no_more_text_is_free_once_too_much_was_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_text, "SEARCHED_MAX", 200)
    seen = SeenResults(["x" * 40])

    found = [free_paths({"a": f"the blue one {n}"}, results=seen) for n in range(3)]

    assert found == [{"/a": "facts"}, {"/a": "facts"}, {}]


def test_a_text_that_many_calls_have_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_text, "SEARCHED_MAX", 500)
    seen = SeenResults(["x" * 40])

    assert {tuple(free_paths({"a": "the blue one"}, results=seen)) for _ in range(100)} == {("/a",)}
    seen.add("take the blue one")
    assert {tuple(free_paths({"a": "the blue one"}, results=seen)) for _ in range(100)} == {()}


def test_a_short_text_that_nearly_repeats_what_is_searched_counts_as_much_as_it_takes() -> None:
    repeated = ("aa " * 10_000)[:29_990]
    sought = "aa " * 16 + "bb " + "aa " * 14 + "a"  # CPython compares most of its characters at each place
    seen = SeenResults([repeated])

    found = [free_paths({"a": f"{sought}{n % 10}{n // 10}"}, results=seen) for n in range(500)]

    assert 200 < found.index({}) < 300, "about a hundred million comparisons of a character"


def test_results_are_searched_as_one_text_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    repeated = ("aa " * 10_000)[:29_990]
    monkeypatch.setattr(free_text, "SEARCHED_MAX", 62 * 29_990 + 100)
    seen = SeenResults([repeated] * 62)

    assert free_paths({"a": "aa bb cc"}, results=seen) == {"/a": "facts"}, "each character is searched once"
    assert free_paths({"a": "aa bb dd"}, results=seen) == {}


def test_a_search_takes_any_words() -> None:
    assert free_paths({"query": "blue"}, is_read=True) == {"/query": "any"}
    assert free_paths({"query": "blue"}) == {"/query": "facts"}


def test_of_what_a_read_takes_only_known_searches_accept_any_words() -> None:
    schema = {"properties": {"memo": {"description": "Free text"}}}
    arguments = {"query": "blue", "memo": "Hi", "question": "who has the blue one", "reason": ["y"]}

    assert free_paths(arguments, schema, is_read=True) == {
        "/query": "any", "/memo": "any", "/question": "facts", "/reason/*": "any",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Anna Schmidt",
        "Ludwig van Beethoven",
        "New York City",
        "DE89 3704 0044 0532 0130 00",
        "12 High Street, Berlin",
        "+49 30 1234 5678",
        '{"text": "the blue one", "to": "Anna"}',
        '["the blue one", "the red one"]',
    ],
)
def test_names_addresses_numbers_and_json_are_not_worded(text: str) -> None:
    assert free_paths({"a": text}) == {}


@pytest.mark.parametrize("text", ["Call Anna Schmidt, please.", "返品 を お願いします", "{the blue one}"])
def test_several_words_that_are_no_names_are_worded(text: str) -> None:
    assert free_paths({"a": text}) == {"/a": "facts"}


def test_a_schema_frees_and_fixes_texts() -> None:
    schema = {
        "type": "object",
        "properties": {
            "reason": {"enum": ["late"]},
            "memo": {"description": "Free text for the customer"},
            "tags": {"items": {"pattern": "^a"}},
            "odd": True,
        },
    }

    arguments = {"reason": "late", "memo": "Hi", "tags": ["a b c d"], "odd": "one two three"}
    assert free_paths(arguments, schema) == {"/memo": "facts", "/odd": "facts"}


def test_what_a_model_worded_itself_is_no_source() -> None:
    arguments = {"to": "a@b.c", "mails": [{"body": "Hi", "id": 1}], "note": {"deep": ["x"]}}

    free = ignored_paths(("/mails/*/body", "/note"))
    assert list(fixed_arguments(arguments, free)) == [{"to": "a@b.c"}, {"id": 1}]
