"""Schemas of tools and answers that once took ten seconds of processor time to check."""

from __future__ import annotations

import json
from typing import Any

from falcon.testing import Result

from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.operations import calls_of
from tests.support.world import World

pytestmark = EMBEDDED_CONTAINER

PROMPTS = "/api/v1/prompts"


def create(world: World, **config: Any) -> Result:
    body = {"name": "Schemas", "value": "x", "languageModelName": "echo", "languageModelConfig": config}
    return world.post(PROMPTS, json=body)


def tool(**schema: Any) -> dict[str, Any]:
    return {"name": "find", "parameters": {"type": "object"} | schema}


def run(world: World, schema: dict[str, Any], question: Any) -> dict[str, Any]:
    created = create(world, response_format="json_schema", json_schema={"type": "object"} | schema)
    assert created.status_code == 201, created.json
    body = {"id": created.json["prompt"]["id"], "question": json.dumps(question), "productive": False}
    answer: dict[str, Any] = world.post(f"{PROMPTS}/run", json=body).json
    return answer


def mixed(count: int) -> list[Any]:
    return [[{"a": n}, float(n), str(n)][n % 3] for n in range(count)]


def test_required_names_of_8000_mixed_types_are_refused_at_the_cost_of_reading_them(world: World) -> None:
    twice_half = 2 * calls_of(lambda: create(world, tools=[tool(required=mixed(4_000))]))
    whole = calls_of(lambda: create(world, tools=[tool(required=mixed(8_000))]), at_most=twice_half)

    answer = create(world, tools=[tool(required=mixed(8_000))])
    assert answer.status_code == 400
    assert answer.json["error"].startswith("languageModelConfig.tools.0.parameters: Is not a valid JSON Schema, at req")
    assert whole <= twice_half


def test_an_enum_of_20000_lists_is_refused_with_its_path(world: World) -> None:
    enum = {"properties": {"a": {"enum": [[n] for n in range(20_000)]}}}
    for config, path in (
        ({"tools": [tool(**enum)]}, "languageModelConfig.tools"),
        ({"json_schema": {"type": "object"} | enum}, "languageModelConfig.json_schema"),
    ):
        answer = create(world, **config)
        assert answer.status_code == 400
        assert answer.json["error"] == f"{path}: Must not have more than 20000 values and keys."


def test_schemas_that_are_small_one_by_one_are_counted_together(world: World) -> None:
    tools = [tool(required=[str(n) for n in range(1_000)]) | {"name": f"t{at}"} for at in range(20)]
    assert create(world, tools=tools).status_code == 400
    assert create(world, tools=tools[:10]).status_code == 201


def test_an_answer_is_held_against_an_enum_of_thousands_of_lists(world: World) -> None:
    schema = {"properties": {"a": {"enum": [[n] for n in range(9_000)]}}}

    assert run(world, schema, {"a": list(range(300))})["status"].startswith("NOK: the answer breaks json_schema at $.a")
    assert "status" not in run(world, schema, {"a": [8_999]})


def test_an_answer_of_thousands_of_values_against_an_enum_of_thousands_is_checked_too(world: World) -> None:
    schema = {"properties": {"a": {"uniqueItems": True, "items": {"enum": [[n] for n in range(5_000)]}}}}

    assert "status" not in run(world, schema, {"a": [[n] for n in range(5_000)]})
    assert run(world, schema, {"a": [[n % 4_999] for n in range(5_000)]})["status"].endswith("has non-unique elements")


def test_the_check_stops_at_references_that_double_and_the_answer_is_marked(world: World) -> None:
    doubling = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(25)}
    schema = {"$defs": doubling | {"a25": {"type": "string"}}, "$ref": "#/$defs/a0"}

    assert run(world, schema, {})["status"] == "NOK: json_schema needs too many steps to check"


def test_a_pattern_hidden_behind_another_dialect_blocks_no_worker(world: World) -> None:
    dialect = {"$schema": "http://json-schema.org/draft-07/schema#"}
    schema = {"properties": {"a": dialect | {"pattern": "^(a+)+$"}}}

    assert "does not match" in run(world, schema, {"a": "a" * 40 + "!"})["status"]
