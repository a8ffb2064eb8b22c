"""JSON and text as exporters really send them: repairs what no JSON parser takes, without losing a batch."""

from __future__ import annotations

import re
from typing import Any

import msgspec

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BOM = b"\xef\xbb\xbf"

# Every escape is consumed in turn, so that an escaped backslash before a `u` is never taken for its start.
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\."
)


def without_bom(body: bytes) -> bytes:
    return body.removeprefix(_BOM)


def valid_utf8(body: bytes) -> bytes:
    """The body itself when it is UTF-8, else a copy with U+FFFD for what isn't."""
    if body.isascii():
        return body
    try:
        body.decode()
    except UnicodeDecodeError:
        return body.decode(errors="replace").encode()
    return body


def without_lone_surrogates(body: bytes) -> bytes:
    """Escapes of half a surrogate pair (a text cut in the middle of an emoji) become U+FFFD."""

    def repaired(escape: re.Match[bytes]) -> bytes:
        return b"\\ufffd" if escape["lone"] else escape[0]

    return _ESCAPE.sub(repaired, body)


def parse_json(text: str | bytes) -> Any:
    """The JSON value in `text`; raises ValueError (RecursionError where it is nested beyond reason)."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        body = text if isinstance(text, bytes) else text.encode(errors="replace")
        repaired = without_lone_surrogates(valid_utf8(body))
        if repaired == body:
            raise
        return msgspec.json.decode(repaired)


def json_or_text(value: Any) -> Any:
    """A string that holds JSON becomes its value; anything else stays what it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except (ValueError, RecursionError):
        return value


def json_container(value: Any) -> Any:
    """A list or object, given as such or as JSON text; None for everything else (cut text too)."""
    if isinstance(value, str) and not value.lstrip().startswith(("[", "{")):
        return None
    found = json_or_text(value)
    return found if isinstance(found, list | dict) else None
