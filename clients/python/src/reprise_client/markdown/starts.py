"""Recognizes the blocks that the text of a line, after its indentation, begins."""

from __future__ import annotations

import re

FLAGS = re.ASCII | re.IGNORECASE

# The names of HTML's blocks, from the CommonMark specification (0.31, section 4.6, start condition 6).
_BLOCK_TAGS = """
    address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt
    fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link
    main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead
    title tr track ul
"""
_ATTRIBUTE = r"""[a-z_:][a-z0-9_.:-]*(?:[ \t]*=[ \t]*(?:"[^"]*"|'[^']*'|[^ \t'"=<>`][^ '"=<>`]*(?=[ >])))?"""

_ATX = re.compile(r"(#{1,6})(?![^ \t])")
_FENCE = re.compile(r"`{3,}(?=[^`]*\Z)|~{3,}")
_ITEM = re.compile(r"(?:[*+-]|([0-9]{1,9})[.)])(?![^ \t])")
_HTML_UNTIL = [
    (re.compile(start, FLAGS), end)
    for start, end in [
        (r"<pre(?![^ \t>])", "</pre>"),
        (r"<style(?![^ \t>])", "</style>"),
        (r"<script(?![^ \t>])", "</script>"),
        (r"<textarea(?![^ \t>])", "</textarea>"),
        (r"<!--", "-->"),
        (r"<\?", "?>"),
        (r"(?-i:<!\[CDATA\[)", "]]>"),
        (r"<![a-z]", ">"),
    ]
]
_HTML_BLOCK = re.compile(rf"</?(?:{'|'.join(_BLOCK_TAGS.split())})(?=[ \t>]|/>|\Z)", FLAGS)
_HTML_TAG = re.compile(rf"<(?:[a-z][a-z0-9-]*(?:[ \t]+{_ATTRIBUTE})*[ \t]*/?|/[a-z][a-z0-9-]*[ \t]*)>[ \t]*\Z", FLAGS)


def heading_level(text: str) -> int:
    """1 to 6 for an ATX heading, else 0."""
    match = _ATX.match(text)
    return len(match[1]) if match else 0


def fence(text: str) -> str:
    """Return the marks of the code fence that the text opens; none if it opens none."""
    match = _FENCE.match(text)
    return match[0] if match else ""


def is_closing_fence(text: str, opening: str) -> bool:
    marks = text.rstrip(" ")
    return len(marks) >= len(opening) and not marks.strip(opening[0])


def is_thematic_break(text: str) -> bool:
    mark = text[:1]
    return mark in ("*", "-", "_") and not text.strip(mark + " \t") and text.count(mark) >= 3


class ThematicBreaks:
    """Finds the thematic breaks at any place of a line, in time linear in the line for all of them."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._begins: dict[str, int] = {}

    def are_at(self, at: int) -> bool:
        """Return whether the line is a thematic break from there on."""
        mark = self._line[at]
        if mark not in self._begins:
            self._begins[mark] = len(self._line.rstrip(mark + " \t"))
        return self._begins[mark] <= at and is_thematic_break(self._line[at:])


def item_mark(line: str, at: int) -> str:
    """Return the mark of a list's item that is at this place; none if there is none."""
    match = _ITEM.match(line, at)
    return match[0] if match else ""


def html_end(text: str) -> str:
    """Return the end of the HTML block that the text begins; "" if it begins none, or one that a blank line ends."""
    return next((end for start, end in _HTML_UNTIL if start.match(text)), "")


def is_html_block(text: str) -> bool:
    return bool(_HTML_BLOCK.match(text))


def is_html_tag(text: str) -> bool:
    """Return whether the text is a complete tag, which begins a block that interrupts no paragraph."""
    return bool(_HTML_TAG.match(text))


def interrupts_a_paragraph(text: str, *, lazily: bool) -> bool:
    """Return whether the text begins another block; `lazily`: it lacks markers of the paragraph's containers."""
    mark = text[:1]
    if mark.isalpha():
        return False
    if mark == "<":
        return bool(html_end(text)) or is_html_block(text)
    if mark == "#":
        return heading_level(text) > 0
    if mark in ("`", "~"):
        return fence(text) != ""
    return mark == ">" or is_thematic_break(text) or _item_interrupts(text, lazily)


def _item_interrupts(text: str, lazily: bool) -> bool:
    item = _ITEM.match(text)
    if not item:
        return False
    return lazily or (int(item[1] or 1) == 1 and bool(text[item.end() :].strip(" \t")))
