"""Thread-safe decoding into typed objects with msgspec.

msgspec stores its information about a class in the class before it has read the fields. If another thread decodes into
the class at that moment, the process ends with a segmentation fault. So here only one thread at a time makes msgspec
inspect types. msgspec's `Decoder`, `convert` and `decode` are forbidden elsewhere (`pyproject.toml`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_lock = threading.Lock()


def decoder(kind: type[T]) -> Callable[[bytes | bytearray | memoryview | str], T]:
    """Return a function that decodes JSON into `kind`; it raises `msgspec.DecodeError` for other JSON."""
    return _decoder(kind)


def convert(raw: Any, kind: type[T]) -> T:
    """Convert `raw`, made of lists, dicts and scalars, to `kind`; raise `msgspec.ValidationError` if it can't."""
    _decoder(kind)
    return msgspec.convert(raw, kind)


def decode(written: bytes | str, kind: type[T]) -> T:
    """Decode JSON into `kind`; raise `msgspec.DecodeError` for other JSON."""
    return decoder(kind)(written)


def _make_decoder(kind: Any) -> Callable[..., Any]:
    """Make a decoder, for which msgspec inspects the type."""
    with _lock:
        return msgspec.json.Decoder(kind).decode


_decoder: Callable[[Any], Callable[..., Any]] = cache(_make_decoder)
