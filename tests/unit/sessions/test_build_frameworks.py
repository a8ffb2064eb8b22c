"""What turns become whose spans are in a framework's own attributes: a question, a tool, an answer, and who asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.otlp.decode import decode
from app.otlp.logs import decode_logs, events_of
from app.sessions.build import build_session
from app.sessions.facts import TurnFacts, merge
from app.sessions.types import Turn, Usage
from tests.support.exports import export, pairs_of, span, value_of

QUESTION, ANSWER = "Where is parcel 81?", "It is in Lyon."
ARGUMENTS, RESULT = {"parcel": 81}, {"town": "Lyon"}
CALL = {"id": "call-1", "type": "function", "function": {"name": "track", "arguments": json.dumps(ARGUMENTS)}}


@dataclass(frozen=True)
class Sent:
    """A span: its name, its attributes, its events, whether its status is an error, and the spans within it."""

    name: str
    attributes: dict[str, Any]
    within: tuple[Sent, ...] = ()
    events: tuple[tuple[str, dict[str, Any]], ...] = ()
    failed: bool = False


@dataclass
class Clock:
    """Numbers spans in the order of their start."""

    spans: list[dict[str, Any]] = field(default_factory=list)

    def add(self, sent: Sent, parent: str | None = None) -> None:
        number = len(self.spans) + 1
        events = [{"name": name, "attributes": pairs_of(attributes)} for name, attributes in sent.events]
        self.spans.append(
            span(
                sent.attributes,
                name=sent.name,
                spanId=f"{number:016x}",
                parentSpanId=parent,
                startTimeUnixNano=number * 10**9,
                endTimeUnixNano=10**12 - number,
                events=events,
                status={"code": 2} if sent.failed else {},
            )
        )
        for inner in sent.within:
            self.add(inner, f"{number:016x}")


def turn_of(*sent: Sent, scope: str = "scope") -> tuple[Turn, TurnFacts]:
    clock = Clock()
    for one in sent:
        clock.add(one)
    decoded = decode(export(*clock.spans, scope=scope))
    assert not decoded.rejected
    (turn,) = build_session([decoded.spans])
    return turn, TurnFacts.of(decoded.spans)


def steps(turn: Turn) -> list[Any]:
    """Each step: the text of an answer; name, arguments, and result or error of a tool call."""
    return [
        step.text if step.kind == "answer" else (step.name, step.arguments, step.error or step.result)
        for step in turn.steps
    ]


TRACKED = ("track", ARGUMENTS, RESULT)


def spring(kind: str, **more: Any) -> dict[str, Any]:
    return {"gen_ai.operation.name": "framework", "gen_ai.system": "spring_ai", "spring.ai.kind": kind, **more}


SPRING = Sent(
    "spring_ai chat_client",
    spring(
        "chat_client",
        **{"spring.ai.chat.client.conversation.id": "c-1", "spring.ai.chat.client.tool.names": '["track"]'},
    ),
    (
        Sent(
            "tool_call track",
            spring(
                "tool_call",
                **{
                    "spring.ai.tool.definition.name": "track",
                    "spring.ai.tool.call.arguments": json.dumps(ARGUMENTS),
                    "spring.ai.tool.call.result": json.dumps(RESULT),
                },
            ),
        ),
        Sent(
            "chat gpt",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.prompt": json.dumps([QUESTION]),
                "gen_ai.completion": json.dumps([ANSWER]),
            },
        ),
    ),
)

LITELLM = Sent(
    "litellm_request",
    {
        "gen_ai.operation.name": "acompletion",
        "llm.request.type": "acompletion",
        "gen_ai.request.model": "gpt",
        "session.id": "c-1",
        "llm.user": "u-1",
        "gen_ai.input.messages": json.dumps(
            [
                {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
                {"role": "assistant", "parts": [{"type": "text", "content": ""}], "tool_calls": [CALL]},
                {
                    "role": "tool",
                    "tool_call_id": "call-1",
                    "parts": [{"type": "text", "content": json.dumps(RESULT)}],
                },
            ]
        ),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}]),
    },
    (Sent("raw_gen_ai_request", {"llm.openai.model": "gpt"}),),
)

VERCEL = Sent(
    "ai.generateText",
    {
        "ai.operationId": "ai.generateText",
        "ai.telemetry.metadata.sessionId": "c-1",
        "ai.telemetry.metadata.userId": "u-1",
    },
    (
        Sent(
            "ai.toolCall",
            {
                "ai.operationId": "ai.toolCall",
                "ai.toolCall.name": "track",
                "ai.toolCall.args": json.dumps(ARGUMENTS),
                "ai.toolCall.result": json.dumps(RESULT),
            },
        ),
        Sent(
            "ai.generateText.doGenerate",
            {
                "ai.operationId": "ai.generateText.doGenerate",
                "ai.prompt.messages": json.dumps([{"role": "user", "content": QUESTION}]),
                "ai.response.text": ANSWER,
            },
        ),
    ),
)

DIFY = Sent(
    "workflow",
    {"gen_ai.span.kind": "CHAIN", "gen_ai.session.id": "c-1", "gen_ai.user.id": "u-1"},
    (
        Sent(
            "track",
            {"gen_ai.span.kind": "TOOL", "input.value": json.dumps(ARGUMENTS), "output.value": '{"town":"Lyon"}'},
        ),
        Sent(
            "llm",
            {
                "gen_ai.span.kind": "LLM",
                "gen_ai.request.model": "gpt",
                "gen_ai.prompt": json.dumps([{"role": "user", "text": QUESTION, "files": []}]),
                "gen_ai.completion": ANSWER,
            },
        ),
    ),
)

LAMINAR = Sent(
    "turn",
    {
        "lmnr.span.type": "DEFAULT",
        "lmnr.association.properties.session_id": "c-1",
        "lmnr.association.properties.user_id": "u-1",
    },
    (
        Sent(
            "track",
            {"lmnr.span.type": "TOOL", "lmnr.span.input": json.dumps(ARGUMENTS), "lmnr.span.output": '{"town":"Lyon"}'},
        ),
        Sent(
            "openai.chat",
            {
                "lmnr.span.type": "LLM",
                "lmnr.span.input": json.dumps([{"role": "user", "content": QUESTION}]),
                "lmnr.span.output": json.dumps(ANSWER),
            },
        ),
    ),
)

ADK = Sent(
    "call_llm",
    {
        "gcp.vertex.agent.session_id": "c-1",
        "gcp.vertex.agent.llm_request": json.dumps({"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]}),
        "gcp.vertex.agent.llm_response": json.dumps({"content": {"role": "model", "parts": [{"text": ANSWER}]}}),
    },
)

GENKIT = Sent(
    "gemini",
    {
        "genkit:sessionId": "c-1",
        "genkit:metadata:subtype": "model",
        "genkit:input": json.dumps({"messages": [{"role": "user", "content": [{"text": QUESTION}]}]}),
        "genkit:output": json.dumps(
            {"message": {"role": "model", "content": [{"reasoning": "Look it up."}, {"text": ANSWER}]}}
        ),
    },
)

UNNAMED = Sent(
    "a call by hand",
    {
        "gen_ai.conversation.id": "c-1",
        "gen_ai.request.model": "gpt",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}]),
    },
)


@pytest.mark.parametrize(
    ("sent", "user_id", "expected"),
    [
        pytest.param(SPRING, None, [TRACKED, ANSWER], id="Spring AI"),
        pytest.param(LITELLM, "u-1", [TRACKED, ANSWER], id="LiteLLM"),
        pytest.param(VERCEL, "u-1", [TRACKED, ANSWER], id="Vercel AI SDK"),
        pytest.param(DIFY, "u-1", [TRACKED, ANSWER], id="Dify"),
        pytest.param(LAMINAR, "u-1", [TRACKED, ANSWER], id="Laminar"),
        pytest.param(ADK, None, [ANSWER], id="Google ADK"),
        pytest.param(GENKIT, None, [ANSWER], id="Genkit"),
        pytest.param(UNNAMED, None, [ANSWER], id="no operation"),
    ],
)
def test_a_turn_of_a_framework(sent: Sent, user_id: str | None, expected: list[Any]) -> None:
    turn, facts = turn_of(sent)

    assert (turn.conversation_id, turn.user_id, turn.user) == ("c-1", user_id, QUESTION)
    assert steps(turn) == expected
    assert (facts.conversation or ((), ""))[1] == "c-1"
    assert (facts.user[2] if facts.user else None) == user_id
    assert (facts.opening or ((), ""))[1] == QUESTION
    assert facts.tool_calls == sum(step.kind == "tool_call" and step.source == "span" for step in turn.steps)


def test_the_tools_of_a_spring_client_are_offered() -> None:
    assert turn_of(SPRING)[0].offered_tools == ("track",)


def test_thoughts_without_a_type_are_no_part_of_the_answer() -> None:
    turn, _ = turn_of(GENKIT)

    assert [one.reasoning for one in turn.spans] == ["Look it up."]


CODE = {"session.id": "c-1", "user.id": "u-1"}


def code(kind: str, **more: Any) -> Sent:
    return Sent(f"claude_code.{kind}", {**CODE, "span.type": kind, **more})


def test_a_turn_of_claude_code() -> None:
    tokens = {"input_tokens": 9, "output_tokens": 5, "cache_read_tokens": 7, "cache_creation_tokens": 2}
    ran = Sent(
        "claude_code.tool",
        {**CODE, "span.type": "tool", "tool_name": "Bash", "tool_use_id": "call-1", "full_command": "ls"},
        events=(("tool.output", {"output": "README.md"}),),
    )
    call = code("llm_request", **{"gen_ai.system": "anthropic", "model": "claude", "ttft_ms": 610, **tokens})
    turn, facts = turn_of(call, ran, code("tool.blocked_on_user"))

    assert steps(turn) == [("Bash", {"command": "ls"}, "README.md")]
    assert turn.usage == facts.usage == Usage(18, 5, 7, 2)
    assert (turn.spans[0].provider, turn.spans[0].served_model) == ("anthropic", "claude")
    assert turn.spans[0].first_token_ms == 610
    assert facts.tools == {"Bash"}


def test_redacted_words_of_claude_code_are_none() -> None:
    turn, _ = turn_of(code("llm_request", **{"response.model_output": "<REDACTED>"}))

    assert turn.steps == ()
    assert "content" in turn.warnings[0]


def test_a_span_type_of_another_program_is_ignored() -> None:
    turn, _ = turn_of(Sent("request", {"span.type": "llm_request", "input_tokens": 3}))

    assert turn.usage == Usage()


LIVEKIT = {
    "lk.function_tool.name": "track",
    "lk.function_tool.output": "no such parcel",
    "lk.function_tool.is_error": True,
}
STRANDS = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "track", "gen_ai.tool.status": "error"}
LANGFUSE = {
    "langfuse.observation.type": "tool",
    "langfuse.observation.input": "{}",
    "langfuse.observation.level": "ERROR",
    "langfuse.observation.status_message": "no such parcel",
}


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        pytest.param({**STRANDS, "gen_ai.tool.call.result": "no such parcel"}, "no such parcel", id="Strands"),
        pytest.param({**STRANDS, "error.message": "no such parcel"}, "no such parcel", id="only a message"),
        pytest.param(LANGFUSE, "no such parcel", id="Langfuse"),
        pytest.param(LIVEKIT, "no such parcel", id="LiveKit"),
    ],
)
def test_a_tool_with_attributes_of_a_failure_has_failed(attributes: dict[str, Any], error: str) -> None:
    turn, facts = turn_of(Sent("track", attributes))

    assert turn.steps[0].error == error
    assert (facts.errors, facts.tool_errors, facts.failed_tools) == (1, 1, {"track"})


@pytest.mark.parametrize(
    ("recorded", "response", "error"),
    [
        (
            {"error.type": "tool_error"},
            {"response": {"isError": True, "content": [{"type": "text", "text": "no"}]}},
            "no",
        ),
        ({"error.type": "tool_error"}, {"response": "no"}, "no"),
        ({"error.type": "tool_error"}, {"response": {"reason": "no"}}, '{"reason": "no"}'),
        ({"error.type": "tool_error"}, {"response": None}, "tool_error"),
        ({"error.type": "tool_error", "error.message": "timeout"}, {"response": "no"}, "timeout"),
    ],
)
def test_an_error_without_words_is_the_response_that_the_model_got(
    recorded: dict[str, Any], response: dict[str, Any], error: str
) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "track", "arguments": {}}
    answered = {"type": "tool_call_response", "id": "c1"} | response
    messages = [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [answered]}]
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "track", "gen_ai.tool.call.id": "c1"}
    chats = [
        {"gen_ai.operation.name": "chat", f"gen_ai.{side}.messages": json.dumps(given)}
        for side, given in (("output", messages[:1]), ("input", messages))
    ]

    turn, _ = turn_of(Sent("chat", chats[0]), Sent("track", tool | recorded), Sent("chat", chats[1]))
    assert (turn.steps[0].result, turn.steps[0].error) == (None, error)


@pytest.mark.parametrize(
    "attributes",
    [
        {**STRANDS, "gen_ai.tool.status": "success"},
        {**LANGFUSE, "langfuse.observation.level": "DEFAULT"},
        {**LIVEKIT, "lk.function_tool.is_error": False},
    ],
)
def test_a_tool_with_attributes_of_a_success_has_not_failed(attributes: dict[str, Any]) -> None:
    turn, facts = turn_of(Sent("track", attributes))

    assert (turn.steps[0].error, facts.errors, facts.tool_errors) == (None, 0, 0)


def test_strands_records_the_first_token_in_milliseconds() -> None:
    call = Sent("chat", {"gen_ai.operation.name": "chat", "gen_ai.server.time_to_first_token": 420})

    assert turn_of(call, scope="strands.telemetry.tracer")[0].spans[0].first_token_ms == 420
    assert turn_of(call)[0].spans[0].first_token_ms == 420_000


def mcp(**more: Any) -> dict[str, Any]:
    named = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "track"}
    return {**named, **more}


def test_the_server_of_a_tool_is_the_clients_call_again() -> None:
    client = mcp(**{"gen_ai.tool.call.arguments": '{"parcel":81}', "gen_ai.tool.call.result": '{"town":"Lyon"}'})
    turn, _ = turn_of(Sent("tools/call track", client, (Sent("tools/call track", mcp()),)))

    assert steps(turn) == [TRACKED]


def test_a_tool_that_calls_itself_ran_twice() -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "track"}
    turn, _ = turn_of(Sent("execute_tool track", tool, (Sent("execute_tool track", tool),)))

    assert len(turn.steps) == 2


BLOCK = {"type": "text", "text": json.dumps(RESULT)}


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ({"content": [BLOCK], "isError": False}, RESULT),
        ({"content": [BLOCK], "structuredContent": RESULT, "isError": False}, RESULT),
        ({"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}, "one\ntwo"),
        ({"content": [{"type": "image", "data": ""}]}, {"content": [{"type": "image", "data": ""}]}),
        ({"content": [BLOCK], "author": "x"}, {"content": [BLOCK], "author": "x"}),
        ({"content": []}, {"content": []}),
        ({"content": "a page"}, {"content": "a page"}),
        ([BLOCK], RESULT),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([BLOCK, {"type": "image", "data": ""}], [BLOCK, {"type": "image", "data": ""}]),
        ([BLOCK | {"author": "x"}], [BLOCK | {"author": "x"}]),
        (["one"], ["one"]),
    ],
)
def test_the_result_of_mcp_is_its_text(recorded: Any, expected: Any) -> None:
    common = mcp(**{"gen_ai.tool.call.result": json.dumps(recorded)})
    wrapped = {"traceloop.span.kind": "tool", "traceloop.entity.output": json.dumps(recorded)}

    assert turn_of(Sent("t", common))[0].steps[0].result == expected
    assert turn_of(Sent("t", wrapped))[0].steps[0].result == expected


def test_the_result_of_a_fastmcp_tool_is_its_text() -> None:
    blocks = [{"type": "text", "content": json.dumps(RESULT)}]
    wrapped = {"traceloop.span.kind": "tool", "traceloop.entity.output": json.dumps(blocks)}

    assert turn_of(Sent("t", wrapped))[0].steps[0].result == RESULT


def test_a_lone_argument_by_position_has_the_name_that_the_model_gave_it() -> None:
    call = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json.dumps(
            [
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "id": "c", "name": "say", "arguments": {"text": "Hi"}}],
                }
            ]
        ),
    }
    tool = {
        "openinference.span.kind": "TOOL",
        "tool.name": "say",
        "input.value": json.dumps({"args": ["Hi"], "sanitize_inputs_outputs": True, "kwargs": {}}),
        "output.value": "Hi",
    }

    assert steps(turn_of(Sent("chat", call), Sent("Say", tool))[0]) == [("say", {"text": "Hi"}, "Hi")]


@pytest.mark.parametrize(
    "counts",
    [
        {
            "gen_ai.usage.prompt_tokens_details.cache_read": 4,
            "gen_ai.usage.prompt_tokens_details.cache_write": 2,
            "gen_ai.usage.completion_tokens_details.reasoning": 3,
        },
        {
            "gen_ai.usage.input_token_details": '{"cache_read": 4, "cache_creation": 2}',
            "gen_ai.usage.output_token_details": '{"reasoning": 3}',
        },
    ],
    ids=["OpenLIT", "LangSmith"],
)
def test_the_parts_of_tokens(counts: dict[str, Any]) -> None:
    totals = {"gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 9}
    turn, _ = turn_of(Sent("chat", {"gen_ai.operation.name": "chat", **totals, **counts}))

    assert turn.usage == Usage(12, 9, 4, 2, 3)


def test_litellms_log_records_are_the_words_of_their_call() -> None:
    call = Sent("litellm_request", {"gen_ai.operation.name": "acompletion"})
    clock = Clock()
    clock.add(call)
    (stored,) = decode(export(*clock.spans)).spans
    asked, answered = {"role": "user", "content": QUESTION}, {"index": 0, "message": {"content": ANSWER}}
    said = (("gen_ai.content.prompt", asked), ("gen_ai.content.completion", answered))
    records = [
        {
            "traceId": stored.trace_id.hex(),
            "spanId": stored.span_id.hex(),
            "attributes": pairs_of({"event_name": name}),
            "body": value_of(body),
        }
        for name, body in said
    ]
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()

    kept = decode_logs(body, 7, protobuf=False, limit=10_000).records
    (turn,) = build_session([[stored]], records=events_of(((one.trace_id, one.span_id), one.raw) for one in kept))

    assert (turn.user, steps(turn)) == (QUESTION, [ANSWER])


def agent(asked: str, answered: str, *within: Sent, kind: str = "AGENT") -> Sent:
    attributes = {"openinference.span.kind": kind, "session.id": "c-1", "input.value": asked, "output.value": answered}
    return Sent("query", attributes, within)


RAN = Sent(
    "track",
    {
        "openinference.span.kind": "TOOL",
        "tool.name": "track",
        "input.value": json.dumps(ARGUMENTS),
        "output.value": json.dumps(RESULT),
    },
)


def test_an_agent_without_model_calls_speaks_for_them() -> None:
    turn, facts = turn_of(agent(QUESTION, ANSWER, RAN))

    assert (turn.user, steps(turn)) == (QUESTION, [TRACKED, ANSWER])
    assert (facts.opening, facts.preview) == (None, QUESTION)


def test_a_root_pipeline_without_another_one_with_words_speaks_for_the_turn() -> None:
    turn, facts = turn_of(agent(QUESTION, ANSWER, RAN, kind="CHAIN"))

    assert (turn.user, facts.preview) == (QUESTION, QUESTION)
    assert [step.kind for step in turn.steps] == ["tool_call", "answer"]


@pytest.mark.parametrize("outer", ["CHAIN", "RETRIEVER"])
def test_an_agents_words_precede_those_of_a_root(outer: str) -> None:
    turn, facts = turn_of(agent("the whole state", "all of it", agent(QUESTION, ANSWER), kind=outer))

    assert (turn.user, facts.preview) == (QUESTION, QUESTION)
    assert [step.text for step in turn.steps] == [ANSWER]


def test_a_pipeline_within_a_span_or_a_search_as_the_root_does_not_speak() -> None:
    inner, _ = turn_of(Sent("web server", {}, (agent(QUESTION, ANSWER, kind="CHAIN"),)))
    search, facts = turn_of(agent(QUESTION, ANSWER, kind="RETRIEVER"))

    assert (inner.user, search.user, facts.preview) == (None, None, None)
    assert inner.steps == search.steps == ()


def test_a_model_call_without_words_leaves_them_to_its_agent() -> None:
    turn, facts = turn_of(agent(QUESTION, ANSWER, Sent("chat", {"gen_ai.operation.name": "chat"})))

    assert (turn.user, steps(turn), facts.preview) == (QUESTION, [ANSWER], QUESTION)


def test_an_agent_adds_nothing_to_the_words_of_a_model_call() -> None:
    turn, facts = turn_of(
        agent("As it was put to the agent", "As the agent put it", agent(QUESTION, ANSWER, kind="LLM"))
    )

    assert (turn.user, steps(turn)) == (QUESTION, [ANSWER])
    assert (facts.agent_opening, facts.preview) == (None, QUESTION)


def test_agents_within_an_agent_do_not_answer_and_agents_one_after_the_other_do() -> None:
    helper = Sent("step", {}, (agent("Find it", "Found"),))
    turn, _ = turn_of(agent(QUESTION, ANSWER, helper), agent("Thanks", "You are welcome."))

    assert turn.user == QUESTION
    assert sorted(steps(turn)) == [ANSWER, "You are welcome."]


def test_what_an_agent_was_asked_opens_a_turn_until_a_model_call_comes() -> None:
    clock = Clock()
    clock.add(agent("As it was put to the agent", ANSWER, agent(QUESTION, ANSWER, kind="LLM")))
    of_agent, of_call = (TurnFacts.of([one]) for one in decode(export(*clock.spans)).spans)

    assert of_agent.preview == "As it was put to the agent"
    assert merge(of_agent, of_call).preview == merge(of_call, of_agent).preview == QUESTION
    assert merge(of_agent, of_call) == TurnFacts.of(decode(export(*clock.spans)).spans)


def test_texts_that_mlflow_writes_as_json_are_read_without_their_quotes() -> None:
    call = {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.llm.model": '"gpt"',
        "mlflow.llm.provider": '"openai"',
        "mlflow.spanInputs": json.dumps(QUESTION),
        "mlflow.spanOutputs": json.dumps(ANSWER),
    }
    turn, facts = turn_of(Sent("predict", call))

    assert (turn.user, steps(turn), facts.models) == (QUESTION, [ANSWER], {"gpt"})
    assert (turn.spans[0].provider, turn.spans[0].model) == ("openai", "gpt")


def test_a_tool_of_spring_ai_2_answers_the_call_of_its_id() -> None:
    other = {**CALL, "function": {"name": "track", "arguments": '{"parcel":80}'}}
    calls = [other, {**CALL, "id": "call-2"}]
    asked = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": None, "tool_calls": calls}]),
    }
    ran = spring(
        "tool_call",
        **{
            "gen_ai.operation.name": "execute_tool",
            "spring.ai.tool.definition.name": "track",
            "spring.ai.tool.call.id": "call-2",
            "spring.ai.tool.call.result": json.dumps(RESULT),
        },
    )
    turn, _ = turn_of(Sent("chat", asked), Sent("execute_tool track", ran))

    assert [(step.source, step.arguments, step.result) for step in turn.steps] == [
        ("messages", {"parcel": 80}, None),
        ("span", ARGUMENTS, RESULT),
    ]
