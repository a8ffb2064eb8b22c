"""Decoding into typed objects by msgspec, in any number of threads.

msgspec keeps what it knows of a class with the class, from before it has looked at the fields on. A thread that decodes
into a class meanwhile ends the process with a segmentation fault, so that one thread at a time makes msgspec look at
types. `Decoder`, `convert` and `decode` of msgspec itself are forbidden (`pyproject.toml`).
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
    """Return the function that decodes JSON into `kind`; it raises `msgspec.DecodeError` for other JSON."""
    return _decoder(kind)


def convert(raw: Any, kind: type[T]) -> T:
    """Return `raw`, made of lists, dicts and scalars, as `kind`; `msgspec.ValidationError` where it is no such."""
    _decoder(kind)
    return msgspec.convert(raw, kind)


def decode(written: bytes | str, kind: type[T]) -> T:
    """Return the JSON as `kind`; raises `msgspec.DecodeError` for other JSON."""
    return decoder(kind)(written)


def _looked_at(kind: Any) -> Callable[..., Any]:
    """Have msgspec look at the type, which it then knows."""
    with _lock:
        return msgspec.json.Decoder(kind).decode


_decoder: Callable[[Any], Callable[..., Any]] = cache(_looked_at)
