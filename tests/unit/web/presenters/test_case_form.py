"""The form of a test case gives the body of a change that makes what the form shows, and none where nothing differs."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.chat import ToolDefinition
from app.errors import Invalid
from app.replay.case_types import CaseTurn, Check, CheckedAnswer, CheckedCall, TestCase, ToolRules
from app.replay.changes import change_case
from app.replay.effects import tools_of
from app.web.forms import Form
from app.web.presenters.case_fields import CaseFields, fields_of, fields_sent
from app.web.presenters.case_form import TOOLS_SHOWN, case_body, tool_rows, with_confirmed

TURN = CaseTurn(
    user="Refund A-1",
    steps=(
        CheckedCall(name="get_order", arguments={"id": "A-1"}),
        CheckedCall(name="refund_order", arguments={"id": "A-1"}),
        CheckedAnswer(text="Done.", check=Check(answer="meaning")),
    ),
)
CASE = TestCase(turns=(TURN, TURN))
words = st.text(st.characters(exclude_characters="\0\r", exclude_categories=("Cs",)), min_size=1).filter(str.strip)
paths = st.text(st.characters(exclude_characters="\0\r\n~", exclude_categories=("Cs",))).map(lambda key: f"/{key}")
values = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | words, lambda inner: st.lists(inner, max_size=2), max_leaves=3
)
matchers = st.one_of(
    st.sampled_from(["exact", "facts", "any", "text", "number", "unordered"]),
    st.builds(lambda tolerance: {"match": "number", "tolerance": tolerance}, st.floats(0.001, 1e9)),
    st.builds(lambda value: {"match": "ai", "value": value}, words),
    st.builds(lambda found: {"match": "one_of", "values": found}, st.lists(values, min_size=1)),
)
rules = st.builds(
    ToolRules,
    effect=st.sampled_from([None, "read", "write"]),
    extra=st.sampled_from([None, "allow", "fail"]),
    max_calls=st.none() | st.integers(0, 9),
    never=st.booleans(),
    lost=st.sampled_from(["allow", "fail"]),
    on_missing=st.sampled_from([None, "error", "stop", "static"]),
    result=st.none() | values,
    arguments=st.dictionaries(paths, matchers, max_size=3),
)
named_rules = st.dictionaries(st.sampled_from(["get_order", "refund_order", "drop_all"]), rules)
checks = st.builds(
    Check,
    enabled=st.booleans(),
    arguments=st.sampled_from(["exact", "subset", "ignore"]) | st.dictionaries(paths, matchers, min_size=1, max_size=3),
)
cases = st.builds(
    lambda tools, check, order, judge: replace(
        CASE,
        tools={name: each for name, each in tools.items() if each != ToolRules()},
        turns=(replace(TURN, steps=(replace(TURN.steps[0], check=check), *TURN.steps[1:])), TURN),
        order=order,
        judge=judge,
    ),
    named_rules,
    checks,
    st.sampled_from(["effects", "any", "in_order"]),
    st.sampled_from(["auto", "never", "always"]),
)


def shown(case: TestCase) -> CaseFields:
    return fields_of("Refunds", case, tools_of(case, []))


def sent(fields: CaseFields) -> Form:
    """The form as a browser sends it."""
    found: dict[str, list[str]] = {}

    def put(prefix: str, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if name == "matchers":
                for row in (*value, {"path": "", "match": "", "option": ""}):
                    for column, text in row.items():
                        found.setdefault(f"{prefix}{column}", []).append(text)
            elif isinstance(value, str):
                found[f"{prefix}{name}"] = [value]
            elif value:
                found[f"{prefix}{name}"] = ["on"]

    whole = asdict(fields)
    for index, tool in enumerate(whole.pop("tools")):
        put(f"tool.{index}.", tool)
    for (turn, index), step in whole.pop("steps").items():
        put(f"step.{turn}.{index}.", step)
    put("", whole)
    return Form(found)


@given(cases)
def test_an_unchanged_form_gives_an_empty_body(case: TestCase) -> None:
    assert case_body(fields_sent(sent(shown(case)), shown(case)), shown(case)) == {}


@given(cases, cases)
def test_the_body_of_a_form_makes_the_test_case_that_it_shows(before: TestCase, after: TestCase) -> None:
    wanted = shown(after)
    gone = [tool for tool in shown(before).tools if tool.name not in {each.name for each in wanted.tools}]
    form = sent(wanted)
    for index, tool in enumerate(gone, len(wanted.tools)):
        form.fields[f"tool.{index}.name"] = [tool.name]  # type: ignore[index]

    assert change_case(before, case_body(fields_sent(form, shown(before)), shown(before))) == after


def test_a_row_of_a_tool_shows_its_default_next_to_the_effect_that_was_set() -> None:
    case = replace(CASE, tools={"get_order": ToolRules(effect="write", max_calls=2)})
    row, other = tool_rows(shown(case), case, [ToolDefinition("get_order", effect="read")])

    assert row.effects[0] == ("", "Default: reads, as the prompt's tools have it")
    assert (row.tool.effect, row.fields.effect, other.fields.effect) == ("write", "write", "")
    assert row.rules == ["at most 2 calls in all", "calls beyond the recording fail"]


def test_a_row_of_a_tool_shows_its_rules_in_words() -> None:
    rules = ToolRules(on_missing="nearest", arguments={"/id": "facts", "/at": {"match": "number", "tolerance": 1}})
    case = replace(CASE, tools={"get_order": rules})

    assert tool_rows(shown(case), case, [ToolDefinition("get_order", effect="read")])[0].rules[1:] == [
        "without a recording: for reads, the next recorded result",
        "/id: the same values, in any words",
        "/at: a number, at most a tolerance apart",
    ]


@pytest.mark.parametrize(
    ("extra", "words"), [(None, "are allowed if they read"), ("fail", "fail"), ("allow", "are allowed")]
)
def test_a_tool_that_each_call_decides_shows_which_further_calls_are_allowed(extra: Any, words: str) -> None:
    case = replace(CASE, tools={"get_order": ToolRules(effect="by_call", extra=extra)})
    row, _ = tool_rows(shown(case), case, [ToolDefinition("get_order", effect="by_call")])

    assert row.effects[0] == ("", "Default: decided by each call, as the prompt's tools have it")
    assert row.extra[0] == ("", "Default: are allowed if they read")
    assert row.rules == [f"calls beyond the recording {words}"]


def test_of_a_thousand_tools_those_with_rules_are_shown_and_the_others_stay() -> None:
    defined = [ToolDefinition(f"tool_{n}") for n in range(1000)]
    case = replace(CASE, tools={"tool_999": ToolRules(never=True)})
    before = fields_of("Refunds", case, tools_of(case, defined))
    rows = tool_rows(before, case, defined)

    assert (len(rows), rows[0].fields.name) == (TOOLS_SHOWN, "tool_999")
    form = sent(dataclasses.replace(before, tools=tuple(row.fields for row in rows)))
    assert case_body(fields_sent(form, before), before) == {}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"tool.0.name": ["x"], "tool.1.name": ["x"]}, "tools.x: Has a row already."),
        ({"tool.0.name": ["x"], "tool.0.max_calls": ["1.5"]}, "tools.x.maxCalls: Must be a number."),
        ({"included": ["two"]}, "included: Must be a number."),
        (
            {
                "step.0.0.check": ["ignore"],
                "step.0.0.path": ["/id"],
                "step.0.0.match": ["any"],
                "step.0.0.option": [""],
            },
            "turn 1, step 1: Rules of paths",
        ),
        (
            {"tool.0.name": ["x"], "tool.0.path": ["/a", "/a"], "tool.0.match": ["any"] * 2, "tool.0.option": [""] * 2},
            "tools.x.arguments./a: Is there twice.",
        ),
    ],
)
def test_what_cannot_be_read_is_named(fields: dict[str, list[str]], problem: str) -> None:
    before = shown(CASE)
    form = Form({**sent(before).fields, **fields})

    with pytest.raises(Invalid, match=problem.replace(".", r"\.")):
        case_body(fields_sent(form, before), before)


def test_tools_with_a_proposal_come_first_and_known_ones_show_none() -> None:
    proposal, defined = {"effect": "read", "reason": "It shows.", "model": "judge-1"}, [ToolDefinition("zzz_orbit")]
    fields = fields_of("Refunds", CASE, tools_of(CASE, defined))

    rows = tool_rows(fields, CASE, defined, {"zzz_orbit": proposal, "get_order": proposal})

    assert [(row.fields.name, row.proposed) for row in rows] == [
        ("zzz_orbit", proposal),
        ("get_order", None),
        ("refund_order", None),
    ]


@pytest.mark.parametrize(
    ("body", "confirmed", "tools"),
    [
        ({}, [], None),
        ({}, ["read zzz_orbit", "write a b"], {"zzz_orbit": {"effect": "read"}, "a b": {"effect": "write"}}),
        ({"tools": {"a": {"never": True}}}, ["read a"], {"a": {"effect": "read", "never": True}}),
        ({"tools": {"a": {"effect": "write"}}}, ["read a"], {"a": {"effect": "write"}}),
    ],
)
def test_confirmed_effects_are_in_the_body_unless_it_has_another(body: Any, confirmed: Any, tools: Any) -> None:
    assert with_confirmed(body, confirmed).get("tools") == tools
