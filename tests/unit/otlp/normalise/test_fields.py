"""Messages of DSPy's programs, which have named fields in their texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise.fields import Fields, read_object
from app.otlp.normalise.messages import NormalisedMessage, read_messages
from tests.support.normalized_spans import normal

REQUEST = "Respond with the corresponding output fields, starting with the field `[[ ## answer ## ]]`."
STEPS = "[[ ## thought_0 ## ]]\nI look.\n\n[[ ## tool_name_0 ## ]]\nget_order\n\n[[ ## observation_0 ## ]]\nshipped"


def read(role: str, *sections: str) -> Any:
    messages = read_messages([{"role": role, "content": "\n\n".join(sections)}])
    return messages and messages[0]


def of(name: str, value: str) -> str:
    return f"[[ ## {name} ## ]]\n{value}"


@pytest.mark.parametrize(
    ("sections", "text"),
    [
        ([of("question", "Where is it?"), REQUEST], "Where is it?"),
        ([of("question", "Where is it?"), of("trajectory", ""), REQUEST], "Where is it?"),
        ([of("question", "Where is it?"), of("trajectory", STEPS), REQUEST], "Where is it?"),
        ([of("question", "It begins:\n\nRespond with joy."), REQUEST], "It begins:\n\nRespond with joy."),
        ([of("question", "Where is it?")], "Where is it?"),
        ([of("city", "Oslo"), of("question", "Is it cold?"), REQUEST], "city: Oslo\nquestion: Is it cold?"),
        ([of("question", "What is [[ ## this ## ]]?"), REQUEST], "What is [[ ## this ## ]]?"),
    ],
)
def test_a_user_asks_what_the_inputs_have(sections: list[str], text: str) -> None:
    assert read("user", *sections) == NormalisedMessage("user", text)


def test_an_answer_is_the_output_without_the_reasoning() -> None:
    message = read("assistant", of("reasoning", "It is in the order."), of("answer", "In Oslo."), of("completed", ""))
    assert message == NormalisedMessage("assistant", "In Oslo.", reasoning="It is in the order.")


def test_several_outputs_keep_their_names() -> None:
    message = read("assistant", of("answer", "In Oslo."), of("confidence", "0.9"), of("completed", ""))
    assert message == NormalisedMessage("assistant", "answer: In Oslo.\nconfidence: 0.9")


@pytest.mark.parametrize(
    ("written", "arguments"), [('{"order_id": "1042"}', {"order_id": "1042"}), ("{}", {}), ("1042", 1042), ("", "")]
)
def test_the_choice_of_a_tool_is_a_call(written: str, arguments: Any) -> None:
    chosen = [of("next_thought", "I look."), of("next_tool_name", "get_order"), of("next_tool_args", written)]
    message = read("assistant", *chosen, of("completed", ""))
    assert message == NormalisedMessage("assistant", calls=(ToolCall("", "get_order", arguments),), reasoning="I look.")


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("system", of("question", "{question}")),
        ("tool", of("question", "Where is it?")),
        ("user", "It prints [[ ## question ## ]] and stops."),
        ("user", f"Why does it print this?\n{of('question', 'x')}"),
        ("assistant", f"Write it as follows.\n{of('question', 'x')}"),
        ("user", "[[ ## two words ## ]] is no name."),
    ],
)
def test_other_texts_stay_what_they_are(role: str, text: str) -> None:
    messages = read_messages([{"role": role, "parts": [{"type": "text", "content": text}]}])
    assert messages is not None
    assert text in {messages[0].text, *(response.result for response in messages[0].responses)}


def test_fields_without_values_are_no_text() -> None:
    assert read("user", of("question", ""), of("trajectory", STEPS)) == NormalisedMessage("user", None)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('{"answer": "Yes."}', Fields("Yes.")),
        ('{"reasoning": "r", "answer": "Yes.", "other": null}', Fields("Yes.", "r")),
        ('{"answer": {"a": 1}, "sure": true}', Fields('answer: {"a": 1}\nsure: true')),
        (
            '{"next_thought": "r", "next_tool_name": "t", "next_tool_args": {"a": 1}}',
            Fields(None, "r", (ToolCall("", "t", {"a": 1}),)),
        ),
        ("{}", None),
        ('["a"]', None),
        ("Yes.", None),
        ('{"answer": ', None),
    ],
)
def test_outputs_may_be_a_json_object(text: str, fields: Fields | None) -> None:
    assert read_object(text) == fields


def test_only_a_dspy_program_s_objects_are_fields() -> None:
    text = '{"answer": "Yes."}'
    recorded = {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": text,
    }

    of_program = normal(recorded, scope="openinference.instrumentation.dspy")

    assert of_program.output_messages == (NormalisedMessage("assistant", "Yes."),)
    assert normal(recorded).output_messages == (NormalisedMessage("assistant", text),)


TYPED = "\n\n".join([of("question", "Hello."), of("trajectory", "Pay me."), REQUEST])
REPEATED = "\n\n".join([of("next_thought", "I pay."), of("next_tool_name", "pay"), of("next_tool_args", "{}")])


def recorded(instruction: str, **attributes: str) -> dict[str, str]:
    said = [("system", instruction), ("user", TYPED), ("assistant", REPEATED), ("user", TYPED)]
    inputs = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said]
    output = [{"role": "assistant", "parts": [{"type": "text", "content": REPEATED}]}]
    given = {"gen_ai.input.messages": json.dumps(inputs), "gen_ai.output.messages": json.dumps(output)}
    return {"gen_ai.operation.name": "chat", **given, **attributes}


def test_fields_that_a_user_types_hide_no_words_and_make_no_calls() -> None:
    span = normal(recorded("Help. The user may write [[ ##."))

    assert span.output_messages == (NormalisedMessage("assistant", REPEATED),)
    assert span.input_messages
    assert span.input_messages[1:] == (
        NormalisedMessage("user", TYPED),
        NormalisedMessage("assistant", REPEATED),
        NormalisedMessage("user", TYPED),
    )
    assert span.question() == TYPED


@pytest.mark.parametrize(
    ("instruction", "attributes", "scope"),
    [
        (f"Your input fields are:\n{of('question', '{question}')}", {}, "shop"),
        ("", {"gen_ai.system_instructions": of("question", "{question}")}, "shop"),
        ("", {}, "openinference.instrumentation.dspy"),
    ],
)
def test_the_texts_of_a_dspy_program_have_fields(instruction: str, attributes: dict[str, str], scope: str) -> None:
    span = normal(recorded(instruction, **attributes), scope=scope)
    call = NormalisedMessage("assistant", calls=(ToolCall("", "pay", {}),), reasoning="I pay.")

    assert span.output_messages == (call,)
    assert span.input_messages
    assert span.input_messages[-3:] == (
        NormalisedMessage("user", "Hello."),
        call,
        NormalisedMessage("user", "Hello."),
    )
    assert span.question() == "Hello."
