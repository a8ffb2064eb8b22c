"""Values as exporters send them: JSON, repaired if no parser accepts it, and OTLP attribute values (AnyValue)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from app.values.json import MAX_DEPTH, parse_json
from app.values.structs import decoder

MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)
_MAX_DIGITS = 64


class _Scalar(msgspec.Struct, gc=False):
    stringValue: str | None = None  # noqa: N815 - the wire's own names
    intValue: int | str | None = None  # noqa: N815


_decode_scalar = decoder(_Scalar)


def any_value(value: Any, depth: int = 0) -> Any:
    """Return a decoded AnyValue object as text, number, bool, None, list or dict; bytes stay base64 text.

    Nesting beyond MAX_DEPTH is None, and so is what is no AnyValue. Integers beyond int64 are the text of their digits
    where these are known, doubles without a JSON number the words "NaN", "Infinity" and "-Infinity".
    """
    if not isinstance(value, dict):
        return None
    for kind, inner in value.items():
        read = _KINDS.get(kind)
        if read is not None and inner is not None:
            return read(inner, depth)
    return None


def attributes(pairs: Any, depth: int = 0) -> dict[str, Any]:
    """Return a KeyValue list as a dict: the last of equal keys, without entries that have no key."""
    if not isinstance(pairs, list):
        return {}
    read = {}
    for pair in pairs:
        if isinstance(pair, dict) and isinstance(key := pair.get("key"), str):
            value = pair.get("value")
            # Most values are texts.
            text = value.get("stringValue") if isinstance(value, dict) and len(value) == 1 else None
            read[key] = text if isinstance(text, str) else any_value(value, depth)
    return read


def integer(value: Any) -> int | None:
    """Return an int64 as number or digits (proto3 JSON allows both, and `1e+21` occurs); None for anything else."""
    kind = type(value)
    if kind is int:
        return int(value)
    if kind is str:
        return _integer_of_text(value) if len(value) <= _MAX_DIGITS else None
    return int(value) if kind is float and value.is_integer() else None


def id_bytes(text: Any, size: int) -> bytes | None:
    """Return the bytes of an id in hexadecimal digits; None for any other value, and for an id of zeros."""
    try:
        # `fromhex` accepts spaces between the bytes, so the length of the text is compared below.
        decoded = bytes.fromhex(text)
    except (TypeError, ValueError):
        return None
    return decoded if len(decoded) == size and len(text) == 2 * size and any(decoded) else None


def plain_integer(value: Any) -> int | None:
    """Return an integer that is a number or a text of digits; unlike `integer` None for `-1`, `1.0` and `"1e3"`."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
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
    if whole is None or not MIN_INT64 <= whole <= MAX_INT64:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return whole


def _double(value: Any, depth: int) -> Any:
    return word_of(value) if isinstance(value, float) and not math.isfinite(value) else value


def word_of(number: float) -> str:
    """Return the word of a number that JSON does not have."""
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


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
        whole = scalar.intValue
        if type(whole) is int and MIN_INT64 <= whole <= MAX_INT64:
            return whole
        if whole is not None:
            return _int(whole, 0)
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
