"""JSON Schema from draft 6 to 2020-12, applied within a budget of steps.

Libraries for JSON Schema have no such budget, and a schema of a hundred characters can cause billions of steps:
references that double at each level, an `enum` or `uniqueItems` that compares everything with everything. Here each
applied rule, each visited element and each few dozen compared characters count as a step. Formats are not checked.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from itertools import islice
from typing import Any

from app.json_schema.references import References
from app.values.budget import WorkBudget
from app.values.regex import Patterns

SHOWN_MAX = 200  # characters of a value in a message
_PLAIN_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]{0,99}")

Evaluated = set[Any]
"""Keys of an object or places of an array that a schema has looked at, for `unevaluated…`."""


@dataclass(slots=True)
class Breach:
    """A place where a value breaks a schema.

    `path` leads to the place from the checked value. `context` holds the breaches of the alternatives; their paths
    begin at this place.
    """

    keyword: str
    schema: Any
    value: Any
    message: Callable[[], str]
    context: list[Breach] = field(default_factory=list)
    path: deque[str | int] = field(default_factory=deque)

    @property
    def json_path(self) -> str:
        """`path` as a JSONPath (RFC 9535), cut off where it is long."""
        return "".join(["$", *map(_json_path_step, islice(self.path, 50))])[:SHOWN_MAX]


Rule = Callable[["SchemaChecker", Any, Any, dict[str, Any], Evaluated], list[Breach]]
Rules = dict[str, tuple[type, Rule]]
"""The rule of each keyword, and the Python type of the values that it applies to."""


class SchemaChecker:
    """Checks values against one document, `root`; `check.breach_of` documents the exceptions."""

    def __init__(self, root: Any, budget: WorkBudget, rules: Rules) -> None:
        self.budget = budget
        self.patterns = Patterns(budget)
        self._root = root
        self._rules = rules
        self._applied: dict[int, list[tuple[type, Rule, Any]]] = {}
        self._choices: dict[int, frozenset[str]] = {}
        # Until draft 7 a reference replaces the whole schema that contains it.
        self._has_lone_references = isinstance(root, dict) and "draft-0" in str(root.get("$schema"))[:100]

    @cached_property
    def references(self) -> References:
        return References(self._root, self.budget)

    def check(self, schema: Any, value: Any, evaluated: Evaluated | None = None) -> list[Breach]:
        """Return all breaches; the keys and indexes that a valid schema evaluated are added to `evaluated`."""
        self.budget.spend(1)
        if not isinstance(schema, dict):
            return [] if schema else [_forbidden(schema, value)]
        seen: Evaluated = set()
        breaches: list[Breach] = []
        for json_type, rule, argument in self._rules_of(schema):
            of_rule = rule(self, argument, value, schema, seen) if isinstance(value, json_type) else []
            self.budget.spend(1 + len(of_rule))
            breaches += of_rule
        if evaluated is not None and not breaches:
            self.budget.spend(len(seen))
            evaluated |= seen
        return breaches

    def inside(self, schema: Any, value: Any, step: str | int) -> list[Breach]:
        """Return the breaches of the value at a place of an object or an array."""
        breaches = self.check(schema, value)
        if breaches:
            self.budget.spend(len(breaches))
            for breach in breaches:
                breach.path.appendleft(step)
        return breaches

    def each(self, schema: Any, value: Any, places: Iterable[str | int]) -> list[Breach]:
        """Return the breaches of the values at these places, all checked by one schema."""
        return [breach for place in places for breach in self.inside(schema, value[place], place)]

    def among(self, choices: list[Any], value: Any, key: int) -> bool:
        """Return whether a value equals one of `choices`. Their canonical texts are kept under `key`.

        `key` is the `id` of the object in the document that `choices` come from.
        """
        known = self._choices.get(key)
        if known is None:
            known = self._choices[key] = frozenset([canonical(choice, self.budget) for choice in choices])
        return canonical(value, self.budget) in known

    def _rules_of(self, schema: dict[str, Any]) -> list[tuple[type, Rule, Any]]:
        """Return the rules of a schema's keywords; rules that depend on others come last."""
        rules = self._applied.get(id(schema))
        if rules is None:
            self.budget.spend(len(schema))
            names = (
                ["$ref"]
                if self._has_lone_references and "$ref" in schema
                else [name for name in schema if name in self._rules]
            )
            names.sort(key=lambda name: name.startswith("unevaluated"))
            rules = self._applied[id(schema)] = [(*self._rules[name], schema[name]) for name in names]
        return rules


def _json_path_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_NAME.fullmatch(step) else f"[{shown(step)}]"


def _forbidden(schema: Any, value: Any) -> Breach:
    return Breach("", schema, value, lambda: f"False schema does not allow {shown(value)}")


def best_match(breaches: list[Breach]) -> Breach | None:
    """Return the most relevant breach: the one with the shortest path or, among alternatives, with the longest."""
    best = max(breaches, key=_relevance, default=None)
    while best is not None and best.context:
        deepest, *others = nsmallest(2, best.context, key=_relevance)
        if others and _relevance(deepest) == _relevance(others[0]):
            return best
        deepest.path.extendleft(reversed(best.path))
        best = deepest
    return best


def _relevance(breach: Breach) -> tuple[Any, ...]:
    weak = breach.keyword in ("anyOf", "oneOf")
    return -len(breach.path), breach.path, not weak, not _fits_type(breach)


def _fits_type(breach: Breach) -> bool:
    types = breach.schema.get("type") if isinstance(breach.schema, dict) else None
    return any(is_type(breach.value, name) for name in ([types] if isinstance(types, str) else types or ()))


_PYTHON_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


def is_type(value: Any, name: str) -> bool:
    """Return whether a value is of the JSON Schema type `name`. 1.0 is an integer, true is not a number."""
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _PYTHON_TYPES.get(name, ())) and isinstance(value, bool) == (name == "boolean")


def canonical(value: Any, budget: WorkBudget) -> str:
    """Return the same text for all values that JSON Schema considers equal.

    1 equals 1.0 but not true, and the order of keys does not matter. It is a text, because Python hashes texts with a
    secret: numbers and tuples can be chosen to collide in a set.
    """
    if isinstance(value, str):
        budget.read(value)
        return f"{len(value)}:{value}"
    budget.spend(1)
    if isinstance(value, list):
        return f"[{','.join([canonical(item, budget) for item in value])}]"
    if isinstance(value, dict):
        return f"{{{','.join([canonical(key, budget) + canonical(value[key], budget) for key in sorted(value)])}}}"
    if isinstance(value, float) and value.is_integer():
        return hex(int(value))  # the decimal digits of a large number need quadratic time
    return repr(value) if value is None or isinstance(value, bool | float) else hex(value)


def shown(value: Any) -> str:
    """Return the beginning of `repr(value)` without visiting the rest."""
    pieces: list[str] = []
    length = 0
    for piece in _pieces(value):
        pieces.append(piece)
        length += len(piece)
        if length > SHOWN_MAX:
            return f"{''.join(pieces)[:SHOWN_MAX]}…"
    return "".join(pieces)


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for at, (key, inner) in enumerate(value.items()):
            yield f"{', ' if at else ''}{_scalar(key)}: "
            yield from _pieces(inner)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for at, inner in enumerate(value):
            yield ", " if at else ""
            yield from _pieces(inner)
        yield "]"
    else:
        yield _scalar(value)


def _scalar(value: Any) -> str:
    return repr(value[: SHOWN_MAX + 1] if isinstance(value, str) else value)
