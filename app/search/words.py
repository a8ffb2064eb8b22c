"""Splits texts into words for the search: folded case, and pairs of characters in scripts without spaces.

Both the index and the queries use this, on every database, so that a text is found by how it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from unicodedata import combining

from app.values.unicode import JOINING, folded, folded_pieces, nfkc

WORD_MAX = 64
"""Characters of a word that count."""
DATA_MIN, DATA_LINE_MIN, DATA_WORD = 128, 60, 16
"""The limits by which a run of ASCII letters, digits and the signs + / - _ = is data such as Base64, and not words.

Data has at least DATA_MIN characters, in lines of at least DATA_LINE_MIN characters. It has at most one sign for each
DATA_WORD characters; paths and names have more.
"""
PIECE = 4 * 1024
"""Characters of a text that are split into words at once; the piece goes on to the end of its last word."""
GROWTH_MAX, GROWTH_OF_SHORT = 2, 64
"""Folding can make a text longer. At most GROWTH_MAX * length + GROWTH_OF_SHORT folded characters are read."""

# Thai, Lao, Burmese, Khmer, Chinese and Japanese are written without spaces between words.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u1049\u1050-\u109d\u1780-\u17d3"
    "\u2e80-\u2fdf\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and accents that Python's `\w` leaves out: combining ones, Hebrew, Arabic, and the scripts of India.
_SIGNS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0d7f\u20d0-\u20ff"
# ASCII text by letters and digits in lower case, with a space for anything else: faster than a pattern.
_ASCII = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
_RUN = re.compile(rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]|[{_SIGNS}])+")
# As `_RUN`, but in texts that are not folded: a character that folding may turn into letters, such as ㎏, is in a run.
_PLACED_RUN = re.compile(rf"[{_UNSPACED}\u3099\u309a]+|[^{_UNSPACED}\x00-/:-@\[-`{{-\x7f\s«»‒-‖‘-‟•、。]+")
_FIRST_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_BETWEEN_RUNS = re.compile(rf"[^\w{_UNSPACED}{_SIGNS}]|_")
_OF_DATA, _DATA_SIGNS = "A-Za-z0-9+/=_-", "+/=_-"
_DATA = re.compile(rf"(?<![{_OF_DATA}])[{_OF_DATA}]{{{DATA_LINE_MIN},}}(?:\r?\n[{_OF_DATA}]{{{DATA_LINE_MIN},}})*")


class Word(NamedTuple):
    """A word and the place of its characters in the text, the last one exclusive."""

    text: str
    start: int
    end: int


def is_unspaced(word: str) -> bool:
    """Return whether a word is of a script without spaces. Such a word is a pair of characters, or a single one."""
    return _FIRST_UNSPACED.match(word) is not None


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order."""
    if text.isascii():
        return [word[:WORD_MAX] for word in _without_data(text).translate(_ASCII).split()]
    return [word for part in parts_of(text) for word in part.words]


def word_set(text: str) -> set[str]:
    """Return the different words of a text."""
    if text.isascii():
        return {word[:WORD_MAX] for word in set(_without_data(text).translate(_ASCII).split())}
    return {word for part in parts_of(text) for word in set(part.words)}


def placed_words(text: str) -> Iterator[Word]:
    """Yield the words of a text with their places in it."""
    return (word for part in parts_of(text) for word in part.placed_words())


class TextPart(NamedTuple):
    """A part of a text: `text` begins at the index `start` of the whole text. No word is in two parts.

    `words` are the words of the first `length` characters of the folded part.
    """

    start: int
    text: str
    words: list[str]
    length: int

    def placed_words(self) -> Iterator[Word]:
        """Yield the words with their places in the whole text."""
        left = self.length
        for run in _PLACED_RUN.finditer(self.text):
            if left <= 0:
                return
            form = _folded(run[0], left)
            left -= len(form)
            begin, end = self.start + run.start(), self.start + run.end()
            # Folding may change the length of a run, for example by ß. Its words are then placed at the whole run.
            grown = len(form) != len(run[0])
            for inner in _RUN.finditer(form):
                for word, index in _split(inner[0]):
                    if grown:
                        yield Word(word, begin, end)
                        continue
                    start = begin + inner.start() + index
                    stop = start + len(word) if is_unspaced(word) else begin + inner.end()
                    yield Word(word, start, stop)


def parts_of(text: str) -> Iterator[TextPart]:
    """Yield the parts of a text, until its words are GROWTH_MAX times longer than the text."""
    text, start = _without_data(text), 0
    left = GROWTH_MAX * len(text) + GROWTH_OF_SHORT
    while start < len(text) and left > 0:
        end = _part_end(text, start + PIECE)
        form = _folded(text[start:end], left)
        left -= len(form)
        words = [word for run in _RUN.findall(form) for word, _ in _split(run)]
        yield TextPart(start, text[start:end], words, len(form))
        start = end


def _part_end(text: str, begin: int) -> int:
    """Return the first index from `begin` on at which no word continues."""
    between = _BETWEEN_RUNS.finditer(text, begin)
    return next((match.start() for match in between if _separates_words(match[0])), len(text))


@lru_cache(4096)
def _separates_words(char: str) -> bool:
    """Return whether a character separates words, also in the folded form of the text."""
    form = nfkc(folded(char))
    return form[0] not in JOINING and not any(map(combining, form)) and all(map(_BETWEEN_RUNS.match, form))


def _without_data(text: str) -> str:
    """Return the text with spaces in the place of data such as Base64; the length is the same."""
    return _DATA.sub(_spaces_for_data, text) if len(text) >= DATA_MIN else text


def _spaces_for_data(run: re.Match[str]) -> str:
    length = len(run[0])
    is_data = length >= DATA_MIN and sum(map(run[0].count, _DATA_SIGNS)) * DATA_WORD <= length
    return " " * length if is_data else run[0]


def _folded(text: str, length: int) -> str:
    """Return the folded form of a text, cut off after about `length` characters: a character may become 18."""
    forms, left = list[str](), length
    for form in folded_pieces(text):
        forms.append(form[:left])
        left -= len(form)
        if left <= 0:
            break
    return "".join(forms)


def _split(run: str) -> Iterator[tuple[str, int]]:
    """Yield the words of a run of letters, each with its index: the run, or its pairs in a script without spaces."""
    if not is_unspaced(run):
        yield run[:WORD_MAX], 0
        return
    for index in range(len(run)):
        yield run[index : index + 2], index
