"""Replays of a program over the API: its turns, its calls of models at the replay endpoint, and the verdicts."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from tests.fakes.judging import is_question, judging
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import BOOKED, HOT, THANKS, TOOLS, finished, make_case, prompt, record, results
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.world import World, beside

CANDIDATE = {"external": {"name": "concierge", "revision": "a1b2c3"}}
CHAT = "/api/replay/openai/v1/chat/completions"
GEMINI = "/api/replay/gemini/v1beta/models"
ASKS = Reply(tool_calls=[("weather", {"city": "Rome"})])
HOT_TEXT = Reply(text="It is 31 °C in Rome.")


@dataclass
class Program:
    """A program with its own instruction and conversation, which calls OpenAI's chat completions."""

    world: World
    token: str
    instruction: str = "You are a concierge."
    messages: list[dict[str, Any]] | None = None

    def call(self, path: str, body: dict[str, Any]) -> Any:
        return self.world.client.simulate_post(path, json=body, headers={"Authorization": f"Bearer {self.token}"})

    def ask(self, user: str, **more: Any) -> Any:
        tools = [{"type": "function", "function": tool} for tool in TOOLS]
        self.messages = [*(self.messages or [{"role": "system", "content": self.instruction}])]
        self.messages.append({"role": "user", "content": user})
        return self.call(CHAT, {"model": "gpt-4o-mini", "messages": self.messages, "tools": tools, **more})

    def fork(self, user: str) -> Any:
        """Ask in a separate conversation."""
        return Program(self.world, self.token).ask(user)

    def answer(self, user: str) -> str:
        answered = self.ask(user)
        assert answered.status_code == 200, answered.text
        assert self.messages is not None
        self.messages.append(answered.json["choices"][0]["message"])
        text: str = self.messages[-1]["content"]
        return text


def case_of(world: World, *turns: RecordedTurn, **body: Any) -> dict[str, Any]:
    return make_case(world, record(world, prompt(world), turns), **body)


def begin(world: World, test_case_id: int, **body: Any) -> tuple[str, Program]:
    started = world.post(f"/api/v1/test-cases/{test_case_id}/replays", json={"candidate": CANDIDATE, **body})
    assert started.status_code == 202, started.text
    assert started.json["endpoint"]["openai"].endswith("/api/replay/openai/v1")
    return f"/api/v1/replays/{started.json['id']}", Program(world, started.json["token"])


def play(world: World, replay: str, program: Program) -> dict[str, Any]:
    while (turn := world.post(f"{replay}/turns")).status_code == 200:
        text = program.answer(turn.json["user"])
        answered = world.post(f"{replay}/turns/{turn.json['turn']}/answer", json={"text": text})
        assert answered.status_code == 200, answered.text
    assert turn.status_code == 204, turn.text
    return finished(world, int(replay.rpartition("/")[2]))


def test_the_recording_answers_the_tools_of_a_program_within_the_endpoint(world: World, upstream: Upstream) -> None:
    case = case_of(world, HOT, THANKS)
    upstream.script(ASKS, HOT_TEXT, Reply(text="You are welcome."))
    replay, program = begin(world, case["id"])

    played = play(world, replay, program)

    assert (played["status"], results(played)) == ("passed", [["passed", "passed"], ["passed"]])
    assert played["candidate"]["external"] == {"name": "concierge", "revision": "a1b2c3", "dirty": False}
    first, second, third = (request.body for request in upstream.requests)
    assert first["messages"][0] == {"role": "system", "content": "You are a concierge."}
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool"]
    assert "31" in second["messages"][-1]["content"]
    # The program saw no call of a tool, and kept its own conversation.
    assert [message["role"] for message in third["messages"]] == ["system", "user", "assistant", "user"]
    assert {request.headers["authorization"] for request in upstream.requests} == {"Bearer sk-very-secret"}


def test_a_program_that_writes_what_was_not_recorded_fails(world: World, upstream: Upstream) -> None:
    case = case_of(world, HOT)
    upstream.script(Reply(tool_calls=[("book", {"hotel": "Hassler"})]), ASKS, HOT_TEXT)
    replay, program = begin(world, case["id"])

    played = play(world, replay, program)

    assert played["status"] == "failed"
    assert [violation["tool"] for violation in played["violations"]] == ["book"]
    assert "unavailable" in upstream.requests[1].body["messages"][-1]["content"]


