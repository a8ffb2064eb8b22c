"""Splits texts into words for the search: folded case, and pairs of characters in scripts without spaces.

Both the index and the queries use this, on every database, so that a text is found by how it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.values.unicode import folded, nfkc

WORD_MAX = 64
"""Characters of a word that count."""
DATA_MIN, DATA_LINE_MIN, DATA_WORD = 128, 60, 16
"""A run of ASCII letters and digits and of + / - _ = is data, as Base64 has it, if it has this many characters or more,
in lines of so many or more, and so many of them or more for each of the five signs. Paths and names have more signs."""
PIECE = 16 * 1024
"""Characters of a folded text that are split into words at once (and a few more)."""

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
_ASCII_WORD = re.compile("[a-z0-9]+")
_RUN = re.compile(rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]|[{_SIGNS}])+")
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
    """Return whether a word is of a script without spaces: a pair of its characters, or the last one of a run."""
    return _FIRST_UNSPACED.match(word) is not None


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order."""
    text = _without_data(text)
    if text.isascii():
        return [word[:WORD_MAX] for word in text.translate(_ASCII).split()]
    return [word for runs in _runs(text) for run in runs for word, _ in _split(run)]


def word_set(text: str) -> set[str]:
    """Return the different words of a text."""
    text = _without_data(text)
    if text.isascii():
        return {word[:WORD_MAX] for word in set(text.translate(_ASCII).split())}
    return {word for runs in _runs(text) for run in set(runs) for word, _ in _split(run)}


def placed_words(text: str) -> Iterator[Word]:
    """Yield the words of a text with their places in it."""
    text = _without_data(text)
    if text.isascii():
        for match in _ASCII_WORD.finditer(text.lower()):
            yield Word(match.group()[:WORD_MAX], match.start(), match.end())
        return
    for match in _RUN.finditer(text):
        # Folding may change the length of a run, as of ß; only the places of pairs are within it.
        for word, index in _split(_folded(match.group())):
            start = match.start() + index
            yield Word(word, start, min(match.end(), start + len(word)) if is_unspaced(word) else match.end())


def _without_data(text: str) -> str:
    """Return the text, of the same length, with spaces for data, in which no one looks for words."""
    return _DATA.sub(_spaces_for_data, text) if len(text) >= DATA_MIN else text


def _spaces_for_data(run: re.Match[str]) -> str:
    length = len(run[0])
    is_data = length >= DATA_MIN and sum(map(run[0].count, _DATA_SIGNS)) * DATA_WORD <= length
    return " " * length if is_data else run[0]


def _folded(text: str) -> str:
    return nfkc(folded(text))


def _runs(text: str) -> Iterator[list[str]]:
    """Yield the runs of letters of a text, in lists of some that follow each other."""
    whole, start = _folded(text), 0
    while start < len(whole):
        between = _BETWEEN_RUNS.search(whole, start + PIECE)
        end = between.start() if between else len(whole)
        yield _RUN.findall(whole, start, end)
        start = end


def _split(run: str) -> Iterator[tuple[str, int]]:
    """Yield the words of a run of letters, each with its index."""
    if not is_unspaced(run):
        yield run[:WORD_MAX], 0
        return
    for index in range(len(run)):
        yield run[index : index + 2], index
