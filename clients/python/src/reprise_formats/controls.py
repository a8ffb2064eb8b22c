"""Shows the characters of others' texts that change how a terminal or a reader shows what is around them."""

from __future__ import annotations

import re

# Controls but tab and line feed, marks and overrides of the direction, separators of lines, halves of surrogate pairs.
HIDDEN = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff"
_HIDDEN = re.compile(f"[{HIDDEN}]")


def visible_lines(text: str) -> str:
    r"""Return a text with its hidden characters as `\u001b`, which in JSON mean the same; lines and tabs stay."""
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def visible(text: str) -> str:
    r"""Return a text as one line: also its line feeds and tabs are shown, as `\n` and `\t`."""
    return visible_lines(text).replace("\n", "\\n").replace("\t", "\\t")
