"""Bodies of spans, compressed by the turn: the spans of a turn repeat each other's messages.

The *body* of a span is its JSON, and the *stored form* is what its row has of it. Bodies of a turn that are *joined*,
which means compressed together, are in the row of one of its spans, the *holder*. The rows of the other spans refer to
the holder. The first byte of a stored form is its format. In addition to the formats of `compression.py` these are:

- `JOINED`: the length of the row's own body (3 bytes, big-endian), followed by a frame of Zstandard, with the
  dictionary, of the bodies of several spans, the row's own first;
- `IN_HOLDER`: the id (8 bytes) of the holder, a span of the same trace, and the place of the body among the holder's
  bodies: offset and length (3 bytes each). One byte more, `ALIKE`, if the span has the scope of its holder; only the
  holder's row has the scope then;
- `IN_BLOCK`: the id of a block (6 bytes, see `span_blocks.py`), and the place of the span in it: offset and length (3
  bytes each). There it has its scope (2 bytes for its length, then UTF-8), followed by its body.

A holder is a span of the same turn. The transaction that wrote the place has stored or locked it. A holder is removed
after all spans with bodies in its row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from zstandard import ZstdError, frame_content_size

from app.models.bulk import by_size
from app.models.compression import PLAIN, ZSTD_1, Body, compress_quickly, decompress, without_compression

JOINED, IN_HOLDER, IN_BLOCK = b"\2", b"\3", b"\5"
ALIKE = b"\1"
JOINED_BYTES = 256 * 1024
"""Bytes of bodies that are compressed together, at most: a reader of one of the spans decompresses all of them."""
JOINED_AT_ONCE_BYTES = 4 * 1024 * 1024
"""Bytes of bodies that are joined at once: joining all bodies of a large batch would double its memory."""
HOLDER_START, HOLDER_BYTES = 1, 8
"""The place of the holder's id in a stored body."""
HEAD_BYTES = 24
"""The bytes of a stored body that contain its format and its size."""
_NUMBER = 3
_FRAME, _PLACE = 1 + _NUMBER, HOLDER_START + HOLDER_BYTES
_PLACE_END = _PLACE + 2 * _NUMBER
_BLOCK_ID, _SCOPE_LENGTH = 6, 2
NAME_OF_BLOCK = len(IN_BLOCK) + _BLOCK_ID
"""The bytes at the start of a stored body in a block that all spans of the block share: see `name_of_block`."""

SpanKey = tuple[bytes, bytes]
"""Trace id and span id."""


class SentSpan(Protocol):
    """A span with its instrumentation scope; `raw` is its body."""

    @property
    def trace_id(self) -> bytes: ...
    @property
    def span_id(self) -> bytes: ...
    @property
    def prompt_id(self) -> int: ...
    @property
    def scope(self) -> str: ...
    @property
    def raw(self) -> Body: ...


class RewrittenSpan(NamedTuple):
    """A `SentSpan` that was read from stored rows, so that its body can be stored in another form."""

    trace_id: bytes
    span_id: bytes
    prompt_id: int
    scope: str
    raw: bytes


ToStored = Callable[[Sequence[SentSpan]], dict[SpanKey, bytes]]
"""Makes the stored forms of the bodies of spans with different keys: `joined_by_turn`, or `unjoined`."""


def unjoined(spans: Sequence[SentSpan]) -> dict[SpanKey, bytes]:
    """Return the stored forms without compression, as early releases stored bodies."""
    return dict(zip(map(_key, spans), without_compression([span.raw for span in spans]), strict=True))


def joined_by_turn(spans: Sequence[SentSpan]) -> dict[SpanKey, bytes]:
    """Return the stored forms, in the order of the spans; the bodies of a turn are joined."""
    turns: dict[tuple[bytes, int], list[SentSpan]] = defaultdict(list)
    for span in spans:
        turns[span.trace_id, span.prompt_id].append(span)
    groups = [group for of_turn in turns.values() for group in by_size(of_turn, _size, JOINED_BYTES)]
    stored: dict[SpanKey, bytes] = {}
    for piece in by_size(groups, lambda group: sum(map(_size, group)), JOINED_AT_ONCE_BYTES):
        joined = compress_quickly([_join(group) for group in piece])
        for group, form in zip(piece, joined, strict=True):
            stored.update(zip(map(_key, group), _forms(group, form), strict=True))
    return stored


def _key(span: SentSpan) -> SpanKey:
    return span.trace_id, span.span_id


def _size(span: SentSpan) -> int:
    return len(span.raw)


def _join(group: Sequence[SentSpan]) -> Body:
    return group[0].raw if len(group) == 1 else b"".join([span.raw for span in group])


