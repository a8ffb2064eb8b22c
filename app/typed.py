"""Decoding into typed objects by msgspec, in any number of threads.

msgspec keeps what it knows of a class with the class, from before it has looked at the fields on. A thread that decodes
into a class meanwhile ends the process with a segmentation fault, so that one thread at a time makes msgspec look at
types. `Decoder`, `convert` and `decode` of msgspec itself are forbidden (`pyproject.toml`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_lock = threading.Lock()
_known: set[Any] = set()


def decoder(kind: type[T]) -> Callable[[bytes | bytearray | memoryview | str], T]:
    """Return the function that decodes JSON into `kind`; it raises `msgspec.DecodeError` for other JSON."""
    with _lock:
        return msgspec.json.Decoder(kind).decode


def convert(raw: Any, kind: type[T]) -> T:
    """Return `raw`, made of lists, dicts and scalars, as `kind`; `msgspec.ValidationError` where it is no such."""
    _know(kind)
    return msgspec.convert(raw, kind)


def decode(written: bytes | str, kind: type[T]) -> T:
    """Return the JSON as `kind`; raises `msgspec.DecodeError` for other JSON."""
    _know(kind)
    return msgspec.json.decode(written, type=kind)


def _know(kind: Any) -> None:
    if kind not in _known:
        with _lock:
            msgspec.json.Decoder(kind)
            _known.add(kind)
