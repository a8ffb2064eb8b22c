"""JSON read into structs, with errors that name the field by its path, and structs written as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec
import orjson

from app.errors import Invalid
from app.values.structs import convert

Document = TypeVar("Document", bound=msgspec.Struct)

_TYPES = {"array": "a list", "bool": "true or false", "int": "a whole number", "object": "an object", "str": "a string"}


def dump(document: msgspec.Struct) -> dict[str, Any]:
    """Return the document's JSON as reading it from storage gives it. Raises what orjson does for unstorable values."""
    written: dict[str, Any] = orjson.loads(orjson.dumps(msgspec.to_builtins(document)))
    return written


def load(raw: object, kind: type[Document], path: str = "") -> Document:
    """Return what `dump` wrote; `raw` is at `path`. Raises `Invalid`, `path.to.0.field: …`, for anything else."""
    try:
        return convert(raw, kind)
    except msgspec.ValidationError as error:
        message, _, location = str(error).partition(" - at `")
        names = list(_resolve(raw, re.findall(r"\w+|\.\.\.", location)))
        raise Invalid(_explain(message, kind, path, names)) from None


def join(path: str, name: object) -> str:
    """Return the path of a field of the object at `path`, as in `turns.0`; "" is the path of the document."""
    return f"{path}.{name}" if path else str(name)


def _resolve(raw: Any, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that lead to a value in `raw`; `...`, which msgspec writes for any key, becomes the key.

    That is the first key with a value that is no text. The names may lead nowhere, because a field's name may look like
    an address.
    """
    for name in names:
        if name == "..." and isinstance(raw, dict):
            name = next((key for key, value in raw.items() if not isinstance(value, str)), name)
        yield name
        entries = raw if isinstance(raw, dict) else {}
        if isinstance(raw, list | tuple):
            entries = {str(index): entry for index, entry in enumerate(raw)}
        raw = entries.get(name)


def _explain(message: str, kind: type, root: str, names: Sequence[str]) -> str:
    """Return the API's message for one of msgspec; `names` lead from `root` to the value."""
    path = ".".join([*([root] if root else []), *names])
    if field := re.fullmatch(r"Object contains unknown field `(.*)`", message, re.DOTALL):
        return f"{join(path, field[1])}: unknown field"
    if field := re.fullmatch(r"Object missing required field `(.*)`", message):
        return f"{join(path, field[1])}: is required"
    if length := re.fullmatch(r"Expected `(?:array|str)` of length ([<>])= (\d+)", message):
        return f"{path}: at {'most' if length[1] == '<' else 'least'} {length[2]}"
    if least := re.fullmatch(r"Expected `int` >= (\d+)", message):
        return f"{path}: must be at least {least[1]}"
    if choices := list(_choices(kind, names)):
        return f"{path}: must be one of {', '.join(choices)}"
    if expected := re.match(r"Expected `(.*)`, got", message):
        types = [
            _TYPES.get(alternative, alternative) for alternative in expected[1].split(" | ") if alternative != "null"
        ]
        return f"{path or 'body'}: must be {' or '.join(types)}"
    return join(path, message)


def _choices(kind: Any, names: Sequence[str]) -> Iterator[str]:
    """Yield the texts that the value at the end of `names` may be, where only some are allowed."""
    if get_origin(kind) is Literal and not names:
        yield from get_args(kind)
    elif get_origin(kind) is tuple:
        yield from _choices(get_args(kind)[0], names[1:])
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if names and names[0] == kind.__struct_config__.tag_field:
            yield str(kind.__struct_config__.tag)
        for field in msgspec.structs.fields(kind):
            if names and names[0] == field.encode_name:
                yield from _choices(field.type, names[1:])
    else:
        for alternative in get_args(kind):
            yield from _choices(alternative, names)