def _forms(group: Sequence[SentSpan], joined: bytes) -> Sequence[bytes]:
    """Return the stored forms of the bodies of a group; `joined` is the stored form of all of them."""
    if len(group) == 1:
        return [joined]
    if not joined.startswith(ZSTD_1):
        return compress_quickly([span.raw for span in group])
    holder = group[0]
    offset = len(holder.raw)
    forms = [JOINED + _number(offset) + joined[len(ZSTD_1) :]]
    for span in group[1:]:
        place = holder.span_id + _number(offset) + _number(len(span.raw))
        forms.append(IN_HOLDER + place + (ALIKE if span.scope == holder.scope else b""))
        offset += len(span.raw)
    return forms


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER, "big")


def holder_of(key: SpanKey, stored: bytes) -> SpanKey:
    """Return the holder of the body of the span `key`: another span of its trace, or the span itself."""
    return (key[0], stored[HOLDER_START:_PLACE]) if stored.startswith(IN_HOLDER) else key


def own_scope(scope: str, stored: bytes) -> str:
    """Return the scope to store in the row of a span: none if its holder's row has the same."""
    return "" if _is_alike(stored) else scope


def scope_of(key: SpanKey, stored: bytes, scopes: Mapping[SpanKey, str]) -> str:
    """Return the scope of the span `key`; `scopes` are those in its row and in its holder's row."""
    return scopes[holder_of(key, stored) if _is_alike(stored) else key]


def _is_alike(stored: bytes) -> bool:
    return stored.startswith(IN_HOLDER) and stored[_PLACE_END:] == ALIKE


def name_of_block(block_id: int) -> bytes:
    """Return what the stored bodies of all spans in a block begin with."""
    return IN_BLOCK + block_id.to_bytes(_BLOCK_ID, "big")


def block_of(stored: bytes) -> int | None:
    """Return the block of a body, of which `stored` is the stored form or its start; None if it is in no block."""
    return int.from_bytes(stored[1:NAME_OF_BLOCK], "big") if stored.startswith(IN_BLOCK) else None


def join_block(spans: Sequence[SentSpan]) -> tuple[bytes, list[bytes]]:
    """Return the content of a block, and the place of each of the spans in it."""
    entries: list[Body] = []
    places, offset = [], 0
    for span in spans:
        scope = span.scope.encode()
        length = _SCOPE_LENGTH + len(scope) + len(span.raw)
        entries += len(scope).to_bytes(_SCOPE_LENGTH, "big"), scope, span.raw
        places.append(_number(offset) + _number(length))
        offset += length
    return b"".join(entries), places


def size_of_block(head: bytes, stored_bytes: int) -> int:
    """Return the size of the content of a block, from the first bytes and the length of its stored body.

    Raises `ValueError` for a damaged block.
    """
    return _frame_size(head[len(ZSTD_1) :]) if head.startswith(ZSTD_1) else stored_bytes - len(PLAIN)


def read_block(block: bytes, stored: Mapping[SpanKey, bytes]) -> Iterator[tuple[SpanKey, str, bytes]]:
    """Yield the scopes and bodies of spans in a block; `block` is its stored body.

    Raises `ValueError` for a block that is damaged.
    """
    content = decompress(block)
    for key, form in stored.items():
        offset = int.from_bytes(form[NAME_OF_BLOCK : NAME_OF_BLOCK + _NUMBER], "big")
        length = int.from_bytes(form[NAME_OF_BLOCK + _NUMBER :], "big")
        start = offset + _SCOPE_LENGTH
        body = start + int.from_bytes(content[offset:start], "big")
        end = offset + length
        if len(form) != NAME_OF_BLOCK + 2 * _NUMBER or end > len(content) or body > end:
            raise ValueError("What was stored is damaged: a span has another place in its block.")
        yield key, content[start:body].decode(), content[body:end]


def read_all(
    stored: Mapping[SpanKey, bytes],
    scopes: Mapping[SpanKey, str],
    holders: Mapping[SpanKey, bytes],
    blocks: Mapping[int, bytes],
) -> Iterator[tuple[SpanKey, str, bytes]]:
    """Yield the scopes and bodies of spans, in any order, as `read` does.

    `scopes` are those in the rows of the spans and of their holders, `blocks` the stored bodies of blocks. Raises
    `ValueError` for a span in a block that is not among these.
    """
    for key, body in read(in_rows(stored), holders):
        yield key, scope_of(key, stored[key], scopes), body
    yield from read_blocks(stored, blocks)


