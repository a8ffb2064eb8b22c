from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_formats.controls import visible_lines
from reprise_formats.quotes import (
    CHARACTERS_AROUND,
    QUOTE_MAX,
    ComparedText,
    Passage,
    QuotedText,
    differing_passages,
)


@pytest.mark.parametrize(
    ("text", "quote", "passage"),
    [
        ("It costs 5 EUR a night.", "5 EUR", Passage("It costs ", "5 EUR", " a night.")),
        ("It costs\n 5\tEUR.", "costs 5 EUR", Passage("It ", "costs\n 5\tEUR", ".")),
        ("5 EUR", " 5  EUR ", Passage("", "5 EUR", "")),
        ("It costs 5 EUR.", "6 EUR", Passage("It costs 5 EUR.")),
        ("It costs 5 EUR.", "", Passage("It costs 5 EUR.")),
        ("", "5 EUR", Passage("")),
        ("ab 5 EURO", "b 5 E", Passage("a", "b 5 E", "URO")),
    ],
)
def test_a_quote_is_found_whatever_white_space_is_in_it(text: str, quote: str, passage: Passage) -> None:
    assert QuotedText(text).passage(quote) == passage


def test_a_long_text_is_shortened_around_the_quote() -> None:
    passage = QuotedText("a " * 1_000_000 + "5 EUR" + " b" * 1_000_000).passage("5 EUR")

    assert passage.quote == "5 EUR"
    assert passage.before.startswith("…")
    assert passage.after.endswith("…")
    assert len(passage.before + passage.after) == 2 * CHARACTERS_AROUND + 2


def test_a_long_quote_and_a_text_without_it_are_cut_off() -> None:
    text = "x" * 10_000

    assert QuotedText(text).passage(text).quote == "x" * QUOTE_MAX + "…"
    assert QuotedText(text).passage("y").before == "x" * 2 * CHARACTERS_AROUND + "…"


def test_hidden_characters_are_visible() -> None:
    passage = QuotedText("a\u202eb <b>5 EUR</b>\x1b[2J c").passage("<b>5 EUR</b>\x1b[2J")

    assert passage == Passage("a\\u202eb ", "<b>5 EUR</b>\\u001b[2J", " c")
    assert passage.line == "a\\u202eb »<b>5 EUR</b>\\u001b[2J« c"


@pytest.mark.parametrize("quote", ['you "owe" 5', r"you \"owe\" 5", 'Ada,\nyou "owe" 5', r"Ada,\nyou \"owe\" 5"])
def test_a_quote_of_arguments_may_have_the_escapes_of_json_or_not(quote: str) -> None:
    arguments = {"name": "send", "arguments": {"text": 'Dear Ada,\nyou "owe" 5 EUR.'}}
    step = {"kind": "tool_call", "expected": arguments, "actual": arguments}

    assert ComparedText(step, "expected").passage(quote).after == ' EUR."}'


@pytest.mark.parametrize(
    ("recorded", "produced", "lines"),
    [
        (
            "It costs 5 EUR per night.",
            "It costs 6 EUR per night.",
            ("It costs »5« EUR per night.", "It costs »6« EUR per night."),
        ),
        ("It is free.", "It is free.", ("It is free.", "It is free.")),
        ("It is free.", "", ("»It is free.«", "")),
        ("It is free", "It is free for you", ("It is free", "It is free» for you«")),
        ("Not taken", "Taken", ("»Not taken«", "»Taken«")),
        ("order", "other", ("»order«", "»other«")),
        ("aaaa", "aa", ("»aaaa«", "»aa«")),
    ],
)
def test_two_texts_are_shown_with_what_differs_in_whole_words(
    recorded: str, produced: str, lines: tuple[str, str]
) -> None:
    assert tuple(passage.line for passage in differing_passages(recorded, produced)) == lines


def test_texts_without_spaces_are_shown_with_what_differs() -> None:
    around = "返金はできません。" * 20

    recorded, produced = differing_passages(f"{around}三日{around}", f"{around}五日{around}")

    assert (recorded.quote, produced.quote) == ("三", "五")
    assert len(recorded.before) < len(around)


@given(st.text("ab \n"), st.text("ab \n"))
def test_passages_of_short_texts_have_the_whole_texts(recorded: str, produced: str) -> None:
    for passage, text in zip(differing_passages(recorded, produced), (recorded, produced), strict=True):
        assert passage.before + passage.quote + passage.after == visible_lines(text)
