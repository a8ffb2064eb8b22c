"""Texts as they read without their escapes, which may hide from a pattern what a reader sees.

JSON in a text is masked value by value (`app/otlp/masking.py`). Escapes remain in what is no JSON: lists and dicts as
Python prints them, lines of JSON, JSON that was cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.otlp.mask_texts import MaskingBudget

LEVELS_MAX = 3
"""JSON within JSON is decoded so many times, so deeper escapes are not read."""
_CHARACTERS_PER_ESCAPE = 64  # that can be read in the time that one escape needs
_ESCAPE = re.compile(r"""\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(["'/\\bfnrt]))""")
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HALVES = re.compile("[\ud800-\udfff]")


def unescaped(text: str, budget: MaskingBudget) -> Iterator[str]:
    """Yield the text without its escapes, and again without the escapes that this has shown; raises Exhausted."""
    for _ in range(LEVELS_MAX):
        budget.read(len(text) + _CHARACTERS_PER_ESCAPE * text.count("\\"))
        plain = _without_escapes(text)
        if plain == text:
            return
        yield plain
        text = plain


def _without_escapes(text: str) -> str:
    # A search for each escape: one `sub` would let no other thread run until it is done.
    pieces, at = [], 0
    for escape in _ESCAPE.finditer(text):
        pieces += [text[at : escape.start()], _meant(escape)]
        at = escape.end()
    plain = "".join([*pieces, text[at:]])
    # Two halves of a character become one; RE2 accepts no half.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _HALVES.search(plain) else plain


def _meant(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2] or escape[3]
    if digits:
        return chr(min(int(digits, 16), 0x10FFFF))
    return _MEANT.get(escape[4], escape[4])
