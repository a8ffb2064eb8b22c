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
    if not isinstance(position, list) or len(position) != len(kinds) or not all(map(_fits, position, kinds)):
        raise Invalid("cursor: Not a cursor of this list.")
    return position


def _fits(value: object, kind: type) -> bool:
    """Whether a value is of its kind; numbers are such that the one after them is still a BIGINT."""
    return type(value) is kind and (not isinstance(value, int) or 0 <= value < 2**63 - 1)
