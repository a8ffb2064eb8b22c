"""Shows the characters of others' texts that change how a terminal or a reader shows what is around them."""

from __future__ import annotations

import re

# Controls but tab and line feed, characters without a width, marks and overrides of the direction, separators of lines,
# halves of surrogate pairs, fillers, and tags and variation selectors, which spell words that nothing shows.
HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\U000e0000-\U000e0fff"
)
# A sign before the last two variation selectors is drawn as text or as an emoji: after others they show nothing.
_EMOJI = "#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff"
_HIDDEN = re.compile(f"[{HIDDEN}]|(?<![{_EMOJI}])[\ufe0e\ufe0f]")


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