def test_a_turn_without_a_call_of_the_endpoint_is_refused(world: World, upstream: Upstream) -> None:
    replay, _program = begin(world, case_of(world, HOT)["id"])

    refused = world.post(f"{replay}/turns/0/answer", json={"text": "It is 31 °C in Rome."})

    assert refused.status_code == 400
    assert "no model was called at the replay's endpoint" in refused.json["error"]
    assert world.get(replay).json["status"] == "queued"


def test_turns_are_answered_in_their_order_and_once(world: World, upstream: Upstream) -> None:
    replay, program = begin(world, case_of(world, HOT, THANKS)["id"])
    upstream.script(ASKS, HOT_TEXT)
    first = world.post(f"{replay}/turns").json
    assert (first["turn"], first["turns"], first["user"]) == (0, 2, HOT.user)
    assert world.post(f"{replay}/turns").json == first
    text = program.answer(HOT.user)

    early = world.post(f"{replay}/turns/1/answer", json={"text": text})
    answered = world.post(f"{replay}/turns/0/answer", json={"text": text})
    again = world.post(f"{replay}/turns/0/answer", json={"text": text})

    assert (early.status_code, again.status_code) == (409, 409)
    assert answered.json == {"turn": 0, "last": False, "modelCalls": 2, "otherCalls": []}
    assert world.post(f"{replay}/turns").json["user"] == THANKS.user


def test_a_call_that_the_recording_can_not_answer_ends_the_replay_where_it_stops(
    world: World, upstream: Upstream
) -> None:
    case = case_of(world, HOT, THANKS, onMissing="stop")
    upstream.script(Reply(tool_calls=[("weather", {"city": "Rome"}), ("book", {"hotel": "Hassler"})]))
    replay, program = begin(world, case["id"])
    world.post(f"{replay}/turns")

    refused = program.ask(HOT.user)
    after = program.ask(HOT.user)
    answered = world.post(f"{replay}/turns/0/answer", json={"text": "Sorry."})

    assert (refused.status_code, after.status_code) == (400, 409)
    assert "the recording has no result for a call of book" in refused.json["error"]
    assert answered.json["last"] is True
    played = finished(world, int(replay.rpartition("/")[2]))
    assert (played["status"], played["stopReason"]) == ("failed", "missing_result")


def test_a_token_is_worth_one_replay_and_nothing_else(world: World, upstream: Upstream) -> None:
    replay, program = begin(world, case_of(world, THANKS)["id"])
    _other, stranger = begin(world, case_of(world, THANKS)["id"])
    headers = {"Authorization": f"Bearer {program.token}"}

    forged = Program(world, program.token.rpartition("_")[0] + "_" + stranger.token.rpartition("_")[2])
    assert forged.ask("Thanks!").status_code == 401
    assert Program(world, world.key).ask("Thanks!").status_code == 401
    assert Program(world, "rpp_1_99999999999999999999_x").ask("Thanks!").status_code == 401
    assert world.client.simulate_get("/api/v1/prompts", headers=headers).status_code == 401
    assert world.client.simulate_post(f"{replay}/turns", headers=headers).status_code == 401
    upstream.script(Reply(text="You are welcome."))
    played = play(world, replay, program)
    assert played["status"] == "passed"
    assert program.ask("Thanks!").status_code == 401
    audited = world.get("/api/v1/audit-log").json["entries"]
    assert [entry["subject"] for entry in audited if entry["action"] == "program.replayed"][-1] == str(played["id"])


def test_the_token_of_a_replay_ends_with_the_api_key_that_began_it(world: World, upstream: Upstream) -> None:
    case = case_of(world, THANKS)
    key = world.post("/api/v1/api-keys", json={"name": "CI"}).json
    _replay, program = begin(replace(world, key=key["key"]), case["id"])
    _other, stays = begin(world, case["id"])
    upstream.script(Reply(text="You are welcome."), Reply(text="You are welcome."))
    assert program.ask("Thanks!").status_code == 200

    assert world.delete(f"/api/v1/api-keys/{key['id']}").status_code == 204

    assert program.ask("Thanks!").status_code == 401
    assert stays.ask("Thanks!").status_code == 200
    assert len(upstream.requests) == 2


