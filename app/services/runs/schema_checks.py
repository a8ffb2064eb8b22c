"""JSON Schema checks that no schema can make last: patterns run in linear time, and keywords are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from jsonschema import ValidationError, validators

from app.replay.patterns import compile_pattern

# Keywords applied to one answer. References that double at each step would be billions.
STEPS_MAX = 200_000
Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class TooMuch(Exception):
    """The check was given up: the schema asks for more steps than any honest one."""


def bounded(kind: Any, schema: dict[str, Any]) -> Any:
    """The validator class `kind`, for one use with `schema`; what it makes raises `TooMuch`."""
    keywords = {**kind.VALIDATORS, "pattern": _pattern, "patternProperties": _named, "additionalProperties": _others}
    if "patternProperties" in str(schema):
        # It would try their patterns by Python's own engine.
        keywords.pop("unevaluatedProperties", None)
    steps = iter(range(STEPS_MAX))
    counted: dict[str, Any] = {name: _counted(check, steps) for name, check in keywords.items()}
    return validators.create(kind.META_SCHEMA, counted, type_checker=kind.TYPE_CHECKER, id_of=kind.ID_OF)


def _counted(check: Keyword, steps: Iterator[int]) -> Keyword:
    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if next(steps, None) is None:
            raise TooMuch
        yield from check(validator, value, instance, schema) or ()

    return apply


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    """None for what RE2 does not know (look-around, back references): it can't be checked in bounded time."""
    try:
        return compile_pattern(pattern)
    except ValueError:
        return None


def _matches(pattern: str, text: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is None or compiled.search(text) is not None


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _named(validator: Any, schemas: dict[str, Any], instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, inner in schemas.items():
        for name, value in instance.items():
            if _compiled(pattern) is not None and _matches(pattern, name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _others(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    others = [name for name in instance if name not in named and not any(_matches(one, name) for one in patterns)]
    if validator.is_type(allowed, "object"):
        for name in others:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and others:
        yield ValidationError(f"Additional properties are not allowed: {', '.join(map(repr, others))}")
