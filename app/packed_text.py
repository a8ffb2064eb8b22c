"""Long texts in a compressed form that databases can read: MySQL by its own functions, SQLite by one of Python's.

The form is `MARK` and then, in Base64, what MySQL's COMPRESS() returns: the number of the text's bytes in UTF-8, as
four bytes, the lowest first, and a stream of zlib (https://dev.mysql.com/doc/refman/8.4/en/encryption-functions.html).
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode

MARK = "\1m\1"
"""What a packed text begins with; a text of another kind that begins so is packed in any case."""
FROM_CHARACTERS = 4096
"""Shorter texts stay as they are: a search takes twice as long where it has to unpack, for a quarter of their bytes."""
# Of zlib's levels: the best one takes four times as long, for a seventh fewer bytes.
_LEVEL = 1
_SIZE_BYTES = 4
# Of UTF-8.
_CHARACTER_BYTES = 4
# Deflate takes 15 bits for a byte at most, and begins a block of thousands with the lengths of its codes.
_BYTES_PER_BYTE, _CODES_BYTES = 2, 1024


def pack(text: str) -> str:
    """Return the packed form of a text, or the text where that is no shorter."""
    if len(text) < FROM_CHARACTERS and not text.startswith(MARK):
        return text
    content = text.encode()
    packed = MARK + b64encode(len(content).to_bytes(_SIZE_BYTES, "little") + zlib.compress(content, _LEVEL)).decode()
    return packed if len(packed) < len(content) or text.startswith(MARK) else text


def start_size(characters: int) -> int:
    """Return how much of a packed form suffices to read the first characters of its text, whatever they are."""
    size = _SIZE_BYTES + _CODES_BYTES + _BYTES_PER_BYTE * _CHARACTER_BYTES * characters
    return len(MARK) + 4 * -(-size // 3)


def unpack_start(stored: str, characters: int) -> str:
    """Return the first characters of a text, of whose packed form the first `start_size` are looked at.

    Returns what can be read of a damaged one.
    """
    if not stored.startswith(MARK):
        return stored[:characters]
    try:
        content = b64decode(stored[len(MARK) : start_size(characters)])[_SIZE_BYTES:]
        start = zlib.decompressobj().decompress(content, _CHARACTER_BYTES * characters)
    except (zlib.error, ValueError):
        return ""
    return start.decode(errors="ignore")[:characters]


def unpack(stored: str) -> str:
    """Return the text of a packed form, or `stored` where it is none; raises `ValueError` for one that is damaged."""
    if not stored.startswith(MARK):
        return stored
    try:
        return zlib.decompress(b64decode(stored[len(MARK) :])[_SIZE_BYTES:]).decode()
    except zlib.error as error:
        raise ValueError(f"What was stored is damaged: {error}") from error
