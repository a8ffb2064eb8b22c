"""Stored spans to turns: what opened them, their steps, and what the reader is warned of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.otlp.decode import decode
from app.otlp.span import Span
from app.sessions import build
from app.sessions.build import build_session
from app.sessions.spans import read_turn
from app.sessions.types import Step, Turn, Usage
from app.values.json import json_container
from tests.support.exports import export, pairs_of, span
from tests.support.operations import calls_of


def said(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text} for text in texts]}


def called(*calls: tuple[str, str]) -> dict[str, Any]:
    parts = [{"type": "tool_call", "id": call_id, "name": name, "arguments": {}} for call_id, name in calls]
    return {"role": "assistant", "parts": parts}


def chat(
    number: int, inputs: list[Any] | None = None, outputs: list[Any] | None = None, more: Any = None, **fields: Any
) -> dict[str, Any]:
    recorded = {"gen_ai.operation.name": "chat", **(more or {})}
    if inputs is not None:
        recorded["gen_ai.input.messages"] = json.dumps(inputs)
    if outputs is not None:
        recorded["gen_ai.output.messages"] = json.dumps(outputs)
    return numbered(number, recorded, **fields)


def tool(number: int, name: str = "t", more: Any = None, **fields: Any) -> dict[str, Any]:
    recorded = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **(more or {})}
    return numbered(number, recorded, **fields)


def numbered(number: int, recorded: dict[str, Any], **fields: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": number * 10, "endTimeUnixNano": number * 10 + 5}
    return span(recorded, **({"spanId": f"{number:016x}"} | times | fields))


def stored(*spans: dict[str, Any], scope: str = "app") -> list[Span]:
    decoded = decode(export(*spans, scope=scope))
    assert not decoded.rejected
    return decoded.spans


def build_turn(spans: list[Span]) -> Turn:
    (turn,) = build_session([spans])
    return turn


def build_later_turn(*spans: dict[str, Any]) -> Turn:
    """The turn of these spans where another one opened the session."""
    opening = stored(chat(1, startTimeUnixNano=1, endTimeUnixNano=2, traceId="0" * 31 + "1"))
    return build_session([opening, stored(*spans)])[1]


def turn_of(*spans: dict[str, Any]) -> Turn:
    return build_turn(stored(*spans))


def test_the_first_turn_shows_its_first_user_text_and_later_ones_their_last() -> None:
    history = [said("system", "S"), said("user", "one"), said("assistant", "two"), said("user", "three")]

    assert turn_of(chat(1, history)).user == "one"
    assert build_later_turn(chat(1, history)).user == "three"


def test_tool_results_with_role_user_are_not_words_of_the_user() -> None:
    result = {"role": "user", "parts": [{"type": "tool_call_response", "id": "c", "result": "18"}]}

    assert build_later_turn(chat(1, [said("user", "Hi"), result])).user == "Hi"


def test_turns_are_ordered_by_their_earliest_span() -> None:
    late = stored(chat(5, [said("user", "second")], traceId="a" * 32))
    early = stored(chat(9, [said("user", "first")], traceId="b" * 32), chat(2, traceId="b" * 32))

    session = build_session([late, early])

    assert [turn.trace_id for turn in session] == ["b" * 32, "a" * 32]
    assert [turn.user for turn in session] == ["first", "second"]


def test_spans_that_tie_are_ordered_parent_before_child() -> None:
    same = {"startTimeUnixNano": 7, "endTimeUnixNano": 9}
    turn = turn_of(
        numbered(1, {}, parentSpanId=f"{2:016x}", **same),
        numbered(2, {}, parentSpanId=f"{3:016x}", **same),
        numbered(3, {}, **same),
    )

    assert [int(one.span_id, 16) for one in turn.spans] == [3, 2, 1]


def test_parents_in_a_circle_are_shown_all() -> None:
    turn = turn_of(
        numbered(1, {}, parentSpanId=f"{2:016x}"),
        numbered(2, {}, parentSpanId=f"{1:016x}"),
        numbered(3, {}, parentSpanId=f"{3:016x}"),
    )

    assert len(turn.spans) == 3


def test_text_with_tool_calls_is_shown_and_is_no_step() -> None:
    output = {"role": "assistant", "parts": [*said("assistant", "Let me see")["parts"], *called(("c", "t"))["parts"]]}

    turn = turn_of(chat(1, outputs=[output]))

    assert [step.kind for step in turn.steps] == ["tool_call"]
    assert turn.spans[0].text_with_calls == "Let me see"


@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("<think>\nHm.\n</think>\n\nRome.", "\nHm.\n", "Rome."),
        ("Rome <think>is</think> it.", None, "Rome <think>is</think> it."),
        ("<think>Hm", "Hm", None),
    ],
)
def test_thoughts_in_the_text_of_a_model_are_no_answer(text: str, thoughts: str | None, answer: str | None) -> None:
    turn = turn_of(chat(1, outputs=[said("assistant", text)]))

    assert [step.text for step in turn.steps] == ([] if answer is None else [answer])
    assert turn.spans[0].reasoning == thoughts


def test_a_tag_is_text_where_thoughts_were_recorded_separately() -> None:
    parts = [{"type": "reasoning", "content": "Hm."}, *said("assistant", "<think>a</think>b")["parts"]]
    turn = turn_of(chat(1, outputs=[{"role": "assistant", "parts": parts}]))

    assert ([step.text for step in turn.steps], turn.spans[0].reasoning) == (["<think>a</think>b"], "Hm.")


def test_an_answer_is_the_last_output_message() -> None:
    turn = turn_of(chat(1, outputs=[said("assistant", "draft"), said("assistant", "final")]))

    assert turn.steps == (Step("answer", f"{1:016x}", text="final"),)


EXCEPTION = {"name": "exception", "attributes": pairs_of({"exception.type": "E", "exception.message": "boom"})}


@pytest.mark.parametrize(
    ("more", "fields", "error"),
    [
        ({"gen_ai.tool.call.result": "no such city"}, {"status": {"code": 2, "message": "s"}}, "no such city"),
        ({"gen_ai.tool.call.result": {"a": "é"}}, {"status": {"code": 2}}, '{"a": "é"}'),
        ({}, {"status": {"code": 2, "message": "s"}, "events": [EXCEPTION]}, "boom"),
        ({}, {"events": [EXCEPTION]}, "boom"),
        ({}, {"status": {"code": 2, "message": "s"}}, "s"),
        ({"error.type": "timeout"}, {}, "timeout"),
        ({}, {"status": {"code": 2}}, "failed"),
        ({"gen_ai.tool.call.result": "fine"}, {"events": [EXCEPTION]}, None),
        ({"gen_ai.tool.call.result": "fine"}, {"status": {"code": 1}}, None),
        ({}, {}, None),
    ],
)
def test_a_failed_tools_error_is_in_its_own_words(more: Any, fields: dict[str, Any], error: str | None) -> None:
    (step,) = turn_of(tool(1, more=more, **fields)).steps

    assert step.error == error


@pytest.mark.parametrize(
    ("recorded", "placeholders"),
    [
        ('{"tone":"kind"}', {"tone": "kind"}),
        ({"tone": "kind"}, {"tone": "kind"}),
        ('{"n":1,"b":true,"none":null}', {"n": "1", "b": "true"}),
        ("{}", {}),
        ('{"tone":"ki', None),
        ("[]", None),
        (None, None),
    ],
)
def test_placeholders_are_names_by_key(recorded: Any, placeholders: dict[str, str] | None) -> None:
    assert turn_of(chat(1, more={"service.prompt.placeholders": recorded})).placeholders == placeholders


OFFERED_ENTRIES: dict[str, Any] = {
    "definitions": lambda size: [{"name": f"t{n}"} for n in range(size)],
    "a group": lambda size: [{"functionDeclarations": [{"name": f"t{n}"} for n in range(size)]}],
    "empty groups": lambda size: [{"functionDeclarations": []}] * size,
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", OFFERED_ENTRIES)
@pytest.mark.slow
def test_no_more_definitions_are_read_of_a_turn_than_its_limit(shape: str) -> None:
    once, twice = (OFFERED_ENTRIES[shape](times * build.DEFINITIONS_MAX) for times in (1, 2))
    spans = read_turn(stored(chat(1, more={"gen_ai.tool.definitions": json.dumps(twice)})), None, {})

    assert len(build.offered_tools(spans) or ()) in (0, build.DEFINITIONS_MAX)
    assert calls_of(lambda: build._tools(twice)) < 1.1 * calls_of(lambda: build._tools(once))


@pytest.mark.parametrize(
    ("recorded", "offered"),
    [
        ({"service.tools.offered": ["a", "b"]}, ("a", "b")),
        ({"service.tools.offered": '["a"]'}, ("a",)),
        ({"service.tools.offered": []}, ()),
        ({"service.tools.offered": ["a"], "gen_ai.tool.definitions": '[{"name":"b"}]'}, ("a",)),
        ({"service.tools.offered": '[{"name":"a","description":"d"}]'}, ({"name": "a", "description": "d"},)),
        ({"gen_ai.tool.definitions": '[{"type":"function","name":"b"}]'}, ({"name": "b"},)),
        (
            {"gen_ai.tool.definitions": '[{"type":"function","function":{"name":"b","parameters":{"type":"object"}}}]'},
            ({"name": "b", "parameters": {"type": "object"}},),
        ),
        (
            {"gen_ai.tool.definitions": '[{"name":"b","inputSchema":{"type":"object"}}]'},
            ({"name": "b", "parameters": {"type": "object"}},),
        ),
        *(
            ({name: json.dumps([definition])}, ({"name": "b", "annotations": {"readOnlyHint": True}},))
            for name in ("gen_ai.tool.definitions", "service.tools.offered")
            for definition in (
                {"name": "b", "annotations": {"readOnlyHint": True, "destructiveHint": "no", "title": "B"}},
                {"type": "function", "function": {"name": "b", "annotations": {"readOnlyHint": True}}},
                {"type": "function", "annotations": {"readOnlyHint": True}, "function": {"name": "b"}},
            )
        ),
        ({"gen_ai.tool.definitions": '[{"name":"b","annotations":["readOnlyHint"]}]'}, ({"name": "b"},)),
        ({"gen_ai.tool.definitions": '[{"name":"b"'}, None),
        ({}, None),
    ],
)
def test_offered_tools_are_the_applications_list_or_the_definitions(recorded: Any, offered: Any) -> None:
    assert turn_of(chat(1, more=recorded)).offered_tools == offered


def test_only_model_calls_count_tokens() -> None:
    tokens = {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 1}
    agent = numbered(1, {"gen_ai.operation.name": "invoke_agent", **tokens})

    assert turn_of(agent, chat(2, more=tokens), chat(3, more=tokens)).usage == Usage(6, 2)


@pytest.mark.parametrize(
    ("spans", "words"),
    [
        ([chat(1)], "No message content was recorded"),
        ([chat(1, more={"gen_ai.input.messages": '[{"role":"user","pa'})], "JSON is cut off in 1 span"),
        (
            [
                chat(1, [said("user", "Hi")], more={"service.prompt.version": "v1"}),
                chat(2, more={"service.prompt.version": "v2"}),
            ],
            "several prompt versions: v1, v2",
        ),
        (
            [
                chat(1, [said("user", "Hi")], more={"gen_ai.conversation.id": "c1"}),
                chat(2, more={"gen_ai.conversation.id": "c2"}),
            ],
            "several conversations: c1, c2",
        ),
    ],
)
def test_a_turn_that_is_not_whole_has_a_warning(spans: list[dict[str, Any]], words: str) -> None:
    (warning,) = turn_of(*spans).warnings

    assert words in warning


def test_a_turn_without_model_calls_has_nothing_to_warn_of() -> None:
    assert turn_of(numbered(1, {})).warnings == ()


def test_a_call_that_two_libraries_recorded_is_one_step() -> None:
    answer = [said("assistant", "Hello")]
    tokens = {"gen_ai.usage.input_tokens": 3}
    outer = stored(chat(1, [said("user", "Hi")], answer, tokens, endTimeUnixNano=99), scope="framework")
    inner = stored(chat(2, [said("user", "Hi")], answer, tokens, parentSpanId=f"{1:016x}"), scope="client")

    turn = build_turn([*outer, *inner])

    assert [step.text for step in turn.steps] == ["Hello"]
    assert turn.usage == Usage(3, 0)
    assert len(turn.spans) == 2
    assert any("repeats another span of the same call and is no step." in warning for warning in turn.warnings)


def test_a_warning_counts_the_copies() -> None:
    calls = [
        span
        for number in (1, 3)
        for span in (
            *stored(chat(number, [said("user", "Hi")], [said("assistant", f"{number}")]), scope="framework"),
            *stored(
                chat(number + 1, [said("user", "Hi")], [said("assistant", f"{number}")], parentSpanId=f"{number:016x}"),
                scope="client",
            ),
        )
    ]

    assert "2 spans repeat other spans of the same call and are no steps." in build_turn(calls).warnings
    assert "1 span repeats another span of the same call and is no step." in build_turn(calls[:3]).warnings


TOKENS = {"gen_ai.usage.input_tokens": 3}


@pytest.mark.parametrize(
    ("outer", "inner", "usage"),
    [
        (chat(1), chat(2, more=TOKENS, parentSpanId=f"{1:016x}"), Usage(3, 0)),
        (chat(1, more=TOKENS), chat(2, more=TOKENS, parentSpanId=f"{1:016x}"), Usage(3, 0)),
        (chat(1, outputs=[said("assistant", "A")], more=TOKENS), chat(2, parentSpanId=f"{1:016x}"), Usage(3, 0)),
        (chat(1), chat(2, outputs=[said("assistant", "A")], more=TOKENS, parentSpanId=f"{1:016x}"), Usage(3, 0)),
        (
            chat(1, outputs=[said("assistant", "A")], more=TOKENS),
            chat(2, outputs=[said("assistant", "B")], more=TOKENS, parentSpanId=f"{1:016x}"),
            Usage(6, 0),
        ),
        (chat(1, [said("user", "Hi")], more=TOKENS), chat(2, more=TOKENS, parentSpanId=f"{1:016x}"), Usage(6, 0)),
    ],
)
def test_of_two_records_of_one_call_the_longer_one_counts(outer: Any, inner: Any, usage: Usage) -> None:
    spans = [*stored(outer, scope="framework"), *stored(inner, scope="client")]

    assert build_turn(spans).usage == usage


def test_other_words_within_a_model_call_of_the_same_library_are_a_step() -> None:
    outer = chat(1, outputs=[said("assistant", "Hello")], endTimeUnixNano=99)
    inner = chat(2, outputs=[said("assistant", "Bye")], parentSpanId=f"{1:016x}")

    assert len(turn_of(outer, inner).steps) == 2


def test_a_tool_that_two_libraries_recorded_is_one_step() -> None:
    more = {"gen_ai.tool.call.arguments": '{"a":1}', "gen_ai.tool.call.result": "1"}
    outer = stored(tool(1, more=more, endTimeUnixNano=99), scope="framework")
    inner = stored(tool(2, more=more, parentSpanId=f"{1:016x}"), scope="mcp")

    assert len(build_turn([*outer, *inner]).steps) == 1


def test_an_unknown_shape_is_shown_as_it_came() -> None:
    turn = turn_of(numbered(1, {"my.list": ["a", 1, None, {"k": 2.5}], "my.flag": True}))

    (shown,) = turn.spans
    assert shown.attributes["my.list"] == ["a", 1, None, {"k": 2.5}]
    assert shown.attributes["my.flag"] is True
    assert (shown.operation, shown.convention) == ("", None)


def test_a_number_that_no_column_can_store_is_its_text() -> None:
    body = export(numbered(1, {"big": "BIG", "gen_ai.operation.name": "chat"}))
    (one,) = decode(body.replace(b'{"stringValue": "BIG"}', b'{"doubleValue": 1e999}')).spans

    (shown,) = build_turn([one]).spans

    assert shown.attributes["big"] == "1e999"
    assert shown.operation == "chat"
    assert (shown.start_ns, shown.name) == (10, "chat gpt")


@pytest.mark.parametrize(
    ("recorded", "call_id", "shown"),
    [
        ("Paris", "c1", {"city": "Paris"}),
        ("Rome", "c1", "Rome"),
        ("Paris", "c2", "Paris"),
        ("Paris", None, {"city": "Paris"}),
        ("Rome", None, "Rome"),
        ('{"town": "Paris"}', "c1", {"town": "Paris"}),
        ("", "c1", ""),
    ],
)
def test_an_only_argument_is_named_by_the_call_that_it_is_of(recorded: str, call_id: str | None, shown: Any) -> None:
    part = {"type": "tool_call", "id": "c1", "name": "t", "arguments": {"city": "Paris"}}
    asked = chat(1, [said("user", "?")], [{"role": "assistant", "parts": [part]}])
    ids = {"gen_ai.tool.call.id": call_id} if call_id else {}
    ran = tool(2, more={"gen_ai.tool.call.arguments": recorded, **ids})

    step = turn_of(ran, asked).steps[-1]

    assert step.arguments == shown


@pytest.mark.parametrize("name", ["t", "u"])
def test_an_only_argument_is_named_by_a_call_of_its_tool_that_was_recorded_without_an_id(name: str) -> None:
    part = {"type": "tool_call", "name": name, "arguments": {"city": "Paris"}}
    asked = chat(1, [said("user", "?")], [{"role": "assistant", "parts": [part]}])
    ran = tool(2, more={"gen_ai.tool.call.arguments": "Paris", "gen_ai.tool.call.id": "c1"})

    step = next(step for step in turn_of(ran, asked).steps if step.source == "span")

    assert step.arguments == ({"city": "Paris"} if name == "t" else "Paris")


steps = st.lists(
    st.tuples(st.sampled_from(["chat", "tool", "other"]), st.integers(1, 4), st.integers(0, 9)), min_size=1, max_size=8
)


@given(steps, st.randoms(use_true_random=False))
def test_the_order_of_arrival_changes_nothing(drawn: list[tuple[str, int, int]], random: Any) -> None:
    kinds = {"chat": chat, "tool": tool, "other": lambda number, **fields: numbered(number, {}, **fields)}
    spans = stored(
        *(
            kinds[kind](number, startTimeUnixNano=start, endTimeUnixNano=start, parentSpanId=f"{parent:016x}")
            for number, (kind, start, parent) in enumerate(drawn, 1)
        )
    )
    turn = build_turn(spans)

    random.shuffle(spans)

    assert build_turn(spans) == turn


def test_messages_that_are_whole_are_not_parsed_again_to_know_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[Any] = []
    monkeypatch.setattr(build, "json_container", lambda value: parsed.append(value) or json_container(value))
    asked = [said("user", "Hi {you")]

    build_turn(stored(chat(1, asked, [said("assistant", "Hello")])))

    assert not any(isinstance(value, str) and value.startswith("[") for value in parsed)
