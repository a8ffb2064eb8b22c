"""Conversations with calls of any ids and names can be sent to each vendor."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat import Message, ToolCall
from app.providers.conversations import with_accepted_calls
from app.providers.encoding import NO_TEXT
from app.providers.types import ModelConfig, ModelRef, ModelRequest
from app.providers.vendors import VENDORS, Vendor
from app.providers.wires import wire_of
from tests.fakes.models import MODELS
from tests.support.operations import growth_of

HI = Message("user", "Hi")
IDS = st.sampled_from(["", "a", "a", "call_1", "functions.look:0", "x" * 50, "ü", "a b"])
NAMES = st.sampled_from(["look", "", "a.b/c", "ü", "x" * 100])
_CALLS = st.lists(st.builds(ToolCall, IDS, NAMES, st.sampled_from([{}, {"n": 1}, "no JSON", [1], None])), max_size=4)


def body(vendor: Vendor, *messages: Message) -> dict[str, Any]:
    request = ModelRequest(ModelRef(vendor, MODELS[vendor]), ModelConfig(max_tokens=9), messages, None, 60)
    return wire_of(request).body(request, streamed=False)


def turn(calls: list[ToolCall]) -> list[Message]:
    """The messages of a turn in which the model makes these calls; each result is the number of its call."""
    results = [Message("tool", str(number), tool_call_id=call.id or None) for number, call in enumerate(calls)]
    return [HI, Message("assistant", "Let me see.", tool_calls=tuple(calls)), *results]


@pytest.mark.parametrize("vendor", VENDORS)
@given(turns=st.lists(_CALLS, min_size=1, max_size=3))
def test_each_call_has_an_accepted_id_which_its_result_has_too(vendor: Vendor, turns: list[list[ToolCall]]) -> None:
    messages = tuple(message for calls in turns for message in turn(calls))
    sent = with_accepted_calls(vendor, messages)

    made = [call.id for message in sent for call in message.tool_calls]
    results = [message.tool_call_id for message in sent if message.role == "tool"]
    assert made == results
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(VENDORS[vendor].call_id, call_id) for call_id in made)
    names = [call.name for message in sent for call in message.tool_calls]
    assert all(re.fullmatch(VENDORS[vendor].tool_name or ".+", name) for name in names)
    json.dumps(body(vendor, *messages))


def test_accepted_ids_and_names_stay() -> None:
    messages = tuple(turn([ToolCall("a", "look", {}), ToolCall("b", "look", {})]))
    for vendor in VENDORS:
        assert with_accepted_calls(vendor, messages) == messages  # type: ignore[arg-type]


@pytest.mark.parametrize("blank", ["", " \n\t", "\u00a0"])
@pytest.mark.parametrize("vendor", ["ANTHROPIC", "GOOGLE"])
def test_no_blank_text_is_sent_and_the_user_begins_and_ends(vendor: Vendor, blank: str) -> None:
    empty, answer = Message("user", blank), Message("assistant", "Yes.")
    for messages in (
        (empty,),
        (empty, answer, HI),
        (HI, answer, empty),
        (HI, Message("assistant", blank), empty),
        (Message("system", blank), empty, Message("assistant", blank)),
        (Message("system", "Be brief."), HI, answer, Message("user", blank), answer, HI),
    ):
        sent = body(vendor, *messages)
        conversation = sent["messages" if vendor == "ANTHROPIC" else "contents"]
        parts = [part for message in conversation for part in message["content" if vendor == "ANTHROPIC" else "parts"]]
        assert all(part["text"].strip() for part in parts)
        assert {conversation[0]["role"], conversation[-1]["role"]} == {"user"}
        assert "system" not in sent or sent["system"].strip()


def test_a_result_without_text_is_sent_without_one() -> None:
    messages = body("ANTHROPIC", HI, Message("assistant", "", tool_calls=(ToolCall("a", "look", {}),)),
                    Message("tool", " ", tool_call_id="a"))["messages"]  # fmt: skip
    assert messages[-1]["content"] == [{"type": "tool_result", "tool_use_id": "a"}]


def test_a_conversation_that_ends_with_the_model_stays() -> None:
    messages = body("ANTHROPIC", HI, Message("assistant", "The answer is"))["messages"]
    assert messages[-1]["role"] == "assistant"
    assert NO_TEXT not in json.dumps(messages)


@pytest.mark.slow
def test_ids_are_made_in_time_that_grows_with_the_calls() -> None:
    def prepare(size: int) -> Any:
        taken = [ToolCall(f"call_{number}", "look", {}) for number in range(size)]
        messages = tuple(turn([*taken, *(ToolCall("", "look", {}) for _ in range(size))]))
        return lambda: with_accepted_calls("ANTHROPIC", messages)

    assert growth_of(prepare, 100) < 2.5
