"""Cursors of lists: opaque to callers, and no way to ask for more than the list shows."""

from __future__ import annotations

import base64

import orjson

from app.errors import Invalid

Position = list[int | str]


def encode(*position: int | str) -> str:
    """The place after the last entry of a page."""
    return base64.urlsafe_b64encode(orjson.dumps(position)).decode().rstrip("=")


def decode(cursor: str, *kinds: type) -> Position:
    """What `encode` was given; `Invalid` when the cursor is not one of this list's."""
    try:
        position = orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except ValueError as error:
        raise Invalid("cursor: Not a cursor of this list.") from error
    fits = isinstance(position, list) and len(position) == len(kinds)
    if not fits or any(type(value) is not kind for value, kind in zip(position, kinds, strict=True)):
        raise Invalid("cursor: Not a cursor of this list.")
    return list(position)
