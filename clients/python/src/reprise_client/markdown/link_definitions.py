"""Link reference definitions: `[label]: destination "title"` at the beginning of a paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reprise_client.markdown.characters import is_escape

_LONGEST_LABEL = 1_000  # of blanks, escapes and bytes that are not ASCII: the server's parser counts no others
_NESTED_PARENTHESES = 33

_IN_LABEL = re.compile(r"[\[\]\\]")
_IN_ANGLES = re.compile(r"[<>\n\\]")
_DESTINATION_END = re.compile(r"[\0- ]|\Z")
_IN_DESTINATION = re.compile(r"\\[!-/:-@\[-`{-~]|[()]")
_IN_TITLE = {'"': re.compile(r'["\\]'), "'": re.compile(r"['\\]"), "(": re.compile(r"[()\\]")}
_SPACE = re.compile(r"[ \t]*(\n?)[ \t]*")
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")


def labels_in(paragraph: str) -> Iterator[str]:
    """Yield the labels that a paragraph defines, in linear time. No line of it is blank or begins with a blank."""
    at = 0
    while definition := _definition(paragraph, at):
        label, at = definition
        yield label


def _definition(text: str, at: int) -> tuple[str, int] | None:
    """Return the label of the definition at this place, and where the line after the definition begins."""
    if text[at : at + 1] != "[":
        return None
    label_end = _label_end(text, at + 1)
    if label_end < 0 or text[label_end + 1 : label_end + 2] != ":":
        return None
    destination = _after_space(text, label_end + 2)
    destination_end = _destination_end(text, destination) if destination >= 0 else -1
    if destination_end <= destination:
        return None
    end = _title_end(text, destination_end)
    return (text[at + 1 : label_end], end) if end >= 0 else None


def _label_end(text: str, start: int) -> int:
    """Return where the bracket is that closes a label; -1 if none does, or if the label is too long or empty."""
    at, escapes = start, 0
    while match := _IN_LABEL.search(text, at):
        if match[0] == "\\":
            escaped = is_escape(text, match.start())
            at = match.end() + escaped
            escapes += escaped
            continue
        label = text[start : match.start()]
        return (
            match.start() if match[0] == "]" and label.strip(" \t\n") and _cost(label, escapes) < _LONGEST_LABEL else -1
        )
    return -1


def _cost(label: str, escapes: int) -> int:
    blanks = sum(map(label.count, " \t\n"))
    return 2 * escapes + blanks + sum(len(char.encode()) for char in label if char > "\x7f")


def _after_space(text: str, at: int) -> int:
    """Return where the text goes on after blanks with at most one line's end; -1 if it ends there."""
    match = _SPACE.match(text, at)
    return match.end() if match and match.end() < len(text) else -1


def _destination_end(text: str, start: int) -> int:
    """-1 if no destination is there; `start` if it is an empty one."""
    if text[start] == "<":
        return _angles_end(text, start + 1)
    match = _DESTINATION_END.search(text, start)
    end, depth = match.start() if match else len(text), 0
    for mark in _IN_DESTINATION.finditer(text, start, end):
        if mark[0] == "(":
            depth += 1
            if depth > _NESTED_PARENTHESES:
                return -1
        elif mark[0] == ")":
            if depth == 0:
                return mark.start()
            depth -= 1
    return -1 if depth else end


def _angles_end(text: str, at: int) -> int:
    while match := _IN_ANGLES.search(text, at):
        if match[0] != "\\":
            return match.end() if match[0] == ">" else -1
        at = match.end() + is_escape(text, match.start())
    return -1


def _title_end(text: str, at: int) -> int:
    """Return where the line after a definition begins, of which the destination ends here; -1 if there is none."""
    space = _SPACE.match(text, at)
    if space is None or space.end() == len(text):
        return len(text)
    if space.end() == at:
        return -1
    end = _quoted_end(text, space.end())
    after = _LINE_END.match(text, end) if end >= 0 else None
    if after:
        return after.end()
    return text.index("\n", at) + 1 if space[1] else -1


def _quoted_end(text: str, at: int) -> int:
    """Return where a title ends that is in quotes or parentheses; -1 if none does."""
    in_title = _IN_TITLE.get(text[at])
    at += 1
    while in_title and (match := in_title.search(text, at)):
        if match[0] == "(":
            return -1
        if match[0] != "\\":
            return match.end()
        at = match.end() + (text[match.end() : match.end() + 1] != "\n")
    return -1
