"""JSON pointers (RFC 6901): parsing to tokens, and formatting of a path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

Pointer = tuple[str, ...]
T = TypeVar("T")


class PointerTree(Generic[T]):
    """Values by pointer, in which `*` matches every index of an array.

    Following a path costs a step per token, however many pointers there are. It costs more only where several pointers
    match the same place.
    """

    __slots__ = ("children", "value")

    def __init__(self, values: Mapping[Pointer, T] | None = None) -> None:
        self.children: dict[str, PointerTree[T]] = {}
        self.value: T | None = None  # the value of the pointer that ends here
        for pointer, value in (values or {}).items():
            tree = self
            for token in pointer:
                tree = tree.children.setdefault(token, PointerTree())
            tree.value = value


def follow(trees: Iterable[PointerTree[T]], part: str | int) -> list[PointerTree[T]]:
    """Return the trees below `trees` at a key of an object or an index of an array."""
    tokens = (part,) if isinstance(part, str) else (str(part), "*")
    return [tree.children[token] for tree in trees for token in tokens if token in tree.children]


def is_index(token: str) -> bool:
    """Return whether a token may be an index: a key may have more digits than Python reads."""
    return len(token) < 10 and token.isascii() and token.isdigit()


def parse_pointer(text: str) -> Pointer:
    """Return the tokens of a JSON pointer; raise `ValueError` if it breaks RFC 6901."""
    if not text:
        return ()
    if not text.startswith("/"):
        raise ValueError("a JSON pointer is empty or begins with /")
    return tuple(_unescape(token) for token in text[1:].split("/"))


def format_pointer(path: Sequence[str | int]) -> str:
    """Return the pointer to a path of object keys and array indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def unescape_token(token: str) -> str:
    """Return the key or index that a token of a pointer means; a `~` that escapes nothing is kept."""
    return token.replace("~1", "/").replace("~0", "~")


def _unescape(token: str) -> str:
    if token.replace("~0", "").replace("~1", "").find("~") >= 0:
        raise ValueError("in a JSON pointer, ~ is followed by 0 or 1")
    return unescape_token(token)
