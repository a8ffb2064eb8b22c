"""Packed texts come back as they were, and only long ones are packed."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.packed_text import FROM_CHARACTERS, MARK, pack, unpack

LONG = "What is the weather in 東京? 🦊 " * 400


@given(st.text(st.characters(codec="utf-8")))
@example("")
@example(MARK)
@example(f"{MARK}no base64")
@example(MARK + LONG)
@example("\0" * FROM_CHARACTERS)
@example(LONG * 80)
def test_every_text_comes_back_as_it_was(text: str) -> None:
    assert unpack(pack(text)) == text


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.integers(0, 2**32))
def test_no_text_but_one_that_looks_packed_becomes_longer(alphabet: str, seed: int) -> None:
    text = "".join(Random(seed).choices(alphabet, k=FROM_CHARACTERS))
    assert len(pack(text)) <= len(text.encode()) or text.startswith(MARK)


def test_a_long_text_is_packed_and_a_short_one_stays_as_it_is() -> None:
    assert pack(LONG).startswith(MARK)
    assert len(pack(LONG)) < len(LONG.encode()) / 10
    short = LONG[: FROM_CHARACTERS - 1]
    assert pack(short) == unpack(short) == short


def test_a_damaged_text_is_an_error() -> None:
    packed = pack(LONG)
    with pytest.raises(ValueError, match="damaged"):
        unpack(packed[: len(MARK) + 8] + "AAAA" + packed[len(MARK) + 12 :])
