"""The assertions of JSON Schema: keywords that check a value without applying another schema."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from app.json_schema.checker import Breach, Evaluated, Rule, SchemaChecker, canonical, is_type, shown

Holds = Callable[[SchemaChecker, Any, Any], bool]
Message = Callable[[Any, Any], str]


def _assertion(keyword: str, type_name: str | None, holds: Holds, message: Message) -> Rule:
    """Return the rule of a keyword that applies to values of a type, or to all values if the type is None.

    `holds` and `message` are called with the keyword's value and the checked value.
    """

    def apply(check: SchemaChecker, rule: Any, value: Any, schema: dict[str, Any], _seen: Evaluated) -> list[Breach]:
        if (type_name is not None and not is_type(value, type_name)) or holds(check, rule, value):
            return []
        return [Breach(keyword, schema, value, lambda: message(rule, value))]

    return apply


def _message_of(predicate: str) -> Message:
    return lambda rule, value: f"{shown(value)} {predicate.format(shown(rule))}"


def _has_type(_check: SchemaChecker, types: str | list[str], value: Any) -> bool:
    return any(is_type(value, name) for name in _names(types))


def _names(types: str | list[str]) -> list[str]:
    return [types] if isinstance(types, str) else types


def _is_unique(check: SchemaChecker, required: bool, value: list[Any]) -> bool:
    return not required or len({canonical(item, check.budget) for item in value}) == len(value)


def _is_multiple(_check: SchemaChecker, factor: Any, value: Any) -> bool:
    if isinstance(factor, int):
        return not value % factor
    try:
        quotient = value / factor
        return bool(int(quotient) == quotient)
    except OverflowError:
        return (Fraction(value) / Fraction(factor)).denominator == 1


def _too_small(message: str) -> Message:
    return lambda least, value: f"{shown(value)} {'should be non-empty' if least == 1 else message}"


def _too_large(message: str) -> Message:
    return lambda most, value: f"{shown(value)} {'is expected to be empty' if most == 0 else message}"


def _no_fewer(_check: SchemaChecker, least: int, value: Any) -> bool:
    return len(value) >= least


def _no_more(_check: SchemaChecker, most: int, value: Any) -> bool:
    return len(value) <= most


_TABLE: dict[str, tuple[str | None, Holds, Message]] = {
    "type": (
        None,
        _has_type,
        lambda rule, value: f"{shown(value)} is not of type {', '.join(map(repr, _names(rule)))}",
    ),
    "enum": (None, lambda check, rule, value: check.among(rule, value, id(rule)), _message_of("is not one of {}")),
    "const": (
        None,
        lambda check, rule, value: check.among([rule], value, id(rule)),
        lambda rule, _: f"{shown(rule)} was expected",
    ),
    "minimum": ("number", lambda _, rule, value: value >= rule, _message_of("is less than the minimum of {}")),
    "maximum": ("number", lambda _, rule, value: value <= rule, _message_of("is greater than the maximum of {}")),
    "exclusiveMinimum": (
        "number",
        lambda _, rule, value: value > rule,
        _message_of("is less than or equal to the minimum of {}"),
    ),
    "exclusiveMaximum": (
        "number",
        lambda _, rule, value: value < rule,
        _message_of("is greater than or equal to the maximum of {}"),
    ),
    "multipleOf": ("number", _is_multiple, _message_of("is not a multiple of {}")),
    "minLength": ("string", _no_fewer, _too_small("is too short")),
    "maxLength": ("string", _no_more, _too_large("is too long")),
    "pattern": (
        "string",
        lambda check, rule, value: check.patterns.match(rule, value),
        _message_of("does not match {}"),
    ),
    "minItems": ("array", _no_fewer, _too_small("is too short")),
    "maxItems": ("array", _no_more, _too_large("is too long")),
    "uniqueItems": ("array", _is_unique, _message_of("has non-unique elements")),
    "minProperties": ("object", _no_fewer, _too_small("does not have enough properties")),
    "maxProperties": ("object", _no_more, _too_large("has too many properties")),
}

ASSERTIONS = {keyword: _assertion(keyword, *row) for keyword, row in _TABLE.items()}
