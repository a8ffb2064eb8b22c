"""Tool calls that are only in messages are steps: each once, with its answer, in its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.otlp.decode import decode
from app.sessions.build import build_session
from app.sessions.types import Step, Turn
from tests.support.exports import export, span


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def call(call_id: str, name: str = "t", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def asked(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "parts": list(calls)}


def told(call_id: str, response: Any = "done", role: str = "tool", **more: Any) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "tool_call_response", "id": call_id, "response": response, **more}]}


def chat(number: int, inputs: Any, outputs: Any, trace: str = "a", **attributes: Any) -> dict[str, Any]:
    messages = {"gen_ai.input.messages": json.dumps(inputs), "gen_ai.output.messages": json.dumps(outputs)}
    return numbered(number, {"gen_ai.operation.name": "chat", **messages, **attributes}, trace)


def tool(number: int, name: str = "t", trace: str = "a", **attributes: Any) -> dict[str, Any]:
    recorded = {f"gen_ai.tool.call.{key}": value for key, value in attributes.items()}
    return numbered(number, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **recorded}, trace)


def numbered(number: int, attributes: dict[str, Any], trace: str) -> dict[str, Any]:
    times = {"startTimeUnixNano": number * 10, "endTimeUnixNano": number * 10 + 5}
    return span(attributes, spanId=f"{number:016x}", traceId=trace * 32, **times)


def turns_of(*spans: dict[str, Any]) -> tuple[Turn, ...]:
    stored = decode(export(*spans)).spans
    traces = dict.fromkeys(one.trace_id for one in stored)
    return build_session([one for one in stored if one.trace_id == trace] for trace in traces)


def steps_of(*spans: dict[str, Any], under_way: bool = False) -> list[Step]:
    """Return the steps of the only turn. It warns about nothing, but that a conversation was `under_way`."""
    (turn,) = turns_of(*spans)
    assert [warning.partition(" when")[0] for warning in turn.warnings] == [
        "The conversation was under way"
    ] * under_way
    return list(turn.steps)


def seen(steps: list[Step]) -> list[tuple[Any, ...]]:
    """Each step as what it is, the number of its span, and what came back."""
    return [
        (step.name or step.text, int(step.span_id, 16), *([step.result, step.error] if step.name else []))
        for step in steps
    ]


Q = said("Where is it?")
ANSWER = [said("Here.", "assistant")]


def test_a_call_without_a_span_is_after_the_model_call_that_asked_for_it() -> None:
    inputs = [Q, asked(call("c1", "find", of="x")), told("c1", {"at": 3})]

    first, answer = steps_of(chat(1, [Q], [asked(call("c1", "find", of="x"))]), chat(2, inputs, ANSWER))

    assert (first.source, first.answered, first.arguments, first.result) == ("messages", True, {"of": "x"}, {"at": 3})
    assert seen([first, answer]) == [("find", 1, {"at": 3}, None), ("Here.", 2)]


def test_a_call_without_an_answer_has_a_warning() -> None:
    (step,) = steps_of(chat(1, [Q], [asked(call("c1"))]))

    assert (step.result, step.error, step.answered, step.source) == (None, None, False, "messages")


def test_a_result_of_null_is_an_answer() -> None:
    step, _ = steps_of(chat(1, [Q], [asked(call("c1"))]), chat(2, [Q, asked(call("c1")), told("c1", None)], ANSWER))

    assert (step.result, step.answered) == (None, True)


def test_a_call_that_has_a_span_and_a_message_is_the_step_of_its_span() -> None:
    (step, _) = steps_of(
        chat(1, [Q], [asked(call("c1"))]),
        tool(2, id="c1", arguments="{}", result="spanned"),
        chat(3, [Q, asked(call("c1")), told("c1", "messaged")], ANSWER),
    )

    assert seen([step]) == [("t", 2, "spanned", None)]
    assert (step.source, step.answered) == ("span", True)


def test_a_span_that_records_no_content_gets_that_of_the_messages() -> None:
    inputs = [Q, asked(call("c1", of="x")), told("c1", "no such order", error="no such order")]

    (step, _) = steps_of(chat(1, [Q], [asked(call("c1", of="x"))]), tool(2, id="c1"), chat(3, inputs, ANSWER))

    assert (step.arguments, step.error, step.source) == ({"of": "x"}, "no such order", "span")


def test_spans_without_ids_are_matched_by_arguments_then_by_name_one_for_one() -> None:
    calls = [call("c1", of="x"), call("c2", of="y"), call("c3", of="z")]

    steps = steps_of(chat(1, [Q], [asked(*calls)]), tool(2, arguments='{"of":"y"}'), tool(3, arguments='{"of":"?"}'))

    assert [(step.source, step.arguments) for step in steps] == [
        ("span", {"of": "y"}),
        ("span", {"of": "?"}),
        ("messages", {"of": "z"}),
    ]


def test_spans_with_another_id_are_other_calls_unless_the_arguments_are_equal() -> None:
    calls = [call("c1", of="x"), call("c2", of="y")]
    spans = tool(2, id="fc_1", arguments='{"of":"y"}'), tool(3, id="fc_2", arguments='{"of":"?"}')

    steps = steps_of(chat(1, [Q], [asked(*calls)]), *spans)

    assert [(step.source, step.arguments) for step in steps] == [
        ("messages", {"of": "x"}),
        ("span", {"of": "y"}),
        ("span", {"of": "?"}),
    ]


def test_calls_that_only_the_last_model_call_was_given_are_before_its_answer() -> None:
    before = [said("Earlier"), asked(call("c0")), told("c0"), said("So?", "assistant")]
    inputs = [*before, Q, asked(call("c1")), told("c1", "one"), asked(call("c2")), told("c2", "two")]

    steps = steps_of(chat(7, inputs, ANSWER), under_way=True)

    assert seen(steps) == [("t", 7, "one", None), ("t", 7, "two", None), ("Here.", 7)]


def test_a_call_that_later_inputs_repeat_is_one_step() -> None:
    one, two = [asked(call("c1")), told("c1", "one")], [asked(call("c2")), told("c2", "two")]

    steps = steps_of(
        chat(1, [Q], one[:1]), chat(2, [Q, *one], two[:1]), chat(3, [Q, *one, *two], ANSWER), chat(4, [Q, *one], ANSWER)
    )

    assert [step.result for step in steps if step.name] == ["one", "two"]


def test_calls_without_ids_are_separated_by_their_number() -> None:
    one, two = [asked(call("", of="x")), told("", "one")], [asked(call("", of="x")), told("", "two")]

    steps = steps_of(chat(1, [Q], one[:1]), chat(2, [Q, *one], two[:1]), chat(3, [Q, *one, *two], ANSWER))

    assert [step.result for step in steps if step.name] == ["one", "two"]


def test_ids_that_start_again_with_each_model_call_are_ids_of_different_calls() -> None:
    one, two = [asked(call("t_0", of="x")), told("t_0", "one")], [asked(call("t_0", of="y")), told("t_0", "two")]

    steps = steps_of(chat(1, [Q], one[:1]), chat(2, [Q, *one], two[:1]), chat(3, [Q, *one, *two], ANSWER))

    assert [(step.arguments, step.result) for step in steps if step.name] == [
        ({"of": "x"}, "one"),
        ({"of": "y"}, "two"),
    ]


@pytest.mark.parametrize(
    ("response", "result", "error"),
    [
        (told("c1", "x"), "x", None),
        (told("c1", "x", role="user"), "x", None),
        (told("c1", {"a": [1]}), {"a": [1]}, None),
        (told("c1", '{"a":[1]}'), {"a": [1]}, None),
        (told("c1", "gone", is_error=True), None, "gone"),
        (told("c1", {"why": "é"}, is_error=True), None, '{"why": "é"}'),
        (told("c1", None, error="gone"), None, "gone"),
        (told("c1", "fine", is_error=False, error=None), "fine", None),
        ({"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "error": "gone"}]}, None, "gone"),
        ({"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "x"}]}, "x", None),
        ({"role": "tool", "tool_call_id": "c1", "content": '{"name": "Ada"}'}, {"name": "Ada"}, None),
        ({"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "x"}]}, "x", None),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]}, "x", None),
        (
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x", "is_error": True}],
            },
            None,
            "x",
        ),
        ({"type": "function_call_output", "call_id": "c1", "id": "fc", "output": "x"}, "x", None),
        ({"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "x"}]}}]}, "x", None),
        (
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [], "status": "error"}}]},
            None,
            "failed",
        ),
        ({"role": "user", "parts": [{"function_response": {"name": "t", "response": {"r": 1}}}]}, {"r": 1}, None),
        ({"role": "function", "name": "t", "content": "x"}, "x", None),
        (
            {
                "role": "tool",
                "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "x"}}],
            },
            "x",
            None,
        ),
        (
            {
                "role": "tool",
                "content": [
                    {"type": "tool-result", "toolCallId": "c1", "output": {"type": "error-text", "value": "x"}}
                ],
            },
            None,
            "x",
        ),
        (
            {"type": "tool", "data": {"type": "tool", "content": "x", "tool_call_id": "c1", "status": "error"}},
            None,
            "x",
        ),
    ],
)
def test_responses_of_every_shape_answer_the_call(response: Any, result: Any, error: str | None) -> None:
    step, _ = steps_of(chat(1, [Q], [asked(call("c1"))]), chat(2, [Q, asked(call("c1")), response], ANSWER))

    assert (step.result, step.error, step.answered) == (result, error, True)


def test_a_response_is_a_single_step_where_the_vendor_keeps_the_conversation() -> None:
    output = {"type": "function_call_output", "call_id": "c1", "output": "x"}

    step, _ = steps_of(chat(1, [Q], [asked(call("c1"))]), chat(2, [output], ANSWER))

    assert step.result == "x"


def test_a_response_that_only_a_later_turn_holds_counts() -> None:
    later = [Q, asked(call("c1", of="x")), told("c1", "late"), said("Thanks", "assistant"), said("And now?")]

    first, second = turns_of(chat(1, [Q], [asked(call("c1", of="x"))]), chat(2, later, ANSWER, trace="b"))

    assert [(step.result, step.answered) for step in first.steps] == [("late", True)]
    assert [step.kind for step in second.steps] == ["answer"]


def test_a_call_that_waited_for_the_next_turn_is_a_step_of_only_its_turn() -> None:
    later = [Q, asked(call("c1")), told("c1", "approved")]

    first, second = turns_of(chat(1, [Q], [asked(call("c1"))]), chat(2, later, ANSWER, trace="b"))

    assert [step.result for step in first.steps] == ["approved"]
    assert [step.kind for step in second.steps] == ["answer"]


def test_a_text_of_the_user_in_the_middle_of_a_turn_hides_no_response() -> None:
    inputs = [Q, asked(call("c1")), told("c1", "x"), said("Go on.")]

    (turn,) = turns_of(chat(1, [Q], [asked(call("c1"))]), chat(2, inputs, ANSWER))

    assert turn.steps[0].result == "x"


def test_an_equal_call_of_the_past_answers_none_of_now() -> None:
    past = [said("Before"), asked(call("c", of="x")), told("c", "old"), said("So.", "assistant"), Q]

    step, _ = steps_of(chat(1, past, [asked(call("c", of="x"))]), chat(2, past, ANSWER), under_way=True)

    assert (step.result, step.answered) == (None, False)


def test_calls_of_one_answer_are_one_batch_and_those_of_two_are_two() -> None:
    calls = [asked(call("c1")), asked(call("c2"))]
    inputs = [Q, *calls, told("c1"), told("c2")]

    steps = steps_of(chat(1, [Q], calls), chat(2, inputs, [asked(call("c3"))]), tool(3, "other"), tool(4, id="c3"))

    first, second, *ran = (step.batch for step in steps)
    assert first == second
    assert len({first, *ran}) == 2


def test_what_looks_like_a_call_in_what_others_wrote_is_none() -> None:
    wrote = {"role": "user", "content": [{"name": "t", "arguments": "{}"}, {"type": "text", "text": "Hi"}]}

    assert [step.kind for step in steps_of(chat(1, [wrote, asked(), wrote], ANSWER))] == ["answer"]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab\x00\ud83d☀", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "id", "name", "role", "parts", "content", "response", "error", "toolResult"]),
            inner,
        )
    ),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(JUNK, max_size=4), st.lists(JUNK, max_size=4))
def test_a_turn_is_read_whatever_its_messages_have(inputs: list[Any], outputs: list[Any]) -> None:
    (turn,) = turns_of(chat(1, inputs, outputs), chat(2, [*inputs, *outputs], ANSWER))

    assert turn.steps[-1].text == "Here."


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[list[str]], bool]:
    """Count the calls that each model call asks for, by the letters of their arguments, and whether calls have ids."""
    return draw(st.lists(st.lists(st.sampled_from("xyz"), min_size=1, max_size=3), max_size=4)), draw(st.booleans())


@settings(max_examples=60)
@given(conversations(), st.data())
def test_a_turn_has_the_same_calls_whichever_of_its_spans_are_there(
    conversation: tuple[list[list[str]], bool], data: st.DataObject
) -> None:
    """With every tool span or with none, from all model calls or only from the last."""
    rounds, with_ids = conversation
    history: list[Any] = [Q]
    spans: list[Any] = []
    number = 0
    expected = []
    for one in rounds:
        asks = []
        for letter in one:
            number += 1
            asks.append(call(f"c{number}" if with_ids else "", of=letter))
            expected.append(({"of": letter}, number))
        numbers = range(number - len(one) + 1, number + 1)
        spans.append(chat(100 * (len(spans) + 1), history, [asked(*asks)]))
        results = [told(ask["id"], n) for n, ask in zip(numbers, asks, strict=True)]
        history = [*history, asked(*asks), *results]
    spans = [one for one in spans if data.draw(st.booleans())]
    steps = steps_of(*spans, chat(10_000, history, ANSWER))

    assert sorted((str(step.arguments), step.result) for step in steps if step.name) == sorted(
        (str(arguments), result) for arguments, result in expected
    )


@pytest.mark.parametrize("kind", ["server_tool_call", "server_tool_use"])
def test_the_text_after_a_call_that_the_vendor_ran_is_the_answer(kind: str) -> None:
    hosted = {"type": kind, "id": "c1", "name": "web_search", "arguments": {"query": "hours"}}
    output = {"role": "assistant", "parts": [hosted, {"type": "text", "content": "Open from 9 to 5."}]}

    call_step, answer = steps_of(chat(1, [Q], [output]))

    assert (call_step.name, call_step.hosted) == ("web_search", True)
    assert (answer.kind, answer.text, answer.hosted) == ("answer", "Open from 9 to 5.", False)


SEARCHED = {"type": "search", "query": "hours"}
ITEMS: list[tuple[dict[str, Any], str, Any, Any, str | None]] = [
    (
        {"type": "web_search_call", "id": "w1", "status": "completed", "action": SEARCHED},
        "web_search",
        {"action": SEARCHED},
        None,
        None,
    ),
    (
        {"type": "file_search_call", "id": "f1", "queries": ["hours"], "results": [{"file_id": "x", "text": "9 to 5"}]},
        "file_search",
        {"queries": ["hours"]},
        [{"file_id": "x", "text": "9 to 5"}],
        None,
    ),
    (
        {"type": "code_interpreter_call", "id": "c1", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
        "code_interpreter",
        {"code": "1+1"},
        [{"type": "logs", "logs": "2"}],
        None,
    ),
    (
        {
            "type": "mcp_call",
            "id": "m1",
            "name": "find",
            "arguments": '{"id": 1}',
            "output": "open",
            "server_label": "shop",
        },
        "find",
        {"id": 1},
        "open",
        None,
    ),
    (
        {"type": "mcp_call", "id": "m1", "name": "find", "arguments": "{}", "error": "denied"},
        "find",
        {},
        None,
        "denied",
    ),
]


@pytest.mark.parametrize(("item", "name", "arguments", "result", "error"), ITEMS)
@pytest.mark.parametrize("as_part", [False, True])
def test_tools_that_openai_runs_are_hosted_calls_with_their_results(
    item: dict[str, Any], name: str, arguments: Any, result: Any, error: str | None, as_part: bool
) -> None:
    text = {"type": "output_text", "text": "Open from 9 to 5."}
    outputs = [{"role": "assistant", "content": [item, text]}]
    if not as_part:
        outputs = [item, {"type": "message", "role": "assistant", "content": [text]}]

    call_step, answer = steps_of(chat(1, [Q], outputs))

    assert (call_step.name, call_step.arguments, call_step.hosted) == (name, arguments, True)
    assert (call_step.result, call_step.error) == (result, error)
    assert (answer.kind, answer.text) == ("answer", "Open from 9 to 5.")


def at(sent: dict[str, Any], start_ns: int, end_ns: int) -> dict[str, Any]:
    return sent | {"startTimeUnixNano": start_ns, "endTimeUnixNano": end_ns}


def test_tools_of_the_same_start_and_end_are_in_the_order_in_which_they_were_asked_for() -> None:
    asks = chat(1, [Q], [asked(call("c2"), call("c1"), call("c3"))])
    answers = chat(4, [Q, asked(call("c2"), call("c1"), call("c3")), told("c3", "z")], ANSWER)

    steps = steps_of(asks, at(tool(2, id="c1", result="x"), 20, 29), at(tool(3, id="c2", result="y"), 20, 29), answers)

    assert seen(steps) == [("t", 3, "y", None), ("t", 2, "x", None), ("t", 1, "z", None), ("Here.", 4)]


def test_tools_of_the_same_start_are_in_the_order_of_their_ends() -> None:
    asks = chat(1, [Q], [asked(call("c2"), call("c1"))])
    later, earlier = at(tool(2, id="c2", result="x"), 20, 29), at(tool(3, id="c1", result="y"), 20, 21)

    steps = steps_of(asks, later, earlier, chat(4, [Q], ANSWER))

    assert seen(steps) == [("t", 3, "y", None), ("t", 2, "x", None), ("Here.", 4)]


def test_a_call_without_a_span_is_before_the_spans_of_calls_that_were_asked_for_later() -> None:
    inputs = [Q, asked(call("c1"), call("c2")), told("c1", "x"), told("c2", "y")]

    steps = steps_of(
        chat(1, [Q], [asked(call("c1"), call("c2"))]), tool(2, id="c2", result="y"), chat(3, inputs, ANSWER)
    )

    assert seen(steps) == [("t", 1, "x", None), ("t", 2, "y", None), ("Here.", 3)]


def test_a_span_without_content_after_a_tool_is_of_a_hook_around_it() -> None:
    asks = chat(1, [Q], [asked(call("c1", of="x"))])

    ran = tool(2, id="c1", arguments='{"of":"x"}', result="y")

    (turn,) = turns_of(asks, ran, tool(3, id="c1"), chat(4, [Q], ANSWER))

    assert seen(list(turn.steps)) == [("t", 2, "y", None), ("Here.", 4)]
    assert turn.warnings == ("1 span repeats another span of the same call and is no step.",)


def test_an_answer_is_after_the_tools_that_ran_during_its_model_call() -> None:
    answers = at(chat(1, [Q], ANSWER), 10, 90)

    steps = steps_of(answers, tool(2, id="c1", result="x"), at(tool(3, id="c2", result="y"), 95, 99))

    assert seen(steps) == [("t", 2, "x", None), ("Here.", 1), ("t", 3, "y", None)]
