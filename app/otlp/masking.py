"""Masking: replaces what a project's rules name in spans, before anything of the spans is stored.

A `pattern` (RE2) is replaced wherever it matches in a text: attribute values, the JSON inside them, events, links, the
span's name and status. A text that it matches only without escapes (`app/otlp/escapes.py`), or only with composed
characters (Unicode's form NFC), is masked whole. A `pointer`
(RFC 6901, `*` for every member) names a value: its first token is an attribute's key, the others lead into the
attribute's value.

What can't be masked within the budget (`app/otlp/mask_texts.py`) is masked whole: an attribute, a name, an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from app.errors import Invalid
from app.otlp.escapes import unescaped
from app.otlp.hidden_values import hides_a_value, repeats_a_key
from app.otlp.mask_texts import GROWTH_MAX, Exhausted, MaskingBudget, TextRule, json_size
from app.otlp.names import CONVERSATION_KEYS, PROMPT_ID, PROMPT_VERSION
from app.otlp.protobuf import stored_fields
from app.otlp.values import any_value
from app.values.budget import WorkBudget
from app.values.json import count_marks, parse_json
from app.values.json_pointer import Pointer, unescape_token
from app.values.regex import NEW_PATTERNS_STEPS, compile_new, compile_pattern
from app.values.storable import CUT
from app.values.unicode import nfc

MASK = "[masked]"
RULES_MAX = 100
EVERY = "*"
# Spans are stored by these attributes, so they are not masked.
_KEPT = frozenset({PROMPT_ID, PROMPT_VERSION})
_LISTS = ("events", "links")
# Kinds, flags, times and counts, and ids if they are hexadecimal digits: a pattern for cards would find some of them.
_NUMBERS = frozenset(
    {
        *("kind", "flags", "startTimeUnixNano", "endTimeUnixNano", "timeUnixNano"),
        *("droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"),
    }
)
_IDS = frozenset({"traceId", "spanId", "parentSpanId"})
_HEXADECIMAL = re.compile("[0-9a-fA-F]*+")
# An object or a list as JSON, or as JSON text in a JSON text; both may be cut off.
_LIKE_JSON = re.compile(r'[\s\ufeff]*+(?:"(?:\s|\\[nrt])*+)?[\[{]')


@dataclass(frozen=True, slots=True)
class Rule:
    """`value` is the pattern or the pointer; `replacement` is literal, without group references."""

    kind: Literal["pattern", "pointer"]
    value: str
    replacement: str = MASK


class Masking:
    """Compiled rules. Raises Invalid for an unusable rule and names it by its index."""

    def __init__(self, rules: Sequence[Rule], compiled: Callable[[str], Any] = compile_pattern) -> None:
        self.texts: list[TextRule] = []
        self.pointers: list[tuple[Pointer, str]] = []
        for index, rule in enumerate(rules):
            try:
                if rule.kind == "pointer":
                    self.pointers.append((_tokens(rule.value), rule.replacement))
                else:
                    self.texts.append(TextRule(compiled(nfc(rule.value)), rule.replacement))
            except ValueError as error:
                raise _refused(index, error) from None

    def __bool__(self) -> bool:
        return bool(self.texts or self.pointers)

    def concern(self, key: str) -> bool:
        """Return whether a rule may apply to the attribute of a key."""
        return bool(self.texts) or any(_meet(tokens, (key,)) for tokens, _ in self.pointers)

    def text(self, text: str, budget: MaskingBudget | None = None) -> str:
        """Return a text with all matches of the patterns replaced."""
        return str(_Pass(self, budget or MaskingBudget()).short(text))

    def at(self, value: Any, *paths: Sequence[str], budget: MaskingBudget | None = None) -> Any:
        """Return the value at these paths masked. Paths are tokens of pointers; the token `*` matches any token.

        May raise RecursionError.
        """
        return _Pass(self, budget or MaskingBudget()).at(value, *paths)

    def conversation(self, conversation_id: str) -> str:
        """Return the id of a conversation in masked spans."""
        value = _Pass(self, MaskingBudget()).attribute(CONVERSATION_KEYS[0], {"stringValue": conversation_id})
        return str(any_value(value))

    def cut(self, text: str, most: int, budget: MaskingBudget | None = None) -> str:
        """Return a masked text, such as a scope's name, which was cut after `most` characters.

        A text of that length may end within a match, so it is masked whole.
        """
        if self.texts and len(text) >= most:
            return MASK
        return self.text(text, budget)[:most]

    def quoting(self, text: str) -> str:
        """Return a masked text that quotes others. If it was cut, it may end within a match, so it is masked whole."""
        return MASK if self.texts and CUT in text else self.text(text)

    def id(self, text: str, most: int) -> str:
        """Return the id of a span or trace, which was cut after `most` characters; hexadecimal digits stay."""
        return text if _HEXADECIMAL.fullmatch(text) else self.cut(text, most)

    def span(self, raw: bytes, budget: MaskingBudget | None = None) -> bytes:
        """Return a stored span's JSON, masked; unchanged if no rule matched. Raises ValueError for an invalid span.

        The `search` of `budget` is shared by all spans that use it; its `growth` applies to each span.
        """
        fields = stored_fields(raw)
        if not isinstance(fields, dict):
            raise ValueError("a span is a JSON object")
        budget = budget or MaskingBudget()
        budget.growth = GROWTH_MAX
        masked = _Pass(self, budget).members(fields)
        return raw if masked == fields else msgspec.json.encode(masked)


def checked(rules: Sequence[Rule]) -> Masking:
    """Check new rules. Raises Invalid for one that is unusable, costs too much, or matches nothing at every place."""
    masking = Masking(rules, partial(compile_new, budget=WorkBudget(NEW_PATTERNS_STEPS)))
    patterns = (index for index, rule in enumerate(rules) if rule.kind == "pattern")
    for index, text_rule in zip(patterns, masking.texts, strict=True):
        if text_rule.matches_empty_text():
            raise _refused(index, "matches the empty text, which is everywhere; write + where it has *")
    return masking


def _refused(index: int, why: object) -> Invalid:
    return Invalid(f"masking.{index}.value: {why}")


@dataclass(frozen=True, slots=True)
class _Pass:
    """The application of rules to one value, with the remaining budget."""

    rules: Masking
    budget: MaskingBudget

    def text(self, text: str) -> str:
        """Raises Exhausted."""
        if not text.isascii():
            text = text.encode(errors="replace").decode()  # RE2 accepts no lone surrogates
        for rule in self.rules.texts:
            text = rule.masked(text, self.budget)
        return MASK if self._hides_a_match(text) else text

    def _hides_a_match(self, text: str) -> bool:
        """Return whether a pattern matches the text only as a reader sees it."""
        return any(
            rule.masked(reading, self.budget) != reading
            for reading in self._readings(text)
            for rule in self.rules.texts
        )

    def _readings(self, text: str) -> Iterator[str]:
        """Yield the text without its escapes, and all of these with composed characters."""
        if (composed := self._composed(text)) != text:
            yield composed
        for plain in unescaped(text, self.budget) if "\\" in text else ():
            yield plain
            if (composed := self._composed(plain)) != plain:
                yield composed

    def _composed(self, text: str) -> str:
        if not text.isascii():
            self.budget.read(len(text))
        return nfc(text)

    def at(self, value: Any, *paths: Sequence[str]) -> Any:
        try:
            for tokens, replacement in self.rules.pointers:
                for path in paths:
                    if _meet(tokens, path):
                        value = self._point(value, tokens[len(path) :], replacement)
            return self._leaves(value) if self.rules.texts else value
        except Exhausted:
            return MASK

    def short(self, text: Any) -> Any:
        """Return the masked text, such as a name; other values are returned unchanged."""
        try:
            return self.text(text) if isinstance(text, str) else text
        except Exhausted:
            return MASK

    def members(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a span, or of one of its events or links, masked."""
        return {key: self._field(key, value) for key, value in fields.items()}

    def _field(self, key: str, value: Any) -> Any:
        if key == "attributes":
            return self._attributes(value)
        if key in _LISTS and isinstance(value, list):
            return [self.members(item) if isinstance(item, dict) else item for item in value]
        if key == "status" and isinstance(value, dict):
            return {k: v if k == "code" else self._other(v) for k, v in value.items()}
        if key in _NUMBERS or (key in _IDS and isinstance(value, str) and _HEXADECIMAL.fullmatch(value)):
            return value
        return self._other(value)

    def _other(self, value: Any) -> Any:
        """Return a value that no pointer names, such as a name or a field that OTLP does not define, masked."""
        return self.short(value) if isinstance(value, str) else self.at(value)

    def _attributes(self, pairs: Any) -> Any:
        if not isinstance(pairs, list):
            return pairs
        return [
            pair | {"value": self.attribute(pair.get("key"), pair.get("value"))} if isinstance(pair, dict) else pair
            for pair in pairs
        ]

    def attribute(self, key: Any, value: Any) -> Any:
        """Return an AnyValue, masked."""
        if key in _KEPT or not self.rules.concern(str(key)):
            return value
        before = any_value(value)
        try:
            # JSON in a string is masked as JSON: its escapes would hide from a pattern, and a pattern could break it.
            inner, is_json = self._json_within(before)
            after = self.at(inner, (str(key),))
        except Exhausted:
            inner, is_json, after = before, False, MASK
        if after == inner and not (repeats_a_key(before) if is_json else hides_a_value(value)):
            return value
        if key in CONVERSATION_KEYS:
            return {"stringValue": _pseudonym(str(before))}
        return _any_value(msgspec.json.encode(after).decode() if is_json and not isinstance(after, str) else after)

    def _leaves(self, value: Any) -> Any:
        if isinstance(value, str):
            inner, is_json = self._json_within(value)
            if not is_json:
                return self.text(value)
            return _rewritten(value, inner, self._leaves(inner))
        if isinstance(value, Mapping):
            return {key: self._leaves(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._leaves(inner) for inner in value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        # A number with a match (of a card, a telephone) is replaced by the masked text of the number.
        masked = self.text(str(value))
        return value if masked == str(value) else masked

    def _point(self, value: Any, tokens: Sequence[str], replacement: str) -> Any:
        if not tokens:
            self.budget.grow(json_size(replacement) - (len(value) if isinstance(value, str) else 0))
            return replacement
        token, rest = tokens[0], tokens[1:]
        if isinstance(value, str):
            return self._point_within(value, tokens, replacement)
        if isinstance(value, dict | list):
            self.budget.read_members(len(value))
        if isinstance(value, dict):
            return {
                key: self._point(inner, rest, replacement) if token in (EVERY, key) else inner
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [
                self._point(inner, rest, replacement) if token in (EVERY, str(index)) else inner
                for index, inner in enumerate(value)
            ]
        return value

    def _point_within(self, text: str, tokens: Sequence[str], replacement: str) -> Any:
        self.budget.read(len(text))
        inner, is_json = self._json_within(text)
        if is_json:
            return _rewritten(text, inner, self._point(inner, tokens, replacement))
        # JSON that an SDK cut off can't be followed. It is masked whole rather than showing the wrong part.
        return self._point(text, (), replacement) if _LIKE_JSON.match(text) else text

    def _json_within(self, value: Any) -> tuple[Any, bool]:
        """Return the value in a JSON text of an object, a list or JSON text, and True; else the value, and False.

        Raises Exhausted.
        """
        if not isinstance(value, str) or not _LIKE_JSON.match(value):
            return value, False
        self.budget.read_elements(count_marks(value))
        try:
            return parse_json(value.encode(errors="replace")), True
        except ValueError:
            return value, False


def _tokens(pointer: str) -> Pointer:
    if not pointer.startswith("/") or pointer == "/":
        raise ValueError("a JSON pointer is / and an attribute's key, then / and each step into its value")
    return tuple(map(unescape_token, pointer[1:].split("/")))


def _meet(tokens: Sequence[str], path: Sequence[str]) -> bool:
    """Return whether the pointer names the value at that path, a value around it, or a value within it."""
    steps = zip(tokens[1:], path[1:], strict=False)
    return tokens[0] == path[0] and all(EVERY in (token, step) or token == step for token, step in steps)


def _rewritten(text: str, inner: Any, masked: Any) -> str:
    """Return the JSON text of a masked value: the text itself if nothing was masked and nothing is hidden in it."""
    return text if masked == inner and not repeats_a_key(text) else msgspec.json.encode(masked).decode()


def _pseudonym(conversation_id: str) -> str:
    """Return the pseudonym of a conversation. It is the same for all turns, so that they stay together."""
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
