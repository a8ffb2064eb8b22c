"""Masking: what a project's rules name is replaced in spans before anything of them is stored.

A `pattern` (RE2) is replaced wherever it is found in a text: attribute values, the JSON inside them, events, links,
the span's name and status. A `pointer` (RFC 6901, `*` for every member) names a place: its first token is an
attribute's key, the others lead into the attribute's value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from app.errors import Invalid
from app.otlp.text import parse_json
from app.otlp.validate import CONVERSATION_ID, PROMPT_ID
from app.otlp.values import any_value
from app.replay.patterns import compile_pattern

MASK = "[masked]"
RULES_MAX = 100
EVERY = "*"
# Without these a span has no place: what would be masked of them gets a pseudonym, or stays.
_KEPT = frozenset({PROMPT_ID, "service.prompt.version"})
_LISTS = ("events", "links")

Replace = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """`value` is the pattern or the pointer; `replacement` is written as it is, without group references."""

    kind: Literal["pattern", "pointer"]
    value: str
    replacement: str = MASK


class Masking:
    """Rules, compiled. Raises Invalid for one that can't be used, naming it by its place."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._patterns: list[tuple[Any, str]] = []
        self._pointers: list[tuple[tuple[str, ...], str]] = []
        for place, rule in enumerate(rules):
            try:
                self._add(rule)
            except ValueError as error:
                raise Invalid(f"masking.{place}.value: {error}") from None

    def __bool__(self) -> bool:
        return bool(self._patterns or self._pointers)

    def _add(self, rule: Rule) -> None:
        if rule.kind == "pointer":
            self._pointers.append((_tokens(rule.value), rule.replacement))
        else:
            self._patterns.append((compile_pattern(rule.value), rule.replacement.replace("\\", "\\\\")))

    def text(self, text: str) -> str:
        """A text with what the patterns find in it replaced."""
        for pattern, replacement in self._patterns:
            text = pattern.sub(replacement, text.encode(errors="replace").decode())
        return text

    def at(self, value: Any, *places: Sequence[str]) -> Any:
        """A value that stands at these places, masked. A place is the tokens of a pointer; `*` in it is any of them.

        May raise RecursionError.
        """
        for tokens, replacement in self._pointers:
            for place in places:
                if _meet(tokens, place):
                    value = _point(value, tokens[len(place) :], replacement)
        return self._leaves(value)

    def span(self, raw: bytes) -> bytes:
        """A span's JSON, masked; the very same bytes when no rule found anything. ValueError when it is no JSON."""
        fields = parse_json(raw)
        if not isinstance(fields, dict):
            raise ValueError("a span is a JSON object")
        masked = {key: self._field(key, value) for key, value in fields.items()}
        return raw if masked == fields else msgspec.json.encode(masked)

    def _field(self, key: str, value: Any) -> Any:
        if key == "attributes":
            return self._attributes(value)
        if key in _LISTS and isinstance(value, list):
            return [
                {k: self._field(k, v) for k, v in item.items()} if isinstance(item, dict) else item for item in value
            ]
        if key == "status" and isinstance(value, dict):
            return {k: self.text(v) if k == "message" and isinstance(v, str) else v for k, v in value.items()}
        return self.text(value) if key == "name" and isinstance(value, str) else value

    def _attributes(self, pairs: Any) -> Any:
        if not isinstance(pairs, list):
            return pairs
        return [
            pair | {"value": self._attribute(pair.get("key"), pair.get("value"))} if isinstance(pair, dict) else pair
            for pair in pairs
        ]

    def _attribute(self, key: Any, value: Any) -> Any:
        """An AnyValue, masked."""
        if key in _KEPT:
            return value
        before = any_value(value)
        # JSON in a string is masked as JSON: its escapes would hide from a pattern, and a pattern could break it.
        inner, is_json = _json_within(before)
        after = self.at(inner, (str(key),))
        if after == inner:
            return value
        if key == CONVERSATION_ID:
            return {"stringValue": _pseudonym(str(before))}
        return _any_value(msgspec.json.encode(after).decode() if is_json and not isinstance(after, str) else after)

    def _leaves(self, value: Any) -> Any:
        if isinstance(value, str):
            inner, is_json = _json_within(value)
            if not is_json:
                return self.text(value)
            masked = self._leaves(inner)
            return value if masked == inner else msgspec.json.encode(masked).decode()
        if isinstance(value, Mapping):
            return {key: self._leaves(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._leaves(inner) for inner in value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        # A number that a pattern finds something in (a card's, a telephone's) is replaced as the text it would be.
        masked = self.text(str(value))
        return value if masked == str(value) else masked


def _tokens(pointer: str) -> tuple[str, ...]:
    if not pointer.startswith("/") or pointer == "/":
        raise ValueError("a JSON pointer is / and an attribute's key, then / and each step into its value")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def _meet(tokens: Sequence[str], place: Sequence[str]) -> bool:
    """Whether the pointer names what stands there, or something around it or within."""
    steps = zip(tokens[1:], place[1:], strict=False)
    return tokens[0] == place[0] and all(EVERY in (token, step) or token == step for token, step in steps)


def _point(value: Any, tokens: Sequence[str], replacement: str) -> Any:
    if not tokens:
        return replacement
    token, rest = tokens[0], tokens[1:]
    if isinstance(value, str):
        return _point_within(value, tokens, replacement)
    if isinstance(value, dict):
        return {
            key: _point(inner, rest, replacement) if token in (EVERY, key) else inner for key, inner in value.items()
        }
    if isinstance(value, list):
        return [
            _point(inner, rest, replacement) if token in (EVERY, str(place)) else inner
            for place, inner in enumerate(value)
        ]
    return value


def _point_within(text: str, tokens: Sequence[str], replacement: str) -> str:
    inner, is_json = _json_within(text)
    if is_json:
        masked = _point(inner, tokens, replacement)
        return text if masked == inner else msgspec.json.encode(masked).decode()
    # JSON that an SDK cut off can't be followed: better all of it masked than the wrong part shown.
    return replacement if text.lstrip().startswith(("{", "[")) else text


def _json_within(value: Any) -> tuple[Any, bool]:
    """What JSON text of an object or a list says; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value, False
    try:
        return parse_json(value.encode(errors="replace")), True
    except ValueError:
        return value, False


def _pseudonym(conversation_id: str) -> str:
    """The same for the same conversation, so that its turns stay together."""
    return "masked-" + blake2b(conversation_id.encode(errors="replace"), digest_size=12).hexdigest()


def _any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int | float):
        return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_any_value(inner) for inner in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": _any_value(v)} for key, v in value.items()]}}
    return {}
