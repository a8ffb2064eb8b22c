"""Finds a quote in a text, and shows it with what is around it."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, NamedTuple

from reprise_formats.controls import visible_lines

CHARACTERS_AROUND = 100
QUOTE_MAX = 400
WORD_MAX = 30  # characters; some languages have no space between words
_WORD = re.compile(r"\S+")
_ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])')
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Passage(NamedTuple):
    """The part of a text around a quote. `quote` is "" where it is not in the text; `before` then begins the text."""

    before: str
    quote: str = ""
    after: str = ""

    @property
    def line(self) -> str:
        """The passage in one line, with the quote between » and «."""
        marked = f"{self.before}»{self.quote}«{self.after}" if self.quote else self.before
        return " ".join(marked.split())


class QuotedText:
    """A text in which quotes are found, whatever white space is between their words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []  # of the words in the text
        self._places: list[int] = []  # of the words where one space is between them
        words, place = [], 0
        for word in _WORD.finditer(text):
            words.append(word[0])
            self._starts.append(word.start())
            self._places.append(place)
            place += len(word[0]) + 1
        self._spaced = " ".join(words)

    def passage(self, quote: str) -> Passage:
        """Return the first place of a quote with the text around it; hidden characters are visible."""
        spaced = " ".join(quote.split())
        place = self._spaced.find(spaced) if spaced else -1
        if place < 0:
            return Passage(_cut(self._text, 2 * CHARACTERS_AROUND))
        return _passage(self._text, self._original(place), self._original(place + len(spaced) - 1) + 1)

    def _original(self, place: int) -> int:
        """Return the place in the text of a character that has this place where one space is between words."""
        word = bisect_right(self._places, place) - 1
        return self._starts[word] + place - self._places[word]


def differing_passages(recorded: str, produced: str) -> tuple[Passage, Passage]:
    """Return of two texts what is between their equal beginnings and their equal ends, in whole words."""
    length = min(len(recorded), len(produced))
    begin = _equal_beginning(recorded, produced, length)
    end = _equal_beginning(recorded[::-1], produced[::-1], length - begin)
    first, second = (_passage(text, begin, len(text) - end) for text in (recorded, produced))
    return first, second


def _equal_beginning(text: str, other: str, most: int) -> int:
    """Return the length of the equal beginning of two texts, without a part of a word, unless the word is long."""
    equal, differs = 0, most + 1
    while differs - equal > 1:
        middle = (equal + differs) // 2
        if text.startswith(other[equal:middle], equal):
            equal = middle
        else:
            differs = middle
    if all(equal == len(side) or side[equal].isspace() for side in (text, other)):
        return equal
    space = max(text.rfind(space, max(0, equal - WORD_MAX), equal) for space in " \n\t")
    return space + 1 or (equal if equal > WORD_MAX else 0)


def _passage(text: str, start: int, end: int) -> Passage:
    before, after = text[max(0, start - CHARACTERS_AROUND) : start], text[end : end + CHARACTERS_AROUND]
    return Passage(
        visible_lines("…" * (start > CHARACTERS_AROUND) + before),
        _cut(text[start:end], QUOTE_MAX),
        visible_lines(after + "…" * (end + CHARACTERS_AROUND < len(text))),
    )


def unescaped(text: str) -> str:
    """Return JSON with its escapes undone, for reading: judges quote the texts in it with and without escapes."""
    return _ESCAPE.sub(lambda match: _unescaped(match[1]), text)


def _unescaped(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _ESCAPED.get(escape, escape)


class ComparedText:
    """The text of a step's verdict that a judge has read: an answer, or the JSON of a call's arguments."""

    def __init__(self, step: Mapping[str, Any], side: str) -> None:
        value = step[side]
        self._is_json = step["kind"] == "tool_call" and value is not None
        if self._is_json:
            value = unescaped(json.dumps(value["arguments"], ensure_ascii=False))
        self._text = QuotedText(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    def passage(self, quote: str) -> Passage:
        return self._text.passage(unescaped(quote) if self._is_json else quote)


def _cut(text: str, most: int) -> str:
    return visible_lines(text if len(text) <= most else text[:most] + "…")
