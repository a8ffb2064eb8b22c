"""Conversations, turns and tools that an application records by hand, and the attributes of everybody's spans."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from opentelemetry import trace
from reprise_client.instrumentation import conversation, tool, turn

from tests.clients.python.instrumentation.conftest import Instrument
from tests.fakes.collector import Collector, attributes_of

OPERATION = "gen_ai.operation.name"


@dataclass(frozen=True)
class Rendered:
    version: str | None = "a" * 64
    resolved: dict[str, str | None] = field(default_factory=lambda: {"tone": "formal", "city": None})


@dataclass(frozen=True)
class Sent:
    """Return the spans that were sent, after a flush."""

    start: Instrument
    collector: Collector

    def __call__(self) -> dict[str, dict[str, Any]]:
        """The spans by name, with the attributes of each."""
        assert self.start().flush(60)
        return {span["name"]: attributes_of(span) for span in self.collector.stored}

    def span(self, name: str) -> dict[str, Any]:
        assert self.start().flush(60)
        return next(span for span in self.collector.stored if span["name"] == name)


@pytest.fixture
def sent(start: Instrument, collector: Collector) -> Sent:
    start()
    return Sent(start, collector)


def library_span(name: str, **attributes: Any) -> None:
    trace.get_tracer("somebody's library").start_span(name, attributes=attributes).end()


def messages(attributes: dict[str, Any], key: str) -> Any:
    return json.loads(attributes[f"gen_ai.{key}.messages"])


def test_every_span_within_a_conversation_names_it_and_its_user(sent: Sent) -> None:
    with conversation("c-1", user="u-1", prompt=Rendered(), prompt_id=18):
        library_span("within")
    library_span("after")

    assert sent()["within"] == {
        "gen_ai.conversation.id": "c-1",
        "user.id": "u-1",
        "service.prompt.id": "18",
        "service.prompt.version": "a" * 64,
        "service.prompt.placeholders": '{"tone": "formal"}',
    }
    assert sent()["after"] == {}


def test_tasks_that_run_at_once_keep_their_conversations_apart(sent: Sent) -> None:
    async def hold(name: str) -> None:
        with conversation(name):
            await asyncio.sleep(0)
            library_span(name)

    async def hold_all() -> None:
        await asyncio.gather(*(hold(f"c-{number}") for number in range(10)))

    asyncio.run(hold_all())

    assert {name: span["gen_ai.conversation.id"] for name, span in sent().items()} == {
        f"c-{number}": f"c-{number}" for number in range(10)
    }


def test_the_set_up_values_count_where_a_span_has_no_others(start: Instrument, collector: Collector) -> None:
    instrumentation = start(conversation="c-0", user="u-0", version="v1")
    library_span("plain")
    library_span("own", **{"gen_ai.conversation.id": "its own"})
    with conversation("c-1"):
        library_span("within", **{"gen_ai.conversation.id": "its own"})
    instrumentation.flush(60)

    found = {span["name"]: attributes_of(span) for span in collector.stored}
    assert found["plain"] == {"gen_ai.conversation.id": "c-0", "user.id": "u-0", "service.prompt.version": "v1"}
    assert found["own"]["gen_ai.conversation.id"] == "its own"
    assert found["within"]["gen_ai.conversation.id"] == "c-1"


def test_a_turn_without_instrumentation_is_a_model_call_of_its_question_and_answer(sent: Sent) -> None:
    with conversation("c-1"), turn("Where is it?", prompt=Rendered()) as this:
        this.answer("On its way.", model="gpt-x", input_tokens=7, output_tokens=3)

    chat = sent()["chat"]
    assert chat["gen_ai.conversation.id"] == "c-1"
    assert chat["service.prompt.version"] == "a" * 64
    assert messages(chat, "input") == [{"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]}]
    [answer] = messages(chat, "output")
    assert answer["parts"] == [{"type": "text", "content": "On its way."}]
    assert (chat["gen_ai.request.model"], chat["gen_ai.usage.input_tokens"]) == ("gpt-x", "7")


@pytest.mark.parametrize(
    "attributes",
    [{OPERATION: "chat"}, {"openinference.span.kind": "LLM"}, {"gen_ai.request.model": "m"}],
    ids=["gen_ai", "openinference", "openllmetry"],
)
def test_a_turn_in_which_an_instrumentation_records_model_calls_does_not_record_them_twice(
    sent: Sent, attributes: dict[str, Any]
) -> None:
    with turn("Where is it?") as this:
        library_span("model call", **attributes)
        this.answer("On its way.")

    assert set(sent()) == {"invoke_agent", "model call"}
    assert messages(sent()["invoke_agent"], "output")


def test_all_of_a_turn_is_one_trace(sent: Sent) -> None:
    with turn("Where is it?") as this, tool("find", {"order": "A-1"}) as call:
        call.result("here")
        this.answer("Here.")

    sent()
    assert len({span["traceId"] for span in sent.collector.stored}) == 1


def test_a_turn_that_fails_shows_its_question_and_the_error(sent: Sent) -> None:
    with pytest.raises(ValueError, match="no model"), turn("Where is it?"):
        raise ValueError("no model")

    assert messages(sent()["chat"], "input")
    assert sent.span("chat")["status"]["code"] == 2
    assert sent.span("invoke_agent")["events"][0]["name"] == "exception"


def test_a_tool_is_recorded_with_its_arguments_and_result(sent: Sent) -> None:
    with tool("find", {"order": "A-1"}, call_id="call_1") as call:
        call.result({"state": "shipped"})

    assert sent()["execute_tool find"] == {
        OPERATION: "execute_tool",
        "gen_ai.tool.name": "find",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": '{"order": "A-1"}',
        "gen_ai.tool.call.result": '{"state": "shipped"}',
    }


def test_a_function_is_recorded_by_the_names_of_its_arguments(sent: Sent) -> None:
    @tool
    def find(order: str, *, limit: int = 3, **rest: Any) -> list[str]:
        return [order] * limit

    assert find("A-1", limit=2, sort="up") == ["A-1", "A-1"]

    span = sent()["execute_tool find"]
    assert json.loads(span["gen_ai.tool.call.arguments"]) == {"order": "A-1", "limit": 2, "sort": "up"}
    assert span["gen_ai.tool.call.result"] == '["A-1", "A-1"]'


def test_a_coroutine_function_is_recorded_when_it_has_its_result(sent: Sent) -> None:
    class Shop:
        @tool("find_order")
        async def find(self, order: str) -> str:
            await asyncio.sleep(0)
            return "shipped"

    assert asyncio.run(Shop().find("A-1")) == "shipped"

    span = sent()["execute_tool find_order"]
    assert span["gen_ai.tool.call.arguments"] == '{"order": "A-1"}'
    assert span["gen_ai.tool.call.result"] == "shipped"


def test_what_a_tool_raises_is_its_error_and_is_raised(sent: Sent) -> None:
    @tool
    def find(order: str) -> str:
        raise LookupError(f"no order {order}")

    with pytest.raises(LookupError):
        find("A-1")

    span = sent.span("execute_tool find")
    assert span["status"]["code"] == 2
    assert attributes_of(span)["error.type"] == "LookupError"
    assert attributes_of(span["events"][0])["exception.message"] == "no order A-1"


class Unreadable:
    def __str__(self) -> str:
        raise RuntimeError("I have no text")


def looped() -> list[Any]:
    values: list[Any] = []
    values.append(values)
    return values


@pytest.mark.parametrize("value", [Unreadable(), looped(), {1, 2}, b"\xff", object()], ids=lambda it: type(it).__name__)
def test_no_value_of_the_application_breaks_a_tool(sent: Sent, value: Any) -> None:
    with tool("find", {"value": value}) as call:
        call.result(value)

    assert "gen_ai.tool.call.result" in sent()["execute_tool find"]


def test_the_words_can_be_left_out(start: Instrument, collector: Collector) -> None:
    instrumentation = start(capture_content=False)
    with turn("My name is Ada.") as this, tool("find", {"name": "Ada"}) as call:
        call.result("Ada Lovelace")
        this.answer("Hello Ada.")
    instrumentation.flush(60)

    assert "Ada" not in json.dumps(collector.stored)
    assert len(collector.stored) == 3


def test_nothing_is_recorded_and_nothing_breaks_where_nothing_is_set_up() -> None:
    with conversation("c-1"), turn("Where is it?") as this, tool("find") as call:
        call.result("here")
        this.answer("Here.")
