"""Bodies of spans, compressed by the turn: the spans of a turn repeat each other's messages.

Of the spans of a turn that one batch brings, the first row has the bodies of all of them, and the other rows say where
theirs lie in it. The first byte of a stored body tells its format; beside those of `compression.py` these are:

- `TOGETHER`: the length of the row's own body (3 bytes, big-endian), and a frame of Zstandard, with the dictionary, of
  the bodies of several spans, the row's own first;
- `ELSEWHERE`: the id (8 bytes) of the span of the same trace whose row has the body, its holder, and the place of the
  body among those that the holder has: offset and length (3 bytes each).

A holder is a span of the same turn, stored by the same transaction, and removed after all spans whose bodies it has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from zstandard import frame_content_size

from app.models.compression import ZSTD_1, Body, as_they_are, compress_all, decompress
from app.models.queries import by_size

TOGETHER, ELSEWHERE = b"\2", b"\3"
TOGETHER_BYTES = 256 * 1024
"""Bodies that are compressed together at most: who reads one span reads all of them."""
AT_ONCE_BYTES = 4 * 1024 * 1024
"""Bodies that are joined, and compressed, by one call: of a large batch not all, as they are in memory once already."""
_SPAN_ID, _LENGTH = 8, 3

SpanKey = tuple[bytes, bytes]
"""Trace id and span id."""


class Sent(Protocol):
    """A span and its body."""

    @property
    def trace_id(self) -> bytes: ...
    @property
    def span_id(self) -> bytes: ...
    @property
    def prompt_id(self) -> int: ...
    @property
    def raw(self) -> Body: ...


class Bodied(NamedTuple):
    """A span and its body, of which no more is known."""

    trace_id: bytes
    span_id: bytes
    prompt_id: int
    raw: bytes


StoreBodies = Callable[[Sequence[Sent]], list[bytes]]
"""Makes the stored forms of the bodies of spans: `by_turn`, or `as_sent`."""


def as_sent(spans: Sequence[Sent]) -> list[bytes]:
    """Return the bodies of spans, as releases without compression stored them."""
    return as_they_are([span.raw for span in spans])


def by_turn(spans: Sequence[Sent]) -> list[bytes]:
    """Return the stored forms of the bodies of spans, which are in the order of their keys and have one key each."""
    groups = [
        group
        for _, of_turn in groupby(spans, key=lambda span: (span.trace_id, span.prompt_id))
        for group in by_size(list(of_turn), _size, TOGETHER_BYTES)
    ]
    stored: list[bytes] = []
    for some in by_size(groups, lambda group: sum(map(_size, group)), AT_ONCE_BYTES):
        joined = compress_all([_join(group) for group in some])
        for group, form in zip(some, joined, strict=True):
            stored += _forms(group, form)
    return stored


def _size(span: Sent) -> int:
    return len(span.raw)


def _join(group: Sequence[Sent]) -> Body:
    return group[0].raw if len(group) == 1 else b"".join([span.raw for span in group])


def _forms(group: Sequence[Sent], joined: bytes) -> Sequence[bytes]:
    """Return the stored forms of the bodies of a group; `joined` is the stored form of all of them."""
    if len(group) == 1:
        return [joined]
    if not joined.startswith(ZSTD_1):
        return compress_all([span.raw for span in group])
    holder = group[0]
    offset = len(holder.raw)
    forms = [TOGETHER + _number(offset) + joined[len(ZSTD_1) :]]
    for span in group[1:]:
        forms.append(ELSEWHERE + holder.span_id + _number(offset) + _number(len(span.raw)))
        offset += len(span.raw)
    return forms


def _number(value: int) -> bytes:
    return value.to_bytes(_LENGTH, "big")


def holder_of(key: SpanKey, stored: bytes) -> SpanKey | None:
    """Return the span whose row has the body of the span `key`; None where that is its own."""
    return (key[0], stored[1 : 1 + _SPAN_ID]) if stored.startswith(ELSEWHERE) else None


def read(stored: Mapping[SpanKey, bytes], holders: Mapping[SpanKey, bytes]) -> Iterator[tuple[SpanKey, bytes]]:
    """Yield the bodies of spans, but for those that were removed since: their holder is not in `holders` either.

    Raises `ValueError` for a body that is damaged, or that a newer release stored.
    """
    frames: dict[SpanKey, bytes] = {}
    known = {**holders, **stored}
    for key, form in stored.items():
        holder = holder_of(key, form) or key
        if holder not in known:
            continue
        if form[:1] not in (TOGETHER, ELSEWHERE):
            yield key, decompress(form)
            continue
        whole = frames.get(holder)
        if whole is None:
            whole = frames[holder] = decompress(ZSTD_1 + known[holder][1 + _LENGTH :])
        start, length = _place(form)
        yield key, whole[start : start + length]


def read_whole(stored: Mapping[SpanKey, bytes]) -> dict[SpanKey, bytes]:
    """Return the bodies of spans, in their order, but for those in rows that have bodies of others, too."""
    bodies = dict(read(stored, {}))
    held: dict[SpanKey, int] = defaultdict(int)
    holders = {key: holder_of(key, stored[key]) or key for key in bodies}
    for key, holder in holders.items():
        held[holder] += len(bodies[key])
    whole = {
        key
        for key, size in held.items()
        if not stored[key].startswith(TOGETHER) or frame_content_size(stored[key][1 + _LENGTH :]) == size
    }
    return {key: body for key, body in bodies.items() if holders[key] in whole}


def _place(form: bytes) -> tuple[int, int]:
    """Return the offset and the length of a body in what its holder has."""
    if form.startswith(TOGETHER):
        return 0, int.from_bytes(form[1 : 1 + _LENGTH], "big")
    places = form[1 + _SPAN_ID :]
    return int.from_bytes(places[:_LENGTH], "big"), int.from_bytes(places[_LENGTH:], "big")
