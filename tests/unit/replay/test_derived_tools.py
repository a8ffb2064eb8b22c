"""Definitions of tools that are derived from recorded calls."""

from __future__ import annotations

from typing import Any

import pytest

from app.replay import derived_tools
from app.replay.cases import case_from_turns
from app.replay.derived_tools import derived_definitions, is_derived
from app.sessions.types import Step, Turn


def call(name: str, arguments: Any = None, **more: Any) -> Step:
    return Step("tool_call", "s", name, arguments, **more)


def turn(*steps: Step, **more: Any) -> Turn:
    return Turn("t", 0, 1, "Where is it?", steps, **more)


def parameters(*arguments: Any) -> dict[str, Any]:
    (definition,) = derived_definitions([turn(*(call("find", each) for each in arguments))])
    found: dict[str, Any] = definition["parameters"]
    return found


def test_each_tool_has_the_names_and_types_of_its_arguments_and_is_marked() -> None:
    turns = [
        turn(call("find", {"id": "A-1", "limit": 3}), Step("answer", "s", text="There.")),
        turn(call("find", {"id": "A-2"}), call("refund", {"amount": 2.5, "notify": True})),
    ]

    find, refund = derived_definitions(turns)

    assert find == {
        "name": "find",
        "description": derived_tools.DESCRIPTION,
        "parameters": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["id"],
        },
        "derived": True,
    }
    assert refund["parameters"]["properties"] == {"amount": {"type": "number"}, "notify": {"type": "boolean"}}
    assert is_derived(find)
    assert not is_derived({"name": "find"})
    assert not is_derived(None)


def test_no_recorded_value_is_in_a_definition() -> None:
    assert "A-1" not in str(parameters({"id": "A-1", "of": {"kind": ["A-1"]}}))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([None], {"type": "object"}),
        (["no JSON"], {"type": "object"}),
        ([[1]], {"type": "object"}),
        ([{}], {"type": "object"}),
        ([{"n": 1}, {"n": 1.5}], {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}),
        (
            [{"n": None}, {"n": "a"}],
            {"type": "object", "properties": {"n": {"type": ["null", "string"]}}, "required": ["n"]},
        ),
        ([{"n": 1}, {}], {"type": "object", "properties": {"n": {"type": "integer"}}}),
    ],
)
def test_arguments_that_differ_or_are_no_object_make_a_schema_that_accepts_all(
    arguments: list[Any], expected: dict[str, Any]
) -> None:
    assert parameters(*arguments) == expected


def test_lists_and_objects_within_arguments_have_their_own_schemas() -> None:
    assert parameters({"lines": [{"sku": "a", "count": 1}, {"sku": "b"}], "none": []})["properties"] == {
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["sku"],
            },
        },
        "none": {"type": "array", "items": {}},
    }


def test_nothing_is_derived_if_a_turn_records_what_was_offered_or_for_calls_that_the_vendor_ran() -> None:
    assert derived_definitions([turn(call("find")), turn(offered_tools=("find",))]) == ()
    assert derived_definitions([turn(call("find")), turn(offered_tools=())]) == ()
    assert derived_definitions([turn(call("web_search", {"q": "a"}, hosted=True))]) == ()


def test_deep_wide_and_many_arguments_are_bounded() -> None:
    deep: Any = "a"
    for _ in range(100):
        deep = {"a": deep}

    assert str(parameters(deep)).count("properties") == derived_tools.DEPTH_MAX
    assert parameters({str(n): n for n in range(1_000)}) == {"type": "object"}
    assert derived_definitions([turn(*(call(f"tool_{n}") for n in range(derived_tools.TOOLS_MAX + 1)))]) == ()
    assert derived_definitions([turn(call("find", {"a" * 100_000: 1}))] * 3) == ()


def test_a_test_case_has_derived_definitions_only_if_they_are_asked_for() -> None:
    turns = [turn(call("find", {"id": "A-1"})), turn(Step("answer", "s", text="There."))]

    derived = case_from_turns(turns, "STRICT", derive_tools=True)

    assert [[tool["name"] for tool in each.offered_tools] for each in derived.turns] == [["find"], ["find"]]
    assert derived.fidelity
    assert [gap.kind for gap in derived.fidelity.missing] == ["tool_definitions"]
    assert [each.offered_tools for each in case_from_turns(turns, "STRICT").turns] == [None, None]