def test_a_program_that_had_an_hour_ends_its_replay(world: World) -> None:
    replay, program = begin(world, case_of(world, THANKS)["id"])
    late = beside(world.container, now=lambda: world.container.now() + timedelta(hours=1, minutes=1))

    late.services.program_sweeper.sweep()

    ended = world.get(replay).json
    assert (ended["status"], ended["error"]) == ("error", "The program did not answer all turns within an hour.")
    assert program.ask("Thanks!").status_code == 401
    assert world.count("program_replays") == 0


def test_a_cancelled_replay_answers_its_program_no_more(world: World, upstream: Upstream) -> None:
    replay, program = begin(world, case_of(world, THANKS)["id"])

    assert world.post(f"{replay}/cancel").status_code == 200

    assert program.ask("Thanks!").status_code == 409
    assert world.post(f"{replay}/turns").status_code == 409
    assert upstream.requests == []


def test_simultaneous_calls_of_subagents_are_all_steps_of_the_turn(world: World, upstream: Upstream) -> None:
    both = RecordedTurn(HOT.user, HOT.answer, (*HOT.calls, *BOOKED.calls))
    replay, program = begin(world, case_of(world, both)["id"])
    world.post(f"{replay}/turns")
    upstream.choose = _subagent

    with ThreadPoolExecutor(8) as pool:
        users = [f"{kind} {number}" for number in range(3) for kind in ("weather", "book")]
        answers = list(pool.map(Program(world, program.token).fork, users))

    assert {answer.status_code for answer in answers} == {200}
    texts = [answer.json["choices"][0]["message"]["content"] for answer in answers]
    assert texts == [f"done {user}" for user in users]
    answered = world.post(f"{replay}/turns/0/answer", json={"text": HOT.answer})
    assert answered.json["modelCalls"] == 2 * len(users)
    played = finished(world, int(replay.rpartition("/")[2]))
    calls = [step["result"] for step in played["turns"][0]["steps"]]
    assert calls[:2] == ["passed", "passed"]
    assert ("extra_write", "book") in [(each["kind"], each["tool"]) for each in played["violations"]], played[
        "violations"
    ]


def _subagent(body: dict[str, Any]) -> Reply:
    """Ask for a tool, then answer, whatever else goes on at the same time; the judge accepts either order."""
    if is_question(body):
        return judging(lambda recorded, produced: "passed")(body)
    user = body["messages"][1]["content"]
    if body["messages"][-1]["role"] == "tool":
        return Reply(text=f"done {user}")
    return ASKS if user.startswith("weather") else Reply(tool_calls=[("book", {"hotel": "Hassler"})])


def test_calls_that_are_no_chat_are_passed_on_and_listed_or_refused(world: World, upstream: Upstream) -> None:
    case = case_of(world, THANKS)
    body = {"model": "text-embedding-3-small", "input": "Thanks!", "messages": []}
    path = "/api/replay/openai/v1/embeddings"
    upstream.script(Reply(raw=b'{"data": [{"embedding": [0.5]}]}'), Reply(text="You are welcome."))
    replay, program = begin(world, case["id"])
    world.post(f"{replay}/turns")

    embedded = program.call(path, body)
    program.answer(THANKS.user)
    answered = world.post(f"{replay}/turns/0/answer", json={"text": THANKS.answer})

    assert embedded.json == {"data": [{"embedding": [0.5]}]}
    assert upstream.requests[0].path == "/openai/v1/embeddings"
    assert answered.json["otherCalls"] == [{"path": "/embeddings", "model": "text-embedding-3-small"}]
    _replay, offline = begin(world, case["id"], offline=True)
    refused = offline.call(path, body)
    assert (refused.status_code, "is offline" in refused.json["error"]) == (400, True)


@pytest.mark.parametrize("method", ["countTokens", "embedContent", "batchEmbedContents"])
def test_methods_of_gemini_that_are_no_chat_are_passed_on(world: World, upstream: Upstream, method: str) -> None:
    _replay, program = begin(world, case_of(world, THANKS)["id"])
    upstream.script(Reply(raw=b"{}"))

    assert program.call(f"{GEMINI}/gemini-2.5-flash:{method}", {}).status_code == 200

    assert upstream.requests[0].path.endswith(f"/v1beta/models/gemini-2.5-flash:{method}")