def in_rows(stored: Mapping[SpanKey, bytes]) -> dict[SpanKey, bytes]:
    """Return the stored forms of bodies that are in no block."""
    return {key: form for key, form in stored.items() if block_of(form) is None}


def read_blocks(stored: Mapping[SpanKey, bytes], blocks: Mapping[int, bytes]) -> Iterator[tuple[SpanKey, str, bytes]]:
    """Yield the scopes and bodies of the spans in blocks, of which `blocks` are the stored bodies.

    Raises `ValueError` for a span in a block that is not among these, and for a damaged block.
    """
    by_block: dict[int, dict[SpanKey, bytes]] = defaultdict(dict)
    for key, form in stored.items():
        if (block_id := block_of(form)) is not None:
            by_block[block_id][key] = form
    for block_id, of_block in by_block.items():
        if block_id not in blocks:
            raise ValueError("What was stored is damaged: the block of a span is missing.")
        yield from read_block(blocks[block_id], of_block)


def size_of(head: bytes, stored_bytes: int) -> int:
    """Return the size of all bodies in a row, from its first HEAD_BYTES in `head` and its length `stored_bytes`.

    For a span in a block that is the size of its body and its scope. Raises `ValueError` for a damaged row.
    """
    if head.startswith(IN_HOLDER):
        return 0
    if head.startswith(IN_BLOCK):
        return int.from_bytes(head[NAME_OF_BLOCK + _NUMBER :], "big")
    for format_, start in ((JOINED, _FRAME), (ZSTD_1, len(ZSTD_1))):
        if head.startswith(format_):
            return _frame_size(head[start:])
    return stored_bytes


def readable_size_of(head: bytes, stored_bytes: int) -> int:
    """Return what `size_of` does; of a damaged row, which can't be decompressed, the size of what is stored."""
    try:
        return size_of(head, stored_bytes)
    except ValueError:
        return stored_bytes


def _frame_size(frame: bytes) -> int:
    try:
        return frame_content_size(frame)
    except ZstdError as error:
        raise ValueError(f"What was stored is damaged: {error}") from error


def read(stored: Mapping[SpanKey, bytes], holders: Mapping[SpanKey, bytes]) -> Iterator[tuple[SpanKey, bytes]]:
    """Yield the bodies of spans, in any order.

    A span is left out if its holder is neither among them nor in `holders`: it was removed after the rows were read.
    Raises `ValueError` for a body that is damaged, or that a newer release stored.
    """
    known = {**holders, **stored}
    # In the order of the holders, so that one frame at a time is in memory.
    named = sorted((holder_of(key, form), key) for key, form in stored.items())
    of_frame: SpanKey | None = None
    frame = b""
    for holder, key in named:
        form, held = stored[key], known.get(holder)
        if held is None:
            continue
        if form[:1] not in (JOINED, IN_HOLDER):
            yield key, decompress(form)
            continue
        if not held.startswith(JOINED):
            raise ValueError("What was stored is damaged: the row that has a body holds none of others.")
        if holder != of_frame:
            of_frame, frame = holder, decompress(ZSTD_1 + held[_FRAME:])
        start, length = _place(form)
        if start + length > len(frame):
            raise ValueError("What was stored is damaged: the row that has a body is too short.")
        yield key, frame[start : start + length]


def read_whole(stored: Mapping[SpanKey, bytes]) -> dict[SpanKey, bytes]:
    """Return the bodies of spans in their order, without spans with a row that holds bodies of spans not among them.

    Raises `ValueError` like `read`.
    """
    bodies = dict(read(stored, {}))
    holders = {key: holder_of(key, form) for key, form in stored.items() if key in bodies}
    sizes: dict[SpanKey, int] = defaultdict(int)
    for key, holder in holders.items():
        sizes[holder] += len(bodies[key])
    whole = {key for key, size in sizes.items() if _held(stored[key]) in (None, size)}
    return {key: bodies[key] for key, holder in holders.items() if holder in whole}


def _held(form: bytes) -> int | None:
    """Return the size of all bodies in a row that has several."""
    return _frame_size(form[_FRAME:]) if form.startswith(JOINED) else None


def _place(form: bytes) -> tuple[int, int]:
    """Return the offset and the length of a body among its holder's bodies."""
    if form.startswith(JOINED):
        return 0, int.from_bytes(form[1:_FRAME], "big")
    if form[_PLACE_END:] not in (b"", ALIKE):
        raise ValueError("What was stored is damaged: the place of a body has another length.")
    offset, length = form[_PLACE : _PLACE + _NUMBER], form[_PLACE + _NUMBER : _PLACE_END]
    return int.from_bytes(offset, "big"), int.from_bytes(length, "big")
