"""Masking costs what the rules and the text measure, and leaves nothing of a secret where it has to stop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid
from app.otlp.mask_texts import ELEMENTS_MAX, GROWTH_MAX, MaskingBudget, TextRule
from app.otlp.masking import MASK, RULES_MAX, Masking, Rule, checked
from app.values.json import parse_json
from tests.support.exports import span

MB = 1024 * 1024
LONG = "a" * 100


class Pattern:
    """A compiled pattern that counts how much it was asked to search."""

    def __init__(self, pattern: Any) -> None:
        self.pattern = pattern
        self.searched = 0
        self.programsize = pattern.programsize

    def finditer(self, text: str) -> Iterator[Any]:
        self.searched += len(text)
        yield from self.pattern.finditer(text)


def searched(rules: int, text: str) -> int:
    """Characters that `rules` rules are asked to search of a span with this text."""
    masking = Masking([Rule("pattern", "[0-9]{16}")] * rules)
    patterns = [Pattern(rule.pattern) for rule in masking.texts]
    masking.texts = [TextRule(pattern, MASK) for pattern in patterns]
    masking.span(json.dumps(span({"a": text, "b": json.dumps([text, {"c": text}])})).encode())
    return sum(pattern.searched for pattern in patterns)


def test_twice_the_rules_and_twice_the_text_are_at_most_twice_as_much_to_search() -> None:
    words = "word " * 1_000
    assert searched(100, words) <= 2 * searched(50, words)
    assert searched(50, words * 2) <= 2 * searched(50, words)


@pytest.mark.parametrize("pattern", ["a*", "", "a?", "x|", "^", "$", "(?m)$", "(a|b*)+", "(?i)x{0,3}"])
def test_a_pattern_that_matches_the_empty_text_is_refused_by_its_place(pattern: str) -> None:
    with pytest.raises(Invalid, match=r"masking\.1\.value: matches the empty text"):
        checked([Rule("pattern", "b"), Rule("pattern", pattern)])


def test_a_pattern_of_old_that_matches_the_empty_text_masks_what_it_finds_and_nothing_else() -> None:
    assert Masking([Rule("pattern", "a*")]).text("caab") == f"c{MASK}b"
    assert Masking([Rule("pattern", r"\b")]).text("two words") == "two words"


def test_three_rules_of_long_replacements_make_no_megabytes_of_eleven_characters() -> None:
    for pattern in ("a*", "a"):
        found = Masking([Rule("pattern", pattern, LONG)] * 4).text("abcabcabcab")
        assert len(found) <= 11 + GROWTH_MAX
        assert "b" in found or found == MASK


class Processor:
    """A clock that advances by a second for each 64 Ki of characters that a pattern is asked to search."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern

    def __call__(self) -> float:
        return self.pattern.searched / 65_536


LARGE = "[ab]{200}c"


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["[ab]c", LARGE])
def test_a_pattern_that_needs_all_its_time_masks_the_rest_whole_and_searches_no_more(rule: str) -> None:
    (compiled,) = Masking([Rule("pattern", rule)]).texts
    pattern = Pattern(compiled.pattern)
    budget = MaskingBudget(seconds=20, clock=Processor(pattern))
    masking = Masking([])
    masking.texts = [TextRule(pattern, MASK)]
    texts = [masking.text("ab" * 32_768, budget) for _ in range(40)]

    assert texts == ["ab" * 32_768] * 20 + [MASK] * 20
    assert pattern.searched == 21 * 65_536


@pytest.mark.slow
def test_a_text_that_a_large_pattern_would_search_for_longer_than_its_time_is_searched_in_pieces_until_then() -> None:
    (compiled,) = Masking([Rule("pattern", LARGE)]).texts
    pattern = Pattern(compiled.pattern)
    masking = Masking([])
    masking.texts = [TextRule(pattern, MASK)]

    assert masking.text("ab" * 5_000_000, MaskingBudget(seconds=20, clock=Processor(pattern))) == MASK
    assert pattern.searched == 21 * 65_536


TEXT = st.text("ab0 \"\\{}[]':,", max_size=200)
WRITTEN = st.text(st.characters(exclude_categories=["Cs"]), max_size=100)
RULES = st.lists(st.tuples(st.sampled_from(["a", "a*", "a+", "[ab]", r"\d", ".", "(?s)a.*b|a"]), WRITTEN))


