"""Checks a value against a JSON Schema, and a schema against the schema of schemas."""

from __future__ import annotations

from typing import Any

from app.json_schema.checker import Breach, Checker, best_match
from app.json_schema.keywords import KEYWORDS
from app.json_schema.metaschema import METASCHEMA
from app.meter import Meter

# About half a second of processor time at worst, and an answer of a megabyte at ordinary schemas.
STEPS_MAX = 400_000


def breach_of(schema: Any, value: Any, meter: Meter) -> Breach | None:
    """The most relevant breach; None for a valid value.

    Raises `TooMuch` when the meter's budget is used up, `Unresolvable` for a reference that leads nowhere and
    RecursionError for one that leads to itself.
    """
    return best_match(Checker(schema, meter, KEYWORDS).check(schema, value))


def schema_breach(schema: Any, meter: Meter) -> Breach | None:
    """The most relevant breach of a value that is no JSON Schema; raises `TooMuch`."""
    return breach_of(METASCHEMA, schema, meter)
