"""Changes texts and JSON from outside, as little as possible, so that databases and JSON writers accept them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from app.values.json import integer_or_digits, number_or_digits, too_deep

# Long texts are converted in pieces, because a text of only surrogates is slow and other threads must run in between.
PIECE = 64 * 1024
CUT = "…"
"""The end of a text that was cut."""


def cut(text: str, most: int) -> str:
    """Return the text with at most so many characters, the last one of which is `CUT` if some are missing."""
    return text if len(text) <= most else text[: most - 1] + CUT


def storable_text(text: str) -> str:
    """Return the text with surrogate pairs joined; lone surrogates and NUL become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = "".join([_with_whole_pairs(piece) for piece in _pieces(text)])
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _with_whole_pairs(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _pieces(text: str) -> Iterator[str]:
    """Yield pieces of about `PIECE` characters that do not begin with the second half of a surrogate pair."""
    start = 0
    while start < len(text):
        end = start + PIECE
        end += "\udc00" <= text[end : end + 1] <= "\udfff"
        yield text[start:end]
        start = end


def decode_json(text: str) -> Any:
    """Return the JSON value in `text`; raise `ValueError` for invalid JSON, and JSON nested deeper than `MAX_DEPTH`.

    Texts and keys are changed by `storable_text`. Numbers that no column can store (integers beyond 64 bits, overflows
    of a float) become the text of the number. Of equal keys the last one counts. NaN is not valid. `MAX_DEPTH` is in
    `app/values/json.py`.
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    if too_deep(value):
        raise ValueError("it nests too deeply")
    return _storable(value)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


# Made once: making a decoder is slower than decoding most texts.
_DECODER = json.JSONDecoder(parse_int=integer_or_digits, parse_float=number_or_digits, parse_constant=_refuse)


def _storable(value: Any) -> Any:
    match value:
        case str():
            return storable_text(value)
        case list():
            return [_storable(item) for item in value]
        case dict():
            return {storable_text(key): _storable(item) for key, item in value.items()}
        case _:
            return value
