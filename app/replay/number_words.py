"""Reads the numbers that a text writes in words.

A number of one word is known by its digits. What is written in several words, "five hundred", "treinta y cinco", "two
and a half", is another number than its first word: it is taken as a whole, and stands for no digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.replay.quantities import read_unit
from app.replay.value_kinds import Value, plainly
from app.replay.vocabulary import HUNDREDS, NUMBER_WORDS, ONES, PARTS, SCALES


def _any(words: Iterator[str] | tuple[str, ...]) -> str:
    return "(?:" + "|".join(words) + ")"


_S = "[ \xa0-]"
# Abbreviations such as "mio" are words of their own elsewhere.
_GREAT = _any((*HUNDREDS, *(word for word in SCALES if len(word) > 3)))
_TENS = _any(word for word, digits in NUMBER_WORDS.items() if int(digits) >= 20)
_LOW = _any((*ONES, *(word for word, digits in NUMBER_WORDS.items() if int(digits) < 20)))
_WORD = _any((_GREAT, _TENS, _LOW))
_NUMERAL = re.compile(
    rf"""(?<![\w-])(?={_WORD}(?!\w))
         (?: {_GREAT}{_S}(?:(?:and|und|et|y|e){_S})?(?={_WORD}(?!\w))
           | {_TENS}{_S}(?:(?:et|y|e){_S})?(?={_LOW}(?!\w))
           | {_TENS}{_S}(?={_GREAT}(?!\w))
           | {_LOW}(?:-(?=(?:{_TENS}|{_LOW})(?!\w))|{_S}(?={_GREAT}(?!\w)))
         )*
         {_WORD}(?:{_S}{_any(PARTS)})?(?!\w)""",
    re.VERBOSE | re.IGNORECASE,
)


def find_spelled_out(text: str) -> Iterator[Value]:
    """Yield the numbers that a text writes as one word, with their units."""
    plain = plainly(text)
    for match in _NUMERAL.finditer(plain):
        if digits := NUMBER_WORDS.get(match[0].lower()):
            yield Value("number", digits, read_unit(plain, match.end())[0])
