"""Classes of characters, as CommonMark divides them."""

from __future__ import annotations

import unicodedata

ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_WHITE_SPACE = frozenset("\t\n\r \xa0\u1680\u202f\u205f\u3000").union(map(chr, range(0x2000, 0x200B)))


def is_escape(text: str, at: int) -> bool:
    """Return whether the backslash at this place escapes the character after it."""
    return text[at + 1 : at + 2] in ASCII_PUNCTUATION


def is_white_space(char: str) -> bool:
    return char in _WHITE_SPACE


def is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