@pytest.mark.parametrize(
    "model",
    [
        "veo-3:predictLongRunning",
        "imagen-4:predict",
        "gemini-3:batchGenerateContent",
        "gemini-3:generateContent%3Fx=1",
        "gemini-3:",
        "gemini-3",
        "..:countTokens",
        "..",
        "..%3Fa",
        "a%3Fb:countTokens",
        "a%23b:generateContent",
        "a%252F..:countTokens",
        "a..b:countTokens",
        "a%0A:countTokens",
        f"{'a' * 201}:countTokens",
    ],
)
def test_other_methods_and_names_of_gemini_are_refused_before_a_call(
    world: World, upstream: Upstream, model: str
) -> None:
    _replay, program = begin(world, case_of(world, THANKS)["id"])

    refused = program.call(f"{GEMINI}/{model}", {"contents": []})

    assert (refused.status_code, refused.json["error"][:7]) == (400, "model: ")
    assert upstream.requests == []


def test_what_a_program_costs_is_counted(world: World, upstream: Upstream) -> None:
    replay, program = begin(world, case_of(world, HOT)["id"])
    vectors = {"data": [], "usage": {"prompt_tokens": 1_000_000, "total_tokens": 1_000_000}}
    upstream.script(Reply(raw=json.dumps(vectors).encode()), ASKS, HOT_TEXT)
    program.call("/api/replay/openai/v1/embeddings", {"model": "text-embedding-3-small", "input": HOT.user})

    played = play(world, replay, program)

    assert played["tokens"]["prompt"] > 1_000_000
    assert played["cost"]["total"] > 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "model: "),
        ({"model": 5}, "model: "),
        ({"model": "gpt-4o-mini", "messages": []}, None),
    ],
)
def test_a_bad_request_of_a_program_is_refused(
    world: World, upstream: Upstream, body: dict[str, Any], words: str | None
) -> None:
    _replay, program = begin(world, case_of(world, THANKS)["id"])

    answered = program.call(CHAT, body)

    if words:
        assert (answered.status_code, answered.json["error"].startswith(words)) == (400, True), answered.text
    assert answered.status_code < 500


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        (CHAT, {}, "messages: Must be a list."),
        (CHAT, {"messages": {}}, "messages: Must be a list."),
        ("/api/replay/openai/v1/responses", {"input": 5}, "input: Must be a list."),
        ("/api/replay/anthropic/v1/messages", {"messages": "Hi"}, "messages: Must be a list."),
    ],
)
def test_a_conversation_that_can_not_be_continued_is_refused_before_a_call(
    world: World, upstream: Upstream, path: str, body: dict[str, Any], problem: str
) -> None:
    _replay, program = begin(world, case_of(world, HOT)["id"])

    refused = program.call(path, {"model": "gpt-4o-mini", **body})

    assert (refused.status_code, refused.json["error"]) == (400, problem)
    assert upstream.requests == []


def test_an_answer_of_a_model_that_can_not_be_continued_is_the_fault_of_its_vendor(
    world: World, upstream: Upstream
) -> None:
    _replay, program = begin(world, case_of(world, HOT)["id"])
    parts = [{"functionCall": {"args": {}}}]
    nameless = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    upstream.script(Reply(raw=json.dumps(nameless).encode()))

    answered = program.call(f"{GEMINI}/gemini-2.5-flash:generateContent", {"contents": []})

    assert answered.status_code == 502, answered.text


def test_a_turn_that_a_program_can_not_be_shown_makes_the_replay_void(world: World) -> None:
    case = case_of(world, HOT)
    exported = world.get(f"/api/v1/test-cases/{case['id']}/export").json
    exported["name"] = "under way"
    exported["testCase"]["turns"][0]["earlier"] = [{"role": "user", "text": "Hello."}]
    prompt_id = case["promptId"]
    imported = world.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", json=exported)
    assert imported.status_code in (200, 201), imported.text
    replay, _program = begin(world, imported.json["id"])

    assert world.post(f"{replay}/turns").status_code == 204

    played = finished(world, int(replay.rpartition("/")[2]))
    assert played["status"] == "void"
    assert "a program can't be shown what came before its recording" in played["void"]


