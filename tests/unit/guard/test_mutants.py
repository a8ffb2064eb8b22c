"""Mutants of sentences: what each operator changes, and what none of them touches."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.guard.mutants import mutants
from app.guard.sentences import sentences

ENGLISH = "You are the agent of this shop and you help with the orders."
GERMAN = "Du bist der Agent und hilfst mit den Bestellungen, wenn es eine ist und sie nicht da sind."


def changed(text: str, sentence: int) -> dict[str, str]:
    """The sentence's part of the text in each mutant, by operator."""
    return {m.operator: m.applied(text) for m in mutants(text, sentences(text)) if m.sentence == sentence}


@pytest.mark.parametrize(
    ("sentence", "operator", "expected"),
    [
        ("Never reveal the code.", "turned", "Always reveal the code."),
        ("Do not call the tool twice.", "turned", "Do call the tool twice."),
        ("You must ask before a refund.", "turned", "You must not ask before a refund."),
        ("Refund at most 50 euros.", "number", "Refund at most 100 euros."),
        ("Refund at most 50 euros.", "weaker", "Refund about 50 euros."),
        ("Wait 2.5 hours.", "number", "Wait 3.5 hours."),
        ("Offer 0 discounts.", "number", "Offer 1 discounts."),
    ],
)
def test_an_operator_changes_a_word_of_an_english_sentence(sentence: str, operator: str, expected: str) -> None:
    text = f"{ENGLISH} {sentence}"
    assert changed(text, 1)[operator] == f"{ENGLISH} {expected}"


def test_a_german_prohibition_is_turned() -> None:
    text = f"{GERMAN} Nenne nie den Code."
    assert changed(text, 1)["turned"] == f"{GERMAN} Nenne immer den Code."


def test_a_line_is_removed_with_its_mark_and_a_sentence_with_the_blank_after_it() -> None:
    text = "Be kind. Be brief.\n- Ask first\n1. Then act\nEnd."
    removed = [m.applied(text) for m in mutants(text, sentences(text)) if m.operator == "without"]
    assert removed == [
        "Be brief.\n- Ask first\n1. Then act\nEnd.",
        "Be kind. \n- Ask first\n1. Then act\nEnd.",
        "Be kind. Be brief.\n1. Then act\nEnd.",
        "Be kind. Be brief.\n- Ask first\nEnd.",
        "Be kind. Be brief.\n- Ask first\n1. Then act\n",
    ]


def test_placeholders_are_not_changed() -> None:
    text = f"{ENGLISH} Greet {{{{always 7}}}} by name."
    assert changed(text, 1).keys() == {"without"}


PARTS = st.sampled_from(["never ", "Must ", "7 ", "{{a}} ", "is ", "the ", "İ", ". ", "\n", "- "])


@given(st.lists(PARTS, max_size=60).map("".join))
def test_each_mutant_differs_and_changes_only_its_sentence(text: str) -> None:
    found = sentences(text)
    for mutant in mutants(text, found):
        piece = found[mutant.sentence].piece
        applied = mutant.applied(text)
        assert applied != text
        if mutant.operator != "without":
            assert piece.begin <= mutant.begin < mutant.end <= piece.end
            assert re.findall(r"\{\{[^{}]*\}\}", applied) == re.findall(r"\{\{[^{}]*\}\}", text)
