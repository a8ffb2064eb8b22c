"""Lists and dicts as Python prints them, which some libraries record instead of JSON (`str(messages)`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

from app.values.json import json_container, parse_exact_json, too_deep

CHARACTERS_MAX = 1_000_000
_STRING = r"""'(?:[^'\\\n]++|\\.)*+'|"(?:[^"\\\n]++|\\.)*+\""""
_TOKEN = re.compile(
    rf"""\s*+(?:(?P<string>{_STRING})
    |(?P<word>(?:True|False|None|nan|-?inf)\b)
    |(?P<number>-?[0-9][0-9.]*+(?:e[+-]?[0-9]++)?)
    |(?P<mark>[][{{}}():,]))""",
    re.VERBOSE,
)
_JSON = {"True": "true", "False": "false", "None": "null", "nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"} | {
    "(": "[",
    ")": "]",
}
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")
_ESCAPED = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}


def recorded_container(value: Any) -> Any:
    """Return a list or object, given as such, as JSON text or as Python's text; None for everything else."""
    container = json_container(value)
    return python_container(value) if container is None else container


def python_container(text: Any) -> Any:
    """Return the list or dict that Python printed as this text, tuples as lists; None for everything else."""
    if not isinstance(text, str) or len(text) > CHARACTERS_MAX or not text.lstrip().startswith(("[", "{")):
        return None
    # Not `join`, which keeps every token until the last one, and frees them all while no other thread runs.
    as_json = StringIO()
    try:
        as_json.writelines(_as_json(text.rstrip()))
        container = parse_exact_json(as_json.getvalue())
    except ValueError:
        return None
    return None if too_deep(container) else container


def python_string(literal: str) -> str:
    """Return the text that Python printed as this literal; raises ValueError for escapes that it never prints."""
    # A search for each escape: one `sub` would let no other thread run until it is done.
    pieces, at = [], 1
    for escape in _ESCAPE.finditer(literal, 1, len(literal) - 1):
        pieces += [literal[at : escape.start()], _unescaped(escape)]
        at = escape.end()
    return "".join([*pieces, literal[at:-1]])


def _unescaped(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2] or escape[3]
    if digits:
        return chr(int(digits, 16))  # ValueError beyond Unicode
    if escape[4] not in _ESCAPED:
        raise ValueError("it is no literal of Python")
    return _ESCAPED[escape[4]]


def _as_json(text: str) -> Iterator[str]:
    """Yield the tokens of a literal as JSON. Raises ValueError for other code; the parser refuses what is left."""
    at, comma = 0, ""
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            raise ValueError("it is no literal of Python")
        at, piece = token.end(), token[token.lastgroup]
        # A comma is written before the next token, and not before ")": a tuple of one has a comma at its end.
        if piece != ")":
            yield comma
        comma = "," if piece == "," else ""
        if not comma:
            yield json.dumps(python_string(piece)) if token.lastgroup == "string" else _JSON.get(piece, piece)