def test_a_program_is_replayed_one_test_case_at_a_time(world: World) -> None:
    case = case_of(world, HOT)
    refused = world.post(f"/api/v1/prompts/{case['promptId']}/replays", json={"candidate": CANDIDATE})
    assert refused.status_code == 400


def use(program: Program, name: str, arguments: Any) -> Any:
    """Call a tool of the program."""
    return program.call("/api/replay/tools", {"name": name, "arguments": arguments})


def test_a_program_that_calls_its_tools_itself_gets_their_results_from_the_replay(
    world: World, upstream: Upstream
) -> None:
    replay, program = begin(world, case_of(world, HOT, THANKS)["id"], tools="program")
    upstream.script(ASKS, HOT_TEXT, Reply(text="You are welcome."))
    world.post(f"{replay}/turns")

    asked = program.ask(HOT.user).json["choices"][0]["message"]
    (wanted,) = asked["tool_calls"]
    result = use(program, wanted["function"]["name"], json.loads(wanted["function"]["arguments"]))

    assert result.json == {"result": {"degrees": 31}, "error": None}
    assert program.messages is not None
    given = {"role": "tool", "tool_call_id": wanted["id"], "content": json.dumps(result.json["result"])}
    program.messages += [asked, given]
    body = {"model": "gpt-4o-mini", "messages": program.messages}
    text = program.call(CHAT, body).json["choices"][0]["message"]["content"]
    assert upstream.requests[1].body["messages"] == program.messages
    world.post(f"{replay}/turns/0/answer", json={"text": text})
    played = play(world, replay, program)
    assert (played["status"], results(played)) == ("passed", [["passed", "passed"], ["passed"]])


def test_a_tool_that_no_model_asked_for_is_a_step_and_a_write_beyond_the_recording_is_refused(
    world: World, upstream: Upstream
) -> None:
    replay, program = begin(world, case_of(world, HOT, THANKS)["id"])
    world.post(f"{replay}/turns")
    upstream.script(HOT_TEXT, Reply(text="You are welcome."))

    read = use(program, "weather", {"city": "Rome"})
    refused = use(program, "book", {"hotel": "Hassler"})
    text = program.answer(HOT.user)

    assert read.json == {"result": {"degrees": 31}, "error": None}
    assert (refused.json["result"], "unavailable" in refused.json["error"]) == (None, True)
    world.post(f"{replay}/turns/0/answer", json={"text": text})
    played = play(world, replay, program)
    assert played["status"] == "failed"
    assert results(played)[0] == ["passed", "passed"]
    assert [(each["kind"], each["tool"]) for each in played["violations"]] == [("extra_write", "book")]


def test_a_result_with_very_many_levels_is_a_text(world: World) -> None:
    deep = "[" * 300 + "]" * 300
    asked = RecordedTurn(HOT.user, HOT.answer, (RecordedCall("weather", {"city": "Rome"}, deep),))
    replay, program = begin(world, case_of(world, asked)["id"], tools="program")
    world.post(f"{replay}/turns")

    result = use(program, "weather", {"city": "Rome"})

    assert (result.status_code, result.json) == (200, {"result": deep, "error": None})


def test_a_bad_call_of_a_tool_is_refused(world: World) -> None:
    _replay, program = begin(world, case_of(world, HOT)["id"])
    assert program.call("/api/replay/tools", {"arguments": {}}).status_code == 400
    assert program.call("/api/replay/tools", {"name": "x" * 201}).status_code == 400
    assert world.post("/api/replay/tools", json={"name": "weather"}).status_code == 401


def test_a_call_that_fails_on_purpose_fails_for_a_program_too(world: World, upstream: Upstream) -> None:
    case = case_of(world, HOT)
    faults = [{"tool": "weather", "call": 0, "kind": "timeout"}]
    upstream.script(ASKS, Reply(text="I could not find out."))
    replay, program = begin(world, case["id"], faults=faults)

    played = play(world, replay, program)

    assert "did not answer in time" in upstream.requests[1].body["messages"][-1]["content"]
    assert played["faults"][0]["tool"] == "weather"
    assert world.get(f"/api/v1/prompts/{case['promptId']}/replay-history").json["history"] == []
