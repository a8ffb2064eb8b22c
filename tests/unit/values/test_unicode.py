"""Texts are normalized to Unicode's forms piece by piece, with runs of at most 30 combining marks."""

from __future__ import annotations

import sys
import unicodedata
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.values import unicode
from app.values.unicode import DECOMPOSED_MAX, FEWEST, GRAPHEME_JOINER, JOINING, MARKS_MAX, folded, nfkc

pytestmark = pytest.mark.slow

EVERY_CHARACTER = [chr(code) for code in range(sys.maxunicode + 1)]
ACUTE, DOT_BELOW, DIALYTIKA_TONOS, SOUND_MARK = "\u0301", "\u0323", "\u0344", "\uff9e"
JAMO = "\u1100\u1161\u11a8"
# Characters that are composed, sorted, decomposed or left as they are, and runs of them.
CHARACTERS = st.sampled_from(
    [
        ACUTE,
        DOT_BELOW,
        DIALYTIKA_TONOS,
        SOUND_MARK,
        GRAPHEME_JOINER,
        *JAMO,
        *"a ß\u1f82ﷺ東\u309b\ud800\u0cc6\u0cc2\u0cd5─",
    ]
) | st.characters(codec=None)
TEXTS = st.lists(st.tuples(CHARACTERS, st.integers(1, 40)), max_size=12).map(
    lambda runs: "".join(char * times for char, times in runs)
)


def marks_in_a_row(text: str) -> int:
    """Return the length of the longest run of non-starters, when all is decomposed."""
    decomposed = (unicodedata.combining(part) for char in text for part in unicodedata.normalize("NFKD", char))
    return max((len(list(run)) for mark, run in groupby(decomposed, key=bool) if mark), default=0)


def stream_safe(text: str) -> str:
    """Return the text with joiners, by UAX #15, section 13.1, character by character."""
    safe, count = list[str](), 0
    for char in text:
        classes = [unicodedata.combining(part) for part in unicodedata.normalize("NFKD", char)]
        leading = next((index for index, mark in enumerate(classes) if not mark), len(classes))
        if count + leading > MARKS_MAX:
            safe.append(GRAPHEME_JOINER)
            count = 0
        trailing = next((index for index, mark in enumerate(reversed(classes)) if not mark), len(classes))
        count = count + trailing if trailing == len(classes) else trailing
        safe.append(char)
    return "".join(safe)


@given(TEXTS)
def test_a_text_is_normalized_as_its_stream_safe_form_is(text: str) -> None:
    assert nfkc(text) == unicodedata.normalize("NFKC", stream_safe(text))


@given(TEXTS)
def test_a_text_without_a_long_run_of_marks_is_normalized_as_python_does(text: str) -> None:
    normal = unicodedata.normalize("NFKC", text)

    assert nfkc(text) == normal or marks_in_a_row(text) > MARKS_MAX
    assert folded(text) == nfkc(text).casefold()


@given(TEXTS, st.integers(1, 20))
def test_the_pieces_of_a_text_are_together_normalized_as_the_whole_is(text: str, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unicode, "PIECE", piece)
        pieces = nfkc(text), folded(text)

    assert pieces == (nfkc(text), folded(text))


@pytest.mark.parametrize(
    "run",
    [
        ACUTE + DOT_BELOW,
        DIALYTIKA_TONOS,
        SOUND_MARK,
        "\u1161",
        "\u09be" + ACUTE,
        "\u1f82" + DOT_BELOW * 13,
        "\ud800",
        "ﷺ",
        "東",
        "a",
    ],
)
def test_no_call_gets_a_long_run_of_marks_or_a_long_text(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def normalize(form: str, text: str) -> str:
        read.append(text)
        return unicodedata.normalize(form, text)

    monkeypatch.setattr(unicode, "normalize", normalize)
    for text in (run * 40_000, "".join(sorted(run * 40_000)), "ß" + "".join(sorted(run * 40_000, reverse=True))):
        nfkc(text)

    assert max(map(marks_in_a_row, read)) <= MARKS_MAX
    assert max(map(len, read)) <= unicode.PIECE + MARKS_MAX + DECOMPOSED_MAX
    assert sum(map(len, read)) < 3 * 40_000 * len(run) * 1.2 + 10_000


def test_the_ranges_of_starters_have_no_other_character() -> None:
    starter = unicode.re.compile(f"[{unicode._STARTERS}]")
    assert not [hex(ord(char)) for char in EVERY_CHARACTER if unicode._marks(char) and starter.match(char)]


def test_fewer_characters_have_no_run_of_marks_that_is_too_long() -> None:
    in_one = max(map(unicode._marks, EVERY_CHARACTER))
    before = max(map(unicode._trailing, (char for char in EVERY_CHARACTER if not unicode._marks(char))))

    assert before + (FEWEST - 1) * in_one <= MARKS_MAX < before + FEWEST * in_one


def test_no_character_begins_with_marks_and_goes_on_with_a_starter() -> None:
    for char in EVERY_CHARACTER:
        classes = list(map(unicodedata.combining, unicodedata.normalize("NFKD", char)))
        assert all(classes) or not classes[0]


def test_the_characters_that_join_the_one_before_are_known() -> None:
    decompositions = [unicodedata.decomposition(char).split() for char in EVERY_CHARACTER]
    pairs = [
        tuple(chr(int(code, 16)) for code in parts)
        for parts in decompositions
        if len(parts) == 2 and parts[0][0] != "<"
    ]
    composed = {pair for pair in pairs if len(unicodedata.normalize("NFC", "".join(pair))) == 1}
    jamo = {(lead, vowel) for lead in map(chr, range(0x1100, 0x1113)) for vowel in map(chr, range(0x1161, 0x1176))}
    seconds = {second for _, second in composed | jamo if not unicodedata.combining(second)}

    assert seconds <= JOINING
    assert not JOINING & {first for first, _ in composed}
    assert all(not unicodedata.combining(char) for char in JOINING)
    assert max(len(unicodedata.normalize("NFD", char)) for char in EVERY_CHARACTER) <= DECOMPOSED_MAX
    # Only the last character of a decomposition can be joined by what comes next.
    for char in EVERY_CHARACTER:
        decomposed = unicodedata.normalize("NFKD", char)
        assert decomposed[0] not in JOINING or len(decomposed) == 1
