"""The encoding that the byte order mark at the start of a text names."""

from __future__ import annotations

import codecs

MARK = "\ufeff"
"""The byte order mark as a character, which decoding leaves at the start of the text."""
# Each mark of UTF-32 before the one of UTF-16 that it begins with.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def encoding_of_mark(start: bytes) -> str | None:
    """Return the encoding that the byte order mark names; None without a mark."""
    return next((encoding for mark, encoding in _MARKS if start.startswith(mark)), None)
