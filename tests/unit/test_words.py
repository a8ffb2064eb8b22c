"""Texts are split into the same words whether they are ASCII or not, and for the index as for a query."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.words import WORD_MAX, placed_words, word_set, words_of

TEXTS = st.text(st.characters(codec="utf-8"), max_size=300) | st.text(st.characters(max_codepoint=127), max_size=300)


@given(TEXTS)
def test_the_index_has_the_words_that_a_query_looks_for(text: str) -> None:
    assert word_set(text) == set(words_of(text))


@given(st.text(st.characters(max_codepoint=127), max_size=300))
def test_words_of_ascii_are_its_letters_and_digits_in_lower_case(text: str) -> None:
    assert words_of(text) == [word[:WORD_MAX] for word in re.findall("[a-z0-9]+", text.lower())]
    assert words_of(text) == [word.text for word in placed_words(text)]


@pytest.mark.parametrize("text", ["a\x00b", "x" * 200_000, "ORDER_ID-4711\r\n", "😀 Größe 東京都"])
def test_unusual_texts_have_the_same_words_either_way(text: str) -> None:
    assert word_set(text) == set(words_of(text)) == {word.text for word in placed_words(text)}
