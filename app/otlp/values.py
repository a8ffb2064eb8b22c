"""Values as exporters send them: JSON, repaired if no parser accepts it, and OTLP attribute values (AnyValue)."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import orjson

from app.typed import decoder

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


MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)
_MAX_DIGITS = 64


class _Scalar(msgspec.Struct, gc=False):
    stringValue: str | None = None  # noqa: N815 - the wire's own names
    intValue: int | str | None = None  # noqa: N815


_decode_scalar = decoder(_Scalar)


def any_value(value: Any, depth: int = 0) -> Any:
    """Return a decoded AnyValue object as text, number, bool, None, list or dict; bytes stay base64 text.

    Nesting beyond MAX_DEPTH is None, and so is what is no AnyValue. Integers beyond int64 stay what JSON had,
    doubles without a JSON number ("NaN", "Infinity") these words.
    """
    if not isinstance(value, dict):
        return None
    for kind, inner in value.items():
        read = _KINDS.get(kind)
        if read is not None and inner is not None:
            return read(inner, depth)
    return None


def attributes(pairs: Any, depth: int = 0) -> dict[str, Any]:
    """Return a KeyValue list as a dict; entries that are none are left out, the last of equal keys stays."""
    if not isinstance(pairs, list):
        return {}
    return {
        pair["key"]: any_value(pair.get("value"), depth)
        for pair in pairs
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def integer(value: Any) -> int | None:
    """Return an int64 as number or digits (proto3 JSON allows both, and `1e+21` occurs); None for anything else."""
    kind = type(value)
    if kind is int:
        return int(value)
    if kind is str:
        return _integer_of_text(value) if len(value) <= _MAX_DIGITS else None
    return int(value) if kind is float and value.is_integer() else None


def id_bytes(text: Any, size: int) -> bytes | None:
    """Return the bytes of an id in hexadecimal digits; None for what is none, and for zero."""
    try:
        # It accepts spaces between the bytes, too.
        found = bytes.fromhex(text)
    except (TypeError, ValueError):
        return None
    return found if len(found) == size and len(text) == 2 * size and any(found) else None


def integer_of(value: Any) -> int | None:
    """Return an integer, or its digits as a text; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 64:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def time_ns(value: Any) -> int:
    """Return a time in Unix nanoseconds within int64; 0 where there is none."""
    try:
        ns = int(value)
    except (TypeError, ValueError, OverflowError):
        ns = integer(value) or 0
    return ns if 0 <= ns <= MAX_INT64 else min(max(ns, 0), MAX_INT64)


def _integer_of_text(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def _text(value: Any, depth: int) -> Any:
    return value if isinstance(value, str) else str(value)


def _int(value: Any, depth: int) -> Any:
    whole = integer(value)
    return value if whole is None or not MIN_INT64 <= whole <= MAX_INT64 else whole


def _double(value: Any, depth: int) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _array(value: Any, depth: int) -> Any:
    items = _items(value)
    return [any_value(item, depth + 1) for item in items] if isinstance(items, list) else []


def _items(value: Any) -> Any:
    return value.get("values") if isinstance(value, dict) else None


_KINDS: dict[str, Callable[[Any, int], Any]] = {
    "stringValue": _text,
    "intValue": _int,
    "doubleValue": _double,
    "boolValue": lambda value, depth: value,
    "bytesValue": _text,
    "arrayValue": lambda value, depth: None if depth >= MAX_DEPTH else _array(value, depth),
    "kvlistValue": lambda value, depth: None if depth >= MAX_DEPTH else attributes(_items(value), depth + 1),
}


def raw_value(raw: msgspec.Raw | bytes) -> Any:
    """Return the Python value of one AnyValue still in JSON."""
    try:
        scalar = _decode_scalar(raw)
    except (msgspec.DecodeError, UnicodeError):
        pass
    else:
        if scalar.stringValue is not None:
            return scalar.stringValue
        if scalar.intValue is not None:
            return _int(scalar.intValue, 0)
    try:
        return any_value(parse_json(bytes(raw)))
    except ValueError:
        return None


class LazyAttributes(Mapping[str, Any]):
    """Attributes with values that are decoded on access: ingest reads only a few of many."""

    __slots__ = ("_raw",)
    read: Callable[[Any], Any] = staticmethod(raw_value)

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = raw

    def __getitem__(self, key: str) -> Any:
        if key not in self._raw:
            raise KeyError(key)
        return self.read(self._raw[key])

    def get(self, key: str, default: Any = None) -> Any:
        raw = self._raw.get(key)
        return default if raw is None else self.read(raw)

    def __contains__(self, key: object) -> bool:
        return key in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)
