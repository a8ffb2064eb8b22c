"""The type of a value, and the characters that the readers of values share."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "amount", "ordinal", "date", "time", "code", "label", "email", "url", "name"]


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text.

    Two values mean the same if their kinds are (a number and an amount count as one), their forms are equal, and their
    details are equal or one has none. `other` is a second form of what can be read in two ways (11/05/2026), and
    the digits of a code that a space parts from its letters (CLM 20931), which may be left out. A detail that may be
    one of several has them between `|`.

    | kind | form | detail |
    |---|---|---|
    | number, amount | decimal digits, as `-1299.5` | unit: a currency's code, `%`, `kg`, … |
    | ordinal | decimal digits | – |
    | date | `MM-DD`, or `MM` of a whole month | year |
    | time | `HH:MM` or `HH:MM:SS` of 24 hours | the zone's offsets from UTC |
    | label | its word and its number, as `room 12`; `other` is the number | – |
    | code, email, url, name | what is compared | – |
    """

    kind: Kind
    form: str
    detail: str = ""
    other: str = ""
    spelling: str = ""

    @property
    def space(self) -> str:
        """The group of kinds within which forms are compared: "number" for numbers and amounts, else the kind."""
        return "number" if self.kind == "amount" else self.kind


Reading = tuple[tuple[Value, ...], int]
"""The values at a position of a text, and the position after them."""

LETTER = "A-Za-zÀ-ÖØ-öø-ʯͰ-ԯḀ-ỿ"
"""Letters that form one word with adjacent digits; those of Chinese, Arabic and others do not."""

W = f"[0-9{LETTER}]"
GAP = "[ \xa0]"

_DIGITS_ELSEWHERE = re.compile(r"[^\D0-9]")
_SAME = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {
    ord(char): same
    for same, chars in {
        "-": "‐‑−﹣",
        "'": "’‘ʼ",
        "\xa0": "\u202f\u2009\u2007\u2008\u3000",
        ".": "٫",
        ",": "٬",
        "$": "﹩",
        "¥": "￥",
        "£": "￡",
        "%": "٪﹪",
        "μ": "µ",  # the letter, which is one of words, for the sign
    }.items()
    for char in chars
}


def plainly(text: str) -> str:
    """Return the text, of the same length, with the digits, signs and spaces of other scripts as ASCII has them."""
    return _DIGITS_ELSEWHERE.sub(lambda digit: str(unicodedata.decimal(digit[0])), text.translate(_SAME))
