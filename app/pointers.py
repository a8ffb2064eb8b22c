"""JSON pointers (RFC 6901): parsed to tokens, and written from a path."""

from __future__ import annotations

from collections.abc import Sequence

Pointer = tuple[str, ...]


def parse_pointer(text: str) -> Pointer:
    """Return the tokens of a JSON pointer; raises ValueError where RFC 6901 does."""
    if not text:
        return ()
    if not text.startswith("/"):
        raise ValueError("a JSON pointer is empty or begins with /")
    return tuple(_unescape(token) for token in text[1:].split("/"))


def format_pointer(path: Sequence[str | int]) -> str:
    """Return the pointer to a path of object keys and array indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def unescape_token(token: str) -> str:
    """Return the key or index that a token of a pointer stands for; a `~` that escapes nothing stays."""
    return token.replace("~1", "/").replace("~0", "~")


def _unescape(token: str) -> str:
    if token.replace("~0", "").replace("~1", "").find("~") >= 0:
        raise ValueError("in a JSON pointer, ~ is followed by 0 or 1")
    return unescape_token(token)
