"""A check costs what its counter reports, and twice the input costs at most twice as much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.json_schema.check import breach_of, schema_breach
from app.json_schema.references import Unresolvable
from app.values.budget import OverBudget, WorkBudget
from tests.support.operations import calls_of

CHECKS: dict[str, Callable[[int], tuple[Any, Any]]] = {
    "unique items of mixed types": lambda n: ({"uniqueItems": True}, [[{"a": i}, 1.0 * i, str(i)] for i in range(n)]),
    "an enum of lists": lambda n: ({"enum": [[i] for i in range(n)]}, [-1]),
    "many values and an enum of lists": lambda n: (
        {"items": {"enum": [[i] for i in range(n)]}},
        [[-i] for i in range(n)],
    ),
    "a long constant": lambda n: ({"const": list(range(n))}, [*range(n - 1), -1]),
    "long texts that differ at their ends": lambda n: ({"enum": ["a" * n * 50 + "b"]}, "a" * n * 50 + "c"),
    "required names": lambda n: ({"required": [str(i) for i in range(n)]}, {}),
    "dependencies": lambda n: ({"dependentRequired": {"a": [str(i) for i in range(n)]}}, {"a": 1}),
    "properties": lambda n: ({"properties": {str(i): {"type": "string"} for i in range(n)}}, {str(n // 2): 1}),
    "further properties": lambda n: ({"additionalProperties": {"type": "string"}}, {str(i): i for i in range(n)}),
    "unevaluated properties": lambda n: (
        {"allOf": [{"properties": {str(i): {}}} for i in range(n)], "unevaluatedProperties": False},
        {str(i): i for i in range(n + 1)},
    ),
    "unevaluated items": lambda n: ({"contains": {"const": 1}, "unevaluatedItems": False}, [1, 2] * n),
    "alternatives that all fail": lambda n: ({"anyOf": [{"type": "string"}] * n}, 1),
    "alternatives that all hold": lambda n: ({"oneOf": [{"type": "integer"}] * n}, 1),
    "references": lambda n: ({"allOf": [{"$ref": "#/$defs/a"}] * n, "$defs": {"a": {"type": "string"}}}, 1),
    "anchors": lambda n: (
        {"allOf": [{"$ref": f"#a{i}"} for i in range(n)] + [{"$anchor": f"a{i}"} for i in range(n)]},
        1,
    ),
    "long addresses": lambda n: ({"allOf": [{"$id": f"b{i}"} for i in range(n)] + [{"$ref": "b0"}]}, 1),
    "a pattern on a long text": lambda n: ({"pattern": "(a|b)*a(a|b){20}c"}, "ab" * n * 10),
    "many patterns": lambda n: ({"allOf": [{"pattern": f"{i:05}"} for i in range(n)]}, "x"),
    "values that break every rule": lambda n: ({"items": {"type": "string", "enum": [1], "minimum": 9}}, [True] * n),
}


def spent(schema: Any, value: Any) -> int:
    budget = WorkBudget(10**9)
    breach_of(schema, value, budget)
    return budget.spent


@pytest.mark.parametrize("name", CHECKS)
def test_twice_the_input_needs_at_most_twice_the_steps(name: str) -> None:
    assert spent(*CHECKS[name](400)) <= 2 * spent(*CHECKS[name](200)) + 50


@pytest.mark.parametrize("name", CHECKS)
def test_no_work_is_done_that_is_not_counted(name: str) -> None:
    schema, value = CHECKS[name](200)
    bound = 12 * spent(schema, value) + 100
    assert calls_of(lambda: breach_of(schema, value, WorkBudget(10**9)), at_most=bound) <= bound


def nested(keyword: str, levels: int) -> dict[str, Any]:
    doubling = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": doubling | {f"a{levels}": {"type": "string"}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_references_that_double_at_each_level_are_given_up(keyword: str) -> None:
    with pytest.raises(OverBudget):
        breach_of(nested(keyword, 40), 1, WorkBudget(10_000))


def test_a_subschema_that_names_another_dialect_is_counted_like_the_others() -> None:
    dialect = {"$schema": "http://json-schema.org/draft-07/schema#"}
    with pytest.raises(OverBudget):
        breach_of({"allOf": [dialect | {"items": {"uniqueItems": True}}]}, [list(range(100))] * 100, WorkBudget(5_000))


@pytest.mark.parametrize("reference", ["#/nowhere", "#nowhere", "http://127.0.0.1:9/schema", "http://[x", "#/allOf/9"])
def test_a_reference_to_nothing_is_reported(reference: str) -> None:
    with pytest.raises(Unresolvable, match=r"is not in it|Invalid"):
        breach_of({"allOf": [{"$ref": reference}]}, 1, WorkBudget(1_000))


def test_a_schema_is_checked_within_the_same_budget() -> None:
    schema = {"type": "object", "required": [[n] for n in range(1_000)], "enum": [[n] for n in range(1_000)]}
    budget = WorkBudget(10**6)

    assert schema_breach(schema, budget) is not None
    assert budget.spent < 20 * 4_000


def test_a_message_shows_the_beginning_of_a_long_value() -> None:
    breach = breach_of({"type": "string"}, [{"a": "b" * 10_000}] * 10_000, WorkBudget(1_000))

    assert breach is not None
    assert breach.message().startswith("[{'a': 'bbb")
    assert breach.message().endswith("… is not of type 'string'")
    assert len(breach.message()) < 300
    assert calls_of(breach.message, at_most=100) <= 100
