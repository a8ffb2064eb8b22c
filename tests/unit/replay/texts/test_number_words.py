"""Numbers in words, and the work of reading them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.texts.compound_numbers import compound
from app.replay.texts.number_words import find_spelled_out
from tests.unit.replay.texts.test_values import calls

WORDS = "two ten twenty hundred thousand million and a half et quatre vingts cents mille mila dozen few 5 - . eins ein"


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("hundertundeins", 101),
        ("einundzwanzig", 21),
        ("dreissig", 30),
        ("ventuno", 21),
        ("trentatré", 33),
        ("centotto", 108),
        ("veintitrés", 23),
        ("dreitausend", 3000),
        ("millecinquecento", 1500),
        ("tausendfach", None),
        ("camille", None),
        ("", None),
    ],
)
def test_a_compound_of_one_word_is_read(word: str, number: int | None) -> None:
    assert compound(word) == number


@given(st.text() | st.lists(st.sampled_from(WORDS.split(" "))).map(" ".join))
def test_no_text_raises(text: str) -> None:
    assert all(value.form.isdecimal() for value in find_spelled_out(text))


@pytest.mark.parametrize(
    "piece", ["two ", "two-", "hundred and ", "cent ", "a few ", "thousand ", "mila", "et ", "5 million "]
)
def test_four_times_the_text_is_at_most_four_times_the_work(piece: str) -> None:
    few, many = (calls(lambda text: list(find_spelled_out(text)), (piece * size)[:size]) for size in (2_000, 8_000))

    assert many <= 5 * few
