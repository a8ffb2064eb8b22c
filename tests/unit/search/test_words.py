"""Texts are split into the same words whether they are ASCII or not, and for the index as for a query."""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search import words
from app.search.query import parse
from app.search.words import DATA_MIN, WORD_MAX, placed_words, word_set, words_of
from tests.support.operations import growth_of

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


SHAPES: dict[str, Callable[[int], str]] = {
    "combining marks": lambda count: "\u0301" * count + "\u0323" * count,
    "words of combining marks": lambda count: "a\u0301\u0323 " * count,
    "surrogate halves": lambda count: "\ud800" * count,
    "one character": lambda count: "a " * count,
    "one character with an accent": lambda count: "é " * count,
    "an unspaced script": lambda count: "東京" * count,
    "equal words": lambda count: "größe " * count,
    "different words": lambda count: " ".join(f"ö{number}" for number in range(count)),
    "ligatures that grow": lambda count: "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * count,
    "one word": lambda count: "ö" * count,
    "a run of letters": lambda count: "a" * count,
    "runs that are almost data": lambda count: ("a" * 59 + " ") * (count // 10),
    "lines that are almost data": lambda count: ("a-/" * 20 + "\n") * (count // 10),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_twice_the_text_needs_twice_the_steps(shape: Callable[[int], str]) -> None:
    def prepare(count: int) -> Callable[[], object]:
        text, asked = shape(count), parse('ör* "東京 a" -b')
        return lambda: (word_set(text), list(placed_words(text)), asked.matches([text]), asked.places_in(text, reach=9))

    assert growth_of(prepare, 40) < 2.4


@pytest.mark.parametrize(
    "text",
    [
        "550e8400-e29b-41d4-a716-446655440000",
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "cs_test_a1Pgv7rK4yZTyPZ6KQzvzY8VgR2XBpsmSOGf3kqCJcjUQ4rvb8nCyZQ1Ab",
        "4711",
        "98765432109876543210",
        "/usr/lib/python3/dist-packages/some/long/path/with-many/parts_of/it/and/no/dots/at/all/so/that/it/is/one/run/of/these/signs/only",
        ",".join(["550e8400-e29b-41d4-a716-446655440000"] * 20),
    ],
)
def test_what_people_look_for_is_kept(text: str) -> None:
    assert word_set(text) == {word[:WORD_MAX] for word in re.findall("[a-z0-9]+", text.lower())}
    assert parse(text[:60]).matches([f"before {text[:60]} after"])


def lines_of(text: str, length: int) -> str:
    return "\n".join(text[start : start + length] for start in range(0, len(text), length))


BYTES = random.Random(1).randbytes(3 * 1024)


@pytest.mark.parametrize(
    "data",
    [
        base64.b64encode(BYTES).decode(),
        base64.urlsafe_b64encode(BYTES).decode(),
        lines_of(base64.b64encode(BYTES[:2880]).decode(), 64),
        lines_of(base64.b64encode(BYTES[:2850]).decode(), 76).replace("\n", "\r\n"),
        BYTES.hex(),
        "0123456789" * (DATA_MIN // 10 + 1),
    ],
)
@pytest.mark.parametrize("around", ["file {} end", "zürich {} ende"])
def test_data_has_no_words(data: str, around: str) -> None:
    text = around.format(data)
    assert word_set(text) == set(around.replace("{}", "").split())
    assert [text[word.start : word.end] for word in placed_words(text)] == around.replace("{}", "").split()


@given(TEXTS, st.integers(1, 30))
def test_a_text_has_the_words_of_its_pieces(text: str, piece: int) -> None:
    whole = words_of(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "PIECE", piece)
        assert words_of(text) == whole
