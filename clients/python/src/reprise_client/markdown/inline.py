"""A title without its inline markup.

It is what the parser markdown-it makes of it, which the server uses. An address in angle brackets differs in one
respect: a host in Punycode (`xn--…`), in brackets or of more than 255 characters stays as written.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from reprise_client.markdown.characters import ASCII_PUNCTUATION, is_punctuation, is_white_space
from reprise_client.markdown.emphasis import Delimiter, paired
from reprise_client.markdown.inline_links import address_text, entity_at, inline_link_end, normalized_label

# The depth at which the server's parser stops to look for markup.
_DEEPEST = 20

_TEXT_END = re.compile(r"[\n!#$%&*+\-:<=>@\[\\\]^_`{}~]")
_TAG = re.compile(
    r"""
    <[A-Za-z][A-Za-z0-9-]*
        (?:\s+[a-zA-Z_:][a-zA-Z0-9:._-]*(?:\s*=\s*(?:[^"'=<>`\x00-\x20]+|'[^']*'|"[^"]*"))?)*
        \s*/?>
    |</[A-Za-z][A-Za-z0-9-]*\s*>
    |<!---?>|<!--(?:[^-]|-[^-]|--[^>])*-->
    |<[?].*?[?]>
    |<![A-Za-z][^>]*>
    |<!\[CDATA\[.*?\]\]>
    """,
    re.VERBOSE | re.DOTALL,
)


def without_markup(title: str, references: Collection[str]) -> str:
    """Return the text of a title of one line: a link's is its text, an image's its description, an HTML tag's is none.

    `references` are the normalized labels that the title may refer to. Needs time cubic in the title's markup, and
    nests a few calls for each image in an image, so that the caller bounds both.
    """
    return _Title(title, references).text()


class _Title:
    def __init__(self, title: str, references: Collection[str]) -> None:
        self._title = title
        self._references = references
        self._at = 0
        self._end = len(title)
        self._depth = 0
        self._skipped: dict[int, int] = {}
        self._pieces: list[str] = []
        self._delimiters: list[Delimiter] = []

    def text(self) -> str:
        self._read()
        return "".join(self._pieces)

    def _read(self) -> None:
        """Add the pieces of the title from the position to the end."""
        while self._at < self._end:
            if self._depth >= _DEEPEST or not self._read_one(silent=False):
                self._pieces.append(self._title[self._at])
                self._at += 1
        for piece in paired(self._delimiters):
            self._pieces[piece] = ""

    def _read_one(self, *, silent: bool) -> bool:
        """Move past the markup or the text that is here, and add its text if not `silent`; False if it is neither."""
        char = self._title[self._at]
        if char == "[":
            return self._link(silent)
        if char == "!":
            return self._image(silent)
        if char in "*_":
            return not silent and self._emphasis(char)
        piece = self._simple(char)
        if not piece:
            return False
        text, self._at = piece
        if not silent:
            self._pieces.append(text)
        return True

    def _simple(self, char: str) -> tuple[str, int] | None:
        """Return the text of what is here, and where it ends."""
        if char == "\\":
            return self._escape()
        if char == "`":
            return self._code()
        if char == "<":
            return self._address() or self._tag()
        if char == "&":
            return entity_at(self._title, self._at) if self._at + 1 < self._end else None
        match = _TEXT_END.search(self._title, self._at)
        end = match.start() if match else self._end
        return (self._title[self._at : end], end) if end > self._at else None

    def _escape(self) -> tuple[str, int] | None:
        after = self._at + 1
        if after >= self._end:
            return None
        start = after if self._title[after] in ASCII_PUNCTUATION else self._at
        return self._title[start : after + 1], after + 1

    def _code(self) -> tuple[str, int]:
        """Return a span of code, else its marks unchanged."""
        opening = _run_end(self._title, self._at, self._end)
        start = self._title.find("`", opening, self._end)
        while start >= 0:
            end = _run_end(self._title, start, len(self._title))
            if end > self._end:
                break
            if end - start == opening - self._at:
                return _code_text(self._title[opening:start]), end
            start = self._title.find("`", end, self._end)
        return self._title[self._at : opening], opening

    def _address(self) -> tuple[str, int] | None:
        end = self._title.find(">", self._at, self._end)
        text = address_text(self._title[self._at + 1 : end]) if end >= 0 else None
        return None if text is None else (text, end + 1)

    def _tag(self) -> tuple[str, int] | None:
        match = _TAG.match(self._title, self._at) if self._at + 2 < self._end else None
        return ("", match.end()) if match else None

    def _emphasis(self, mark: str) -> bool:
        start, end = self._at, self._at
        while end < self._end and self._title[end] == mark:
            end += 1
        before = self._title[start - 1] if start else " "
        opens, closes = _flanks(mark, before, self._title[end] if end < self._end else " ")
        for _ in range(start, end):
            self._delimiters.append(Delimiter(mark, start, end - start, opens, closes, len(self._pieces)))
            self._pieces.append(mark)
        self._at = end
        return True

    def _link(self, silent: bool) -> bool:
        start = self._at + 1
        label_end = self._label_end(self._at, nested=False)
        if label_end < 0:
            return False
        after = label_end + 1
        if after < self._end and self._title[after] == "(":
            closer = inline_link_end(self._title, after, self._end)
            if closer < 0:
                return False
            after = closer + 1
            if closer < self._end and self._title[closer] == ")":
                return self._add_link(start, label_end, after, silent)
        after = self._reference_end(start, label_end, after)
        return after >= 0 and self._add_link(start, label_end, after, silent)

    def _add_link(self, start: int, label_end: int, after: int, silent: bool) -> bool:
        if not silent:
            outside = self._end, self._delimiters
            self._at, self._end, self._delimiters = start, label_end, []
            self._depth += 1
            self._read()
            self._depth -= 1
            self._end, self._delimiters = outside
        self._at = after
        return True

    def _image(self, silent: bool) -> bool:
        start = self._at + 2
        if self._title[start - 1 : start] != "[":
            return False
        label_end = self._label_end(start - 1, nested=True)
        if label_end < 0:
            return False
        after = label_end + 1
        if after < self._end and self._title[after] == "(":
            closer = inline_link_end(self._title, after, self._end)
            after = closer + 1 if 0 <= closer < self._end and self._title[closer] == ")" else -1
        else:
            after = self._reference_end(start, label_end, after)
        if after < 0:
            return False
        if not silent:
            self._pieces.append(without_markup(self._title[start:label_end], self._references))
        self._at = after
        return True

    def _reference_end(self, start: int, label_end: int, at: int) -> int:
        """Return where a link or an image ends that is a reference to a definition; -1 if it is none.

        The label that it may have is looked for at `at`.
        """
        label = ""
        own_end = self._label_end(at, nested=True) if self._title[at : at + 1] == "[" and at < self._end else -1
        if own_end >= 0:
            label = self._title[at + 1 : own_end]
        label = normalized_label(label or self._title[start:label_end])
        return (own_end if own_end >= 0 else label_end) + 1 if label in self._references else -1

    def _label_end(self, bracket: int, *, nested: bool) -> int:
        """Return where the bracket is closed that opens here; -1 if nowhere, or before a link if none may be nested."""
        before, level = self._at, 1
        self._at = bracket + 1
        end = -1
        while self._at < self._end:
            here = self._at
            level -= self._title[here] == "]"
            if level == 0:
                end = here
                break
            self._skip()
            if self._title[here] == "[":
                if self._at == here + 1:
                    level += 1
                elif not nested:
                    break
        self._at = before
        return end

    def _skip(self) -> None:
        """Move past one markup or text, or one character."""
        here = self._at
        if here not in self._skipped:
            done = False
            if self._depth < _DEEPEST:
                self._depth += 1
                done = self._read_one(silent=True)
                self._depth -= 1
            else:
                self._at = self._end
            self._skipped[here] = self._at + (not done)
        self._at = self._skipped[here]


def _run_end(text: str, at: int, end: int) -> int:
    """Return where the backticks end that begin here."""
    while at < end and text[at] == "`":
        at += 1
    return at


def _code_text(code: str) -> str:
    padded = code.startswith(" ") and code.endswith(" ") and code.strip(" ")
    return code[1:-1] if padded else code


def _flanks(mark: str, before: str, after: str) -> tuple[bool, bool]:
    """Return whether a run of the mark between these characters can open and can close emphasis."""
    punctuation_before, punctuation_after = is_punctuation(before), is_punctuation(after)
    space_before, space_after = is_white_space(before), is_white_space(after)
    left = not space_after and (not punctuation_after or space_before or punctuation_before)
    right = not space_before and (not punctuation_before or space_after or punctuation_after)
    if mark == "*":
        return left, right
    return left and (not right or punctuation_before), right and (not left or punctuation_after)
