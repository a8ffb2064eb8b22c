"""JSON from outside: parsed, repaired where no parser accepts it, and bounded in depth."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from typing import Any

import orjson

MAX_DEPTH = 64
"""Levels of lists and objects that are kept as such in content that came from outside."""
_PIECE = 1024 * 1024
_BOM = b"\xef\xbb\xbf"
# Every escape is consumed in turn, so that an escaped backslash before a `u` is never taken for its start.
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\."
)
Body = bytes | bytearray


def without_bom(body: Body) -> Body:
    return body.removeprefix(_BOM) if body.startswith(_BOM) else body


def valid_utf8(body: Body) -> Body:
    """Return the body itself when it is UTF-8, else a copy with U+FFFD for what isn't."""
    if body.isascii():
        return body
    try:
        _check_utf8(body)
    except UnicodeDecodeError:
        return body.decode(errors="replace").encode()
    return body


def _check_utf8(body: Body) -> None:
    """Check a body piece by piece: decoded at once it could need four times the memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(body)
    for start in range(0, len(view), _PIECE):
        decoder.decode(view[start : start + _PIECE])
    decoder.decode(b"", final=True)


def without_lone_surrogates(body: Body) -> Body:
    """Replace escapes of half a surrogate pair (a text cut in the middle of an emoji) by U+FFFD."""
    if b"\\ud" not in body and b"\\uD" not in body:
        return body

    # Not `sub`, which joins a piece for each escape in one call, during which no other thread runs.
    repaired, at = bytearray(), 0
    for escape in _ESCAPE.finditer(body):
        if escape.lastgroup:
            repaired += body[at : escape.start()]
            repaired += b"\\ufffd"
            at = escape.end()
    repaired += body[at:]
    return repaired


def parse_json(text: str | bytes) -> Any:
    """Return the JSON value in `text`, integers over 64 bits as floats; raises ValueError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        body = text if isinstance(text, bytes) else text.encode(errors="replace")
        repaired = without_lone_surrogates(valid_utf8(body))
        if repaired == body:
            raise
        return orjson.loads(repaired)


def json_or_text(value: Any) -> Any:
    """Return the value of a text that is JSON; other texts, and texts that nest too deeply, are returned unchanged."""
    if not isinstance(value, str):
        return value
    try:
        found = parse_json(value)
    except ValueError:
        return value
    return value if value.count("[") + value.count("{") > MAX_DEPTH and too_deep(found) else found


def json_container(value: Any) -> Any:
    """Return a list or object, given as such or as JSON text; None for everything else (cut text too)."""
    if isinstance(value, str) and not value.lstrip().startswith(("[", "{")):
        return None
    found = json_or_text(value)
    return found if isinstance(found, list | dict) else None


def unwrapped_json(value: Any) -> Any:
    """Do as `json_or_text`, but also decode a list or object that was encoded twice."""
    found = json_or_text(value)
    inner = json_container(found) if isinstance(found, str) else None
    return found if inner is None else inner


def too_deep(value: Any) -> bool:
    """Return whether lists and objects nest deeper than JSON writers surely accept."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (item for item in items if isinstance(item, dict | list))


def count_marks(text: str | bytes) -> int:
    """Return the number of brackets and commas: JSON has at most one element more, and texts in it count, too."""
    # Removing bytes is four times as fast as counting them three times; of characters it is slower.
    return sum(map(text.count, "[{,")) if isinstance(text, str) else len(text) - len(text.translate(None, b"[{,"))
