"""Long texts in a compressed form that databases can read: MySQL with its functions, SQLite with one of ours.

The form is `MARK` and then, in Base64, the result of MySQL's COMPRESS(): the length of the text in bytes of UTF-8, as
four bytes, little-endian, and a zlib stream (https://dev.mysql.com/doc/refman/8.4/en/encryption-functions.html).
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode

MARK = "\1m\1"
"""The beginning of a packed text. A plain text that begins the same way is always packed."""
FROM_CHARACTERS = 4096
"""Shorter texts are not packed: it would save a quarter of their bytes, and make searches half as fast."""
# zlib's fastest level: the best one is four times slower, for a seventh fewer bytes.
_LEVEL = 1
_SIZE_BYTES = 4
# The longest character in UTF-8.
_CHARACTER_BYTES = 4
# Deflate needs at most 15 bits per byte, and begins a block of thousands of bytes with the lengths of its codes.
_BYTES_PER_BYTE, _CODES_BYTES = 2, 1024


def pack(text: str) -> str:
    """Return the packed form of a text, or the text if packing does not make it shorter."""
    if len(text) < FROM_CHARACTERS and not text.startswith(MARK):
        return text
    content = text.encode()
    packed = MARK + b64encode(len(content).to_bytes(_SIZE_BYTES, "little") + zlib.compress(content, _LEVEL)).decode()
    return packed if len(packed) < len(content) or text.startswith(MARK) else text


def start_size(characters: int) -> int:
    """Return how many characters of a packed form are always enough to read the first `characters` of its text."""
    size = _SIZE_BYTES + _CODES_BYTES + _BYTES_PER_BYTE * _CHARACTER_BYTES * characters
    return len(MARK) + 4 * -(-size // 3)


def unpack_start(stored: str, characters: int) -> str:
    """Return the first characters of a text, by reading the first `start_size` characters of its packed form.

    If the packed form is damaged, the result may be shorter.
    """
    if not stored.startswith(MARK):
        return stored[:characters]
    try:
        content = b64decode(stored[len(MARK) : start_size(characters)])[_SIZE_BYTES:]
        start = zlib.decompressobj().decompress(content, _CHARACTER_BYTES * characters)
    except (zlib.error, ValueError):
        return ""
    return start.decode(errors="ignore")[:characters]


def unpacked_length(stored: str) -> int:
    """Return the bytes of the text in a stored form, without unpacking it; its characters if it is not packed."""
    if not stored.startswith(MARK):
        return len(stored)
    return int.from_bytes(b64decode(stored[len(MARK) : len(MARK) + 8])[:_SIZE_BYTES], "little")


def unpack(stored: str) -> str:
    """Return the text of a packed form, or `stored` if it is not packed; raise `ValueError` if it is damaged."""
    if not stored.startswith(MARK):
        return stored
    try:
        return zlib.decompress(b64decode(stored[len(MARK) :])[_SIZE_BYTES:]).decode()
    except zlib.error as error:
        raise ValueError(f"What was stored is damaged: {error}") from error
