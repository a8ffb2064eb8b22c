"""JSON from outside: parsed, repaired where no parser accepts it, and bounded in depth."""

from __future__ import annotations

import codecs
import json
import math
import re
from typing import Any

import msgspec
import orjson

from app.values.structs import decoder

MAX_DEPTH = 64
"""Levels of lists and objects that are kept as such in content that came from outside."""
_CONTAINERS = (list, dict)
_PIECE = 1024 * 1024  # bytes
_MEASURED = 64 * 1024  # characters
_BOM = b"\xef\xbb\xbf"
# Every escape is consumed in turn, so that an escaped backslash before a `u` is never taken for its start.
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\."
)
_decode_raw = decoder(msgspec.Raw)
Body = bytes | bytearray
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**64 - 1
_DIGITS_MAX = len(str(INTEGER_MAX))
# The shortest integer beyond 64 bits has 19 digits, so each sixth byte has at least three of them.
_LONG_NUMBER, _SAMPLED, _EACH = b"0" * 19, b"000", 6
_DIGITS_AS_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
_ENCODINGS_MAX = 3
_FIRST = '[{"-0123456789tfn'
"""The characters that JSON can begin with: most texts are rejected by their first one."""
_BEGINS_CONTAINER = frozenset('[{"')


def json_text(value: Any) -> str:
    """Return a JSON value as text, and a text unchanged."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON, also with integers beyond 64 bits, halves of surrogate pairs, and hundreds of levels.

    Raises `RecursionError` for more levels than Python writes.
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value).encode()


def kept_json(value: Any, option: int = 0) -> bytes:
    """Return a value as JSON to keep with many others: what orjson returns has kilobytes of unused memory.

    `option` is one of orjson. Raises `orjson.JSONEncodeError`, which is a `TypeError`.
    """
    return memoryview(orjson.dumps(value, option=option)).tobytes()


def json_length(value: Any) -> int:
    """Return about how many bytes a JSON value has as JSON; other threads run meanwhile, however large it is."""
    length, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            length += 1 + 2 * len(part)
            waiting += part.keys()
            waiting += part.values()
        elif isinstance(part, list | tuple):
            length += 1 + len(part)
            waiting += part
        elif isinstance(part, str):
            length += 2 + sum(_length_of(part[at : at + _MEASURED]) for at in range(0, len(part), _MEASURED))
        else:
            length += len(repr(part))
    return length


def _length_of(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode(errors="replace")) - 2


def without_bom(body: Body) -> Body:
    """Return a body without the byte order mark of UTF-8 at its beginning."""
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


def integer_or_digits(digits: str) -> int | str:
    """Return an integer within 64 bits, or the digits of another one: no column and no JSON writer accepts it."""
    if len(digits) > _DIGITS_MAX:
        return digits
    number = int(digits)
    return number if INTEGER_MIN <= number <= INTEGER_MAX else digits


def number_or_digits(digits: str) -> float | str:
    """Return a number with a fraction or an exponent, or its text if it is too large for a float."""
    number = float(digits)
    return number if math.isfinite(number) else digits


# Python's JSON writer has words for what is no finite number. They stay words, as in attributes.
_LENIENT = json.JSONDecoder(parse_int=integer_or_digits, parse_float=number_or_digits, parse_constant=str)


def parse_json(text: str | bytes) -> Any:
    """Return the JSON value in `text`, integers over 64 bits as floats; raises ValueError.

    `NaN`, `Infinity` and numbers that are too large become texts.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _parse_repaired(text if isinstance(text, bytes) else text.encode(errors="replace"))


def _parse_repaired(body: bytes) -> Any:
    """Return the value of JSON that only a lenient parser accepts, which is slower; raises ValueError."""
    if not body.lstrip().startswith((b"[", b"{", b'"')):
        raise ValueError("it is no JSON")
    repaired = without_lone_surrogates(valid_utf8(body))
    if repaired != body:
        try:
            return orjson.loads(repaired)
        except orjson.JSONDecodeError:
            pass
    if not repaired.lstrip().startswith((b"[", b"{")):
        raise ValueError("it is no JSON")
    try:
        return _LENIENT.decode(repaired.decode())
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def parse_exact_json(text: str) -> Any:
    """Return the value of JSON, in which integers over 64 bits are the text of their digits; raises ValueError."""
    body = text.encode(errors="replace")
    return _parse_repaired(body) if _has_long_number(body) else parse_json(body)


def _has_long_number(body: bytes) -> bool:
    """Return whether there are digits that may be an integer over 64 bits; most texts need only a sample."""
    return _SAMPLED in body[::_EACH].translate(_DIGITS_AS_ZERO) and _LONG_NUMBER in body.translate(_DIGITS_AS_ZERO)


def json_or_text(value: Any) -> Any:
    """Return the value of a text that is JSON; other texts, and texts that nest too deeply, are returned unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in _FIRST:
        return value
    try:
        parsed = parse_exact_json(value)
    except ValueError:
        return value
    return value if may_be_deep(value) and too_deep(parsed) else parsed


def may_be_deep(text: str) -> bool:
    """Return whether a text has more brackets than `MAX_DEPTH`, of which each may be a level."""
    # `count` and `split` read each character; `find` skips to the next bracket ten times as fast.
    left = MAX_DEPTH
    for bracket in "[{":
        at = text.find(bracket)
        while at >= 0:
            left -= 1
            if not left:
                return True
            at = text.find(bracket, at + 1)
    return False


def is_json(text: str) -> bool:
    """Return whether a text is JSON that needs no repair; nothing is made of it."""
    try:
        _decode_raw(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def json_container(value: Any) -> Any:
    """Return a list or object, given as such or as JSON text, which may be encoded several times.

    Return None for everything else, such as text that was cut off.
    """
    for _ in range(_ENCODINGS_MAX):
        if not isinstance(value, str):
            break
        if value.lstrip()[:1] not in _BEGINS_CONTAINER:
            return None
        value = json_or_text(value)
    return value if isinstance(value, _CONTAINERS) else None


def unwrapped_json(value: Any) -> Any:
    """Return the value of a text that is JSON, even if a list or object was encoded several times; else the value."""
    container = json_container(value)
    return json_or_text(value) if container is None else container


def too_deep(value: Any) -> bool:
    """Return whether lists and objects nest deeper than JSON writers surely accept."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(MAX_DEPTH):
        # A call for each of a hundred thousand empty objects would need half a second.
        level = [
            inner
            for outer in level
            if outer
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _CONTAINERS)
        ]
        if not level:
            return False
    return True


def count_marks(text: str | bytes) -> int:
    """Return the number of brackets and commas: JSON has at most one element more, and texts in it count, too."""
    # Removing bytes is four times as fast as counting them three times; of characters it is slower.
    return sum(map(text.count, "[{,")) if isinstance(text, str) else len(text) - len(text.translate(None, b"[{,"))


def json_key(value: Any) -> bytes | str:
    """Return a text that is the same for equal JSON values, and for all empty ones."""
    try:
        return kept_json(value or None, orjson.OPT_SORT_KEYS)
    except TypeError:  # a number beyond 64 bits, or half a surrogate pair
        return repr(value)
