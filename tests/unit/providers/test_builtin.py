"""The builtin models: deterministic, and useful for trying tools without a vendor."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat import Message, StreamEvent, Tokens, ToolCall, ToolDefinition
from app.errors import Invalid
from app.providers.builtin import BuiltinModels
from app.providers.types import ModelConfig, ModelRef, ModelRequest

QUESTION = "Where is order 7?"
LOOKUP = ToolDefinition(
    "lookup", parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
)
REFUND = ToolDefinition("refund")


def request(name, *messages, tools=(), **config):
    said = messages or (Message("system", "Be brief"), Message("user", QUESTION))
    return ModelRequest(ModelRef("BUILTIN", name), ModelConfig(tools=tuple(tools), **config), said, None, timeout_s=1)


def test_echo_answers_with_the_question_and_counts_words():
    answer = BuiltinModels().complete(request("echo"))

    assert (answer.text, answer.finish_reason) == (QUESTION, "stop")
    assert answer.tokens == Tokens(prompt=6, completion=4)


def test_echo_is_cut_at_max_tokens():
    answer = BuiltinModels().complete(request("echo", max_tokens=2))

    assert (answer.text, answer.finish_reason) == ("Where is ", "length")


@given(st.text())
def test_a_streamed_echo_is_the_question_piece_by_piece(question):
    events: list[StreamEvent] = []

    answer = BuiltinModels().stream(request("echo", Message("user", question)), events.append)

    assert "".join(event.text for event in events) == answer.text == question


def test_demo_agent_calls_each_tool_once_in_order_then_answers_with_their_results():
    said = [Message("user", QUESTION)]
    for tool in ("lookup", "refund"):
        answer = BuiltinModels().complete(request("demo-agent", *said, tools=[LOOKUP, REFUND]))
        (call,) = answer.tool_calls
        assert (call.name, answer.finish_reason) == (tool, "tool_calls")
        said += [
            Message("assistant", "", tool_calls=(call,)),
            Message("tool", f"{tool} done", tool_call_id=call.id),
        ]

    answer = BuiltinModels().complete(request("demo-agent", *said, tools=[LOOKUP, REFUND]))

    assert (answer.text, answer.tool_calls) == ("lookup done\nrefund done", ())


def test_demo_agent_uses_words_of_the_question_as_arguments():
    (call,) = BuiltinModels().complete(request("demo-agent", tools=[LOOKUP])).tool_calls

    assert call.arguments == {"text": QUESTION}


def test_demo_agent_calls_a_tool_again_in_the_next_turn():
    call = ToolCall("call_1", "lookup", {})
    said = (
        Message("user", "first"),
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", "result", tool_call_id="call_1"),
        Message("assistant", "result"),
        Message("user", "second"),
    )

    (again,) = BuiltinModels().complete(request("demo-agent", *said, tools=[LOOKUP])).tool_calls

    assert again.arguments == {"text": "second"}


def test_demo_agent_without_tools_answers_with_the_question():
    assert BuiltinModels().complete(request("demo-agent")).text == QUESTION


def test_the_same_request_gets_the_same_call_and_another_one_another_id():
    def called(question):
        return BuiltinModels().complete(request("demo-agent", Message("user", question), tools=[LOOKUP]))

    assert called("a") == called("a")
    assert called("a").tool_calls[0].id != called("b").tool_calls[0].id


def test_a_streamed_tool_call_comes_as_an_event():
    events: list[StreamEvent] = []

    answer = BuiltinModels().stream(request("demo-agent", tools=[LOOKUP]), events.append)

    assert [event.tool_call for event in events] == list(answer.tool_calls)


def test_an_unknown_builtin_model_is_named():
    with pytest.raises(Invalid, match="echo, demo-agent"):
        BuiltinModels().complete(request("gpt-9"))


scalars = st.one_of(
    st.just({"type": "string"}),
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": ["string", "null"]}),
    st.just({}),
    st.builds(lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more},
              st.integers(-9, 9), st.integers(0, 9)),
    st.builds(lambda low: {"type": "number", "minimum": low}, st.integers(-9, 9)),
    st.builds(lambda values: {"enum": values}, st.lists(st.integers() | st.text(), min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, st.text()),
)  # fmt: skip


def objects(inner):
    def build(properties, some):
        required = list(properties)[:some]
        return {"type": "object", "properties": properties, "required": required}

    return st.builds(build, st.dictionaries(st.text(max_size=5), inner, max_size=4), st.integers(0, 4))


def arrays(inner):
    return st.builds(lambda items, least: {"type": "array", "items": items, "minItems": least},
                     inner, st.integers(0, 2))  # fmt: skip


@given(objects(st.recursive(scalars, lambda inner: objects(inner) | arrays(inner), max_leaves=6)))
def test_demo_agents_arguments_are_valid_for_the_tools_schema(schema):
    (call,) = (
        BuiltinModels().complete(request("demo-agent", tools=[ToolDefinition("any", parameters=schema)])).tool_calls
    )

    jsonschema.validate(call.arguments, schema)


HUGE = {
    "items without end": {"type": "array", "minItems": 10**12},
    "items of items": {"type": "array", "minItems": 10**5, "items": {"type": "array", "minItems": 10**5}},
    "items that are a long constant": {"type": "array", "minItems": 10**5, "items": {"const": ["x" * 100]}},
    "empty objects without end": {"type": "array", "minItems": 10**9, "items": {"type": "object"}},
    "lists of empty objects": {
        "type": "array",
        "minItems": 10**5,
        "items": {"type": "array", "minItems": 10**5, "items": {"type": "object"}},
    },
    "half a million empty objects": {"type": "array", "minItems": 500_000, "items": {"type": "object"}},
    "lists that are a constant": {"type": "array", "minItems": 1000, "items": {"const": [[] for _ in range(500)]}},
    "many long texts": {"type": "object", "required": [str(number) for number in range(10_000)]},
}


@pytest.mark.parametrize("name", HUGE)
def test_a_schema_that_asks_for_more_than_an_answer_may_have_is_refused(name):
    parameters = {"type": "object", "properties": {"a": HUGE[name]}, "required": ["a"]}
    asked = request("demo-agent", Message("user", "q" * 1_000), tools=[ToolDefinition("any", parameters=parameters)])

    with pytest.raises(Invalid, match="asks for arguments that are too large for an answer"):
        BuiltinModels().complete(asked)
