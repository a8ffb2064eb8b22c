"""Turns text and JSON from outside into what databases and JSON writers take, with as few changes as possible."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

from app.otlp.values import too_deep

INTEGER_MIN, INTEGER_MAX = -(2**63), 2**64 - 1
_DIGITS_MAX = len(str(INTEGER_MAX))
# A text of nothing but halves of pairs takes so long that other threads run between two pieces of it.
PIECE = 64 * 1024


def storable_text(text: str) -> str:
    """Return the text, with halves of a surrogate pair joined; U+FFFD stands for a half that is alone, and for NUL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = "".join([_with_whole_pairs(piece) for piece in _pieces(text)])
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _with_whole_pairs(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _pieces(text: str) -> Iterator[str]:
    """Yield pieces of about `PIECE` characters, none of which begins with the second half of a pair."""
    start = 0
    while start < len(text):
        end = start + PIECE
        end += "\udc00" <= text[end : end + 1] <= "\udfff"
        yield text[start:end]
        start = end


def decode_json(text: str) -> Any:
    """Return the JSON value in `text`; raises ValueError where there is none, or where it nests deeper than `MAX_DEPTH`
    (app/otlp/values.py).

    Texts and keys are those of `storable_text`. Numbers that no column takes, integers beyond 64 bits and what
    overflows a float, become the text they are written as. Of equal keys the last one counts. NaN is no JSON.
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    if too_deep(value):
        raise ValueError("it nests too deeply")
    return _storable(value)


def _integer(digits: str) -> int | str:
    if len(digits) > _DIGITS_MAX:
        return digits
    number = int(digits)
    return number if INTEGER_MIN <= number <= INTEGER_MAX else digits


def _number(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


# To make one takes longer than to decode what most texts have.
_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_number, parse_constant=_refuse)


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
