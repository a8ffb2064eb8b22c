"""Answers as no vendor should send them: the wire formats, with places of them replaced by what breaks readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from tests.fakes import wire
from tests.fakes.wire import Asked, Reply
from tests.support.coroutines import run_coroutine

# Written in the place of a text that names them, as most can't be made by a JSON writer.
LITERALS = {
    "@2**64": "18446744073709551616",
    "@-2**63-1": "-9223372036854775809",
    "@5000 digits": "9" * 5000,
    "@1e999": "1e999",
    "@NaN": "NaN",
    "@-Infinity": "-Infinity",
    "@260 levels": "[" * 260 + "]" * 260,
    "@5000 levels": '{"a":' * 5000 + "1" + "}" * 5000,
    "@lone surrogate": r'"half \ud83d"',
    "@surrogate key": r'{"\udfff": 1, "\u0000": 2}',
    "@NUL": r'"a\u0000b"',
    "@equal keys": '{"a": 1, "a": 2}',
}
TEXTS = {
    "2**64": '{"n": 18446744073709551616}',
    "5000 digits": '{"n": ' + "9" * 5000 + "}",
    "overflow": '{"n": 1e999, "m": -1e999}',
    "260 levels": '{"a": ' + "[" * 260 + "]" * 260 + "}",
    "5000 levels": "[" * 5000 + "]" * 5000,
    "not a number": '{"n": NaN, "i": Infinity}',
    "surrogates": r'{"\ud800": "\udfff", "city": "\ud83d\ude00"}',
    "NUL": r'{"a\u0000": "\u0000"}',
    "equal keys": '{"a": 1, "a": 2}',
    "no JSON": "{'city': Rome",
    "characters": "\ud83d \0 \x1b \u202e",
}
_WRONG = st.one_of(
    st.sampled_from([*LITERALS, *TEXTS.values()]),
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from([[], {}, [None], {"a": {"b": [1]}}, [[[]]], [{}] * 3]),
)
_REPLIES = st.sampled_from(
    [
        Reply(text="It is 31 °C.", reasoning="Let me see."),
        Reply(text="", tool_calls=[("weather", {"city": "Rome"}), ("book", {"hotel": "Hassler"})]),
        Reply(refusal="I won't."),
        Reply(text="cut", truncated=True, cached=1),
    ]
)
_BYTES = st.one_of(
    st.binary(max_size=200),
    st.sampled_from([b"", b"null", b"[]", b"{}", b"data: \n\n", b"data: [DONE]\n\n", b"\xff\xfe", b"[" * 100_000]),
)


def bodies(vendor: str, *, stream: bool) -> st.SearchStrategy[bytes]:
    """Bodies of answers in the format of `vendor`, whole or as a stream of events, that are wrong somewhere."""
    asked = Asked(vendor, "model", stream, "?", 2, "", True)
    return st.one_of(_REPLIES.flatmap(lambda reply: _broken(asked, reply)), _BYTES)


def with_arguments(vendor: str, arguments: str, *, stream: bool) -> bytes:
    """A well-formed answer that calls a tool with these arguments, word for word.

    Anthropic and Google send arguments as JSON inside their own: arguments that are no JSON break the whole answer.
    """
    asked = Asked(vendor, "model", stream, "?", 2, "", True)
    openai = vendor not in ("ANTHROPIC", "GOOGLE")
    pieces = _pieces(asked, Reply(tool_calls=[("weather", arguments if openai else {"a": "@arguments"})]))
    return _written(pieces).replace(b'{"a": "@arguments"}', arguments.encode(errors="replace"))


def _broken(asked: Asked, reply: Reply) -> st.SearchStrategy[bytes]:
    pieces = _pieces(asked, reply)
    places = [(number, path) for number, (_, tree) in enumerate(pieces) for path in _paths(tree)]
    changes = st.lists(st.tuples(st.sampled_from(places), _WRONG, st.booleans()), min_size=1, max_size=3)
    return changes.map(lambda changed: _written(_changed(pieces, changed)))


def _pieces(asked: Asked, reply: Reply) -> list[tuple[bytes, Any]]:
    """Yield the text before each JSON value of the answer, and the value; None for text without one."""
    if not asked.stream:
        return [(b"", json.loads(wire.body(asked, reply)))]

    async def read() -> list[bytes]:
        return [event async for event in wire.events(asked, reply)]

    return [_piece(event) for event in run_coroutine(read())]


def _piece(event: bytes) -> tuple[bytes, Any]:
    head, _, data = event.rpartition(b"data: ")
    return (head + b"data: ", json.loads(data)) if data.startswith(b"{") else (event, None)


def _paths(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, inner in members:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def _changed(pieces: list[tuple[bytes, Any]], changes: Any) -> list[tuple[bytes, Any]]:
    changed = [(head, json.loads(json.dumps(tree))) for head, tree in pieces]
    for (number, path), value, gone in changes:
        _change(changed[number][1], path, value, gone)
    return changed


def _change(tree: Any, path: tuple[Any, ...], value: Any, gone: bool) -> None:
    for key in path[:-1]:
        # What was changed before may have taken the place away.
        members = tree if isinstance(tree, dict) else dict(enumerate(tree)) if isinstance(tree, list) else {}
        tree = members.get(key)
    if isinstance(tree, dict) and gone:
        tree.pop(path[-1], None)
    elif isinstance(tree, dict):
        tree[path[-1]] = value
    elif isinstance(tree, list) and tree:
        tree[0] = value


def _written(pieces: list[tuple[bytes, Any]]) -> bytes:
    return b"".join(head + (b"" if tree is None else _json(tree) + (b"\n\n" if head else b"")) for head, tree in pieces)


def _json(tree: Any) -> bytes:
    text = json.dumps(tree)
    for name, literal in LITERALS.items():
        text = text.replace(f'"{name}"', literal)
    return text.encode()
