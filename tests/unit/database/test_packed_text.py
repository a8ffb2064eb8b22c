"""Packed texts come back as they were, and only long ones are packed."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.database.packed_text import FROM_CHARACTERS, MARK, pack, start_size, unpack, unpack_start

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


@given(st.text(st.characters(codec="utf-8")), st.integers(0, 9000))
@example("", 0)
@example(MARK, 10)
@example(f"{MARK}no base64", 10)
@example(MARK + LONG, 10)
@example(LONG * 80, 500)
@example(LONG * 80, 500_000)
def test_the_beginning_of_a_packed_form_suffices_for_that_of_its_text(text: str, characters: int) -> None:
    assert unpack_start(pack(text)[: start_size(characters)], characters) == text[:characters]


@pytest.mark.slow
@pytest.mark.parametrize("characters", [1, 100, 500, 10_000, 100_000])
def test_the_beginning_suffices_where_it_is_what_compresses_worst(characters: int) -> None:
    """What occurs once at the beginning gets the longest codes; what no code makes shorter is stored unchanged."""
    random = Random(1)
    rare = "".join(chr(random.randrange(0x20000, 0x2A000)) for _ in range(characters))
    for rest in ("a" * 2_000_000, "".join(random.choices("abc", (100, 10, 1), k=2_000_000))):
        packed = pack(rare + rest)
        assert packed.startswith(MARK)
        assert unpack_start(packed[: start_size(characters)], characters) == rare


def test_the_beginning_of_a_damaged_text_is_what_can_be_read() -> None:
    packed = pack(LONG)
    assert unpack_start(packed[:-20], 100) == LONG[:100]
    assert [unpack_start(damaged, 100) for damaged in (f"{MARK}hello", f"{MARK}é", MARK)] == ["", "", ""]


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.integers(0, 2**32))
def test_no_text_but_one_that_looks_packed_becomes_longer(alphabet: str, seed: int) -> None:
    text = "".join(Random(seed).choices(alphabet, k=FROM_CHARACTERS))
    assert len(pack(text)) <= len(text.encode()) or text.startswith(MARK)


def test_a_long_text_is_packed_and_a_short_one_is_not() -> None:
    assert pack(LONG).startswith(MARK)
    assert len(pack(LONG)) < len(LONG.encode()) / 10
    short = LONG[: FROM_CHARACTERS - 1]
    assert pack(short) == unpack(short) == short


def test_a_damaged_text_is_an_error() -> None:
    packed = pack(LONG)
    with pytest.raises(ValueError, match="damaged"):
        unpack(packed[: len(MARK) + 8] + "AAAA" + packed[len(MARK) + 12 :])
