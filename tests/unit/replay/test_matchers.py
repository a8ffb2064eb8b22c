"""Matchers compare the arguments of two calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from app.replay.arguments import ArgumentsComparison, OpenDifference, compare_arguments
from app.replay.json_differences import ignored_paths
from app.replay.matcher_places import ranked
from app.replay.matchers import parse_matcher, parse_matchers
from app.replay.result_types import Difference
from app.replay.texts.facts import Facts
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

    assert comparison.open == (OpenDifference("/a", "x", "y", "", "is polite"),)
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
def test_exact_matchers_agree_with_no_matchers(recorded: Any, produced: Any, places: list[str]) -> None:
    without = compare(recorded, produced, {})
    differ = bool(without.differences or without.open)

    comparison = compare(recorded, produced, dict.fromkeys(places, "exact"))

    assert bool(comparison.differences or comparison.open) is differ
