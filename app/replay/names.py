"""Finds proper names: words that the sources of a text spell with a capital letter where nothing else asks for one.

Scripts without capital letters have no names here, and neither have sentences in German, which capitalises every noun.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from app.replay.value_kinds import Value, plainly
from app.replay.vocabulary import CODES, GERMAN, GREETINGS, MONTHS, NO_NAMES

TITLE_WORDS = 6  # a text of no more words and without a full stop is a title, whose first word may be a name

_WORD = re.compile(r"[^\W\d_]++(?:['-][^\W\d_]++)*+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SENTENCE_ENDS = frozenset('.!?:;\n\r\t"“”„«»()[]{}•*#>|-–—…')
_POSSESSIVE = ("'s", "'S")


def name_words(text: str) -> set[str]:
    """Return the words of a source that can be names, as they are spelled there."""
    plain = plainly(text)
    words = list(_WORD.finditer(plain))
    if _is_german(match[0] for match in words):
        return set()
    is_title = len(words) <= TITLE_WORDS and not plain.rstrip().endswith((".", "!", "?"))
    return {
        _bare(match[0])
        for match in words
        if _is_capitalised(match[0]) and (is_title or not _starts_sentence(plain, match.start()))
    }


def plain_words(text: str) -> set[str]:
    """Return the words that a text writes without a capital letter, addresses aside; `emailBody` has `email`."""
    text = " ".join(part for part in text.split() if "@" not in part and "://" not in part)
    return {word.lower() for match in _WORD.finditer(text) for word in _HUMP.split(match[0]) if not word[0].isupper()}


def folded_words(text: str) -> frozenset[str]:
    """Return all words of a text, without regard to case."""
    return frozenset(_bare(match[0]).casefold() for match in _WORD.finditer(plainly(text)))


def find_names(text: str, known: set[str] | frozenset[str]) -> Iterator[Value]:
    """Yield the names in a text that are `known`; neighbours make one. The person who is greeted is left out."""
    plain = plainly(text)
    run: list[re.Match[str]] = []
    is_greeted = False
    for match in _WORD.finditer(plain):
        is_known = _bare(match[0]) in known
        if run and not (is_known and plain[run[-1].end() : match.start()] in (" ", "\xa0")):
            yield _name(run)
            run = []
        is_greeted = match[0].lower() in GREETINGS or (is_greeted and match[0][0].isupper())
        if is_known and not is_greeted:
            run.append(match)
    if run:
        yield _name(run)


def _name(run: list[re.Match[str]]) -> Value:
    spelling = " ".join(_bare(match[0]) for match in run)
    return Value("name", spelling.casefold(), spelling=spelling)


def _bare(word: str) -> str:
    return word[:-2] if word.endswith(_POSSESSIVE) else word


def _is_capitalised(word: str) -> bool:
    lower = _bare(word).lower()
    return word[0].isupper() and len(word) > 1 and not (lower in NO_NAMES or lower in MONTHS or word in CODES)


def _starts_sentence(text: str, start: int) -> bool:
    before = text[max(start - 8, 0) : start].rstrip(" \xa0")
    return not before or before[-1] in _SENTENCE_ENDS


def _is_german(words: Iterable[str]) -> bool:
    return sum(word in GERMAN for word in words) >= 2
