"""Shows the characters of others' texts that change how a terminal or a reader shows what is around them."""

from __future__ import annotations

import re

# Controls but tab and line feed, characters without a width, marks and overrides of the direction, separators of lines,
# halves of surrogate pairs, and tags, which spell words that nothing shows.
HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\U000e0000-\U000e007f"
)
_HIDDEN = re.compile(f"[{HIDDEN}]")


def visible_lines(text: str) -> str:
    r"""Return a text with its hidden characters as `\u001b`, which in JSON mean the same; lines and tabs stay."""
    return _HIDDEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    """Return the character as in JSON: one beyond the Basic Multilingual Plane as a surrogate pair."""
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def visible(text: str) -> str:
    r"""Return a text as one line: also its line feeds and tabs are shown, as `\n` and `\t`."""
    return visible_lines(text).replace("\n", "\\n").replace("\t", "\\t")