@given(TEXT, RULES, st.integers(0, 300), st.integers(0, 50_000))
def test_no_rules_make_more_of_a_text_than_the_budget_allows(
    text: str, rules: list[tuple[str, str]], growth: int, search: int
) -> None:
    masking = Masking([Rule("pattern", pattern, written) for pattern, written in rules])
    found = masking.text(text, MaskingBudget(search=search, growth=growth))
    assert found == MASK or len(found) <= len(text) + growth


@given(st.integers(0, 30), st.integers(0, 60_000))
def test_where_the_budget_ends_nothing_of_a_secret_is_left(growth: int, search: int) -> None:
    masking = Masking([Rule("pattern", "s3cr3t"), Rule("pointer", "/list/*/password", "[a password]")])
    said = {"many": "s3cr3t " * 9, "list": [{"password": "s3cr3t", "n": 1}] * 9, "text": json.dumps(["s3cr3t"] * 9)}
    budget = MaskingBudget(search=search, growth=growth)
    assert "s3cr3t" not in json.dumps([masking.at(value, (key,), budget=budget) for key, value in said.items()])


@pytest.mark.slow
@pytest.mark.parametrize(
    "value", ["1 " * MB, json.dumps(["1"] * MB), json.dumps(dict.fromkeys(map(str, range(300_000)), 1))]
)
def test_a_span_full_of_what_is_found_grows_no_further_than_the_budget(value: str) -> None:
    raw = json.dumps(span({"a": value, "b": value[: MB // 4]})).encode()
    for rule in (Rule("pattern", "1", LONG), Rule("pointer", "/a/*", LONG)):
        assert len(Masking([rule]).span(raw)) <= len(raw) + GROWTH_MAX


def test_a_pattern_that_looks_to_the_end_for_each_thing_it_finds_is_stopped() -> None:
    pattern = Masking([Rule("pattern", "(?s)a.*b|a", "-")])
    budget = MaskingBudget(search=10 * MB)
    assert pattern.text("a" * 50_000, budget) == MASK
    assert pattern.text("a" * 50_000, budget) == MASK
    assert pattern.text("nothing to be seen", budget) == "nothing to be seen"


def test_all_spans_of_a_batch_share_what_they_search() -> None:
    masking, budget = Masking([Rule("pattern", "1")]), MaskingBudget()
    raw = json.dumps(span({"a": "1" * 1_000})).encode()
    masking.span(raw, budget)
    first = budget.search
    masking.span(raw, budget)
    assert MaskingBudget().search - budget.search == 2 * (MaskingBudget().search - first)


TINY = json.dumps([[]] * 20_000)
PATTERN, POINTER = Rule("pattern", "secret"), Rule("pointer", "/a/0/nowhere")


@pytest.mark.parametrize("rule", [PATTERN, POINTER], ids=["pattern", "pointer"])
def test_json_of_tiny_members_is_masked_whole_before_it_is_read(rule: Rule) -> None:
    many = json.dumps([[]] * (ELEMENTS_MAX // 2 + 1))
    with mock.patch("app.otlp.masking.parse_json", wraps=parse_json) as parsed:
        assert Masking([rule]).at([many], ("a",)) == MASK
    assert not parsed.called


@pytest.mark.slow
@pytest.mark.parametrize("rules", [[PATTERN], [POINTER], [Rule("pointer", f"/a/0/{n}") for n in range(RULES_MAX)]])
def test_all_json_of_a_batch_shares_what_it_may_have_of_elements(rules: list[Rule]) -> None:
    masked, budget = Masking(rules), MaskingBudget()
    with mock.patch("app.otlp.masking.parse_json", wraps=parse_json) as parsed:
        values = [masked.at([TINY], ("a",), budget=budget) for _ in range(100)]

    elements = sum(map(TINY.count, "[,"))
    assert values[0] in ([TINY], MASK)
    assert values[-1] == MASK
    assert parsed.call_count * elements <= 2 * MB + elements


def test_json_that_no_rule_concerns_is_neither_read_nor_masked() -> None:
    raw = json.dumps(span({"b": json.dumps([[]] * ELEMENTS_MAX)})).encode()
    budget = MaskingBudget(search=0)
    assert Masking([POINTER]).span(raw, budget) is raw
    assert Masking([POINTER, PATTERN]).span(raw, budget) != raw


def test_the_pseudonym_of_a_conversation_is_the_same_where_its_budget_ends() -> None:
    conversation_id = json.dumps(["conversation", "secret"])
    raw = json.dumps(span({"gen_ai.conversation.id": conversation_id})).encode()
    masked = [json.loads(Masking([PATTERN]).span(raw, MaskingBudget(search=search))) for search in (0, 10 * MB)]
    assert masked[0]["attributes"] == masked[1]["attributes"]
