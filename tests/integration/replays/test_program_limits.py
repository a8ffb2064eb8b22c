"""Calls of a program's models: admitted before they are paid, within the limits, and steps of the right turn."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import falcon
import pytest

from app.models import program_replays
from app.providers.passing.wire import STREAM_BYTES, STREAM_GROWTH
from app.replay.turn_player import TurnPlayer
from app.services.replays import program_calls, program_store
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import HOT, THANKS, finished
from tests.integration.replays.test_programs_api import ASKS, CHAT, GEMINI, HOT_TEXT, Program, begin, case_of, play
from tests.integration.test_models_api import named
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.world import World

RESPONSES = "/api/replay/openai/v1/responses"
EMBEDDINGS = "/api/replay/openai/v1/embeddings"
WELCOME = Reply(text="You are welcome.")
VECTOR = Reply(raw=b'{"data": [{"embedding": [0.5]}]}')


def embed(program: Program) -> Any:
    return program.call(EMBEDDINGS, {"model": "text-embedding-3-small", "input": "Thanks!"})


def answer(world: World, replay: str, turn: int, text: str) -> Any:
    return world.post(f"{replay}/turns/{turn}/answer", json={"text": text})


class Held:
    """Calls of programs that the vendor does not answer until `release`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream, self._event, self._pool = upstream, threading.Event(), ThreadPoolExecutor(16)

    def reply(self, **reply: Any) -> Reply:
        return Reply(held=self._event, **reply)

    def begin(self, call: Any, *arguments: Any) -> Future[Any]:
        """Call, and return when the vendor has the request."""
        before = len(self._upstream.requests)
        future = self._pool.submit(call, *arguments)
        while len(self._upstream.requests) == before and not future.done():
            time.sleep(0.01)
        return future

    def release(self) -> None:
        self._event.set()

    def close(self) -> None:
        self.release()
        self._pool.shutdown()


@pytest.fixture
def held(upstream: Upstream) -> Iterator[Held]:
    held = Held(upstream)
    yield held
    held.close()


def test_no_call_is_paid_after_a_replay_was_cancelled(world: World, upstream: Upstream) -> None:
    replay, program = begin(world, case_of(world, THANKS)["id"])
    world.post(f"{replay}/cancel")

    counted = program.call(f"{GEMINI}/gemini-2.5-flash:countTokens", {})

    assert (embed(program).status_code, counted.status_code) == (409, 409)
    assert upstream.requests == []


def test_a_call_under_way_when_its_replay_is_cancelled_is_counted(world: World, upstream: Upstream, held: Held) -> None:
    replay, program = begin(world, case_of(world, THANKS)["id"])
    upstream.script(held.reply(text="You are welcome."))
    call = held.begin(program.ask, THANKS.user)

    world.post(f"{replay}/cancel")
    held.release()

    assert call.result().status_code == 200
    assert world.get(replay).json["tokens"]["prompt"] > 0


@pytest.mark.parametrize("name", ["gpt-4o-mini", "gpt-4o-mini-2024-07-18"])
def test_a_disabled_model_and_its_snapshots_are_not_called(world: World, upstream: Upstream, name: str) -> None:
    world.container.services.models.sync_catalogue()
    _replay, program = begin(world, case_of(world, THANKS)["id"])
    path = f"/api/v1/models/{named(world, 'gpt-4o-mini')['id']}"
    assert world.patch(path, json={"enabled": False}).json["enabled"] is False

    refused = program.ask(THANKS.user, model=name)

    assert (refused.status_code, upstream.requests) == (400, [])
    assert "gpt-4o-mini is disabled" in refused.json["error"]


def test_a_snapshot_of_a_model_and_an_unknown_model_with_a_price_have_costs(world: World, upstream: Upstream) -> None:
    world.container.services.models.sync_catalogue()
    price = {"provider": "openai", "model": "house-model", "promptPrice": 1000, "completionPrice": 1000}
    assert world.post("/api/v1/model-prices", json=price).status_code < 300
    costs = []
    for name in ("gpt-4o-mini-2024-07-18", "house-model", "nobodys-model"):
        replay, program = begin(world, case_of(world, THANKS)["id"])
        upstream.script(WELCOME)
        assert program.ask(THANKS.user, model=name).status_code == 200
        costs.append(world.get(replay).json["cost"]["prompt"])

    assert [cost > 0 for cost in costs] == [True, True, False]


def test_no_call_is_paid_beyond_the_number_of_calls(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_store, "CALLS_MAX", 1)
    replay, program = begin(world, case_of(world, THANKS)["id"])
    upstream.script(WELCOME)

    assert program.ask(THANKS.user).status_code == 200
    refused, after = embed(program), embed(program)

    assert (refused.status_code, after.status_code, len(upstream.requests)) == (400, 409, 1)
    assert "at most 1 calls" in refused.json["error"]
    assert answer(world, replay, 0, "You are welcome.").json["last"] is True
    assert finished(world, int(replay.rpartition("/")[2]))["status"] != "queued"


def test_calls_at_the_same_time_keep_to_the_number_of_calls(
    world: World, upstream: Upstream, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_store, "CALLS_MAX", 2)
    _replay, program = begin(world, case_of(world, THANKS)["id"])
    upstream.script(*[held.reply(raw=b"{}")] * 4)
    calls = [held.begin(embed, program) for _ in range(2)]

    refused = embed(program)
    held.release()

    assert refused.status_code == 400
    assert ([call.result().status_code for call in calls], len(upstream.requests)) == ([200, 200], 2)


def test_a_failed_call_counts_for_the_number_of_calls_and_costs_nothing(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_store, "CALLS_MAX", 2)
    replay, program = begin(world, case_of(world, THANKS)["id"])
    upstream.script(Reply(status=400), VECTOR, VECTOR)

    assert [embed(program).status_code for _ in range(3)] == [502, 200, 400]
    assert (len(upstream.requests), world.get(replay).json["tokens"]["total"]) == (2, 0)


def unusable(usage: dict[str, int]) -> Reply:
    """Return an answer that a vendor charges for, with more calls of tools than are read."""
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(1001)]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    answer = {"id": "x", "choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}
    return Reply(raw=json.dumps(answer).encode())


def test_an_answer_that_can_not_be_used_is_counted_as_the_most_that_its_call_can_cost(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.container.services.models.sync_catalogue()
    monkeypatch.setattr(program_store, "CALLS_MAX", 2)
    replay, program = begin(world, case_of(world, THANKS)["id"])
    upstream.script(*[unusable({"prompt_tokens": 1000, "completion_tokens": 400})] * 3)

    statuses = [program.ask(THANKS.user, max_completion_tokens=500).status_code for _ in range(3)]

    counted = world.get(replay).json
    assert (statuses, len(upstream.requests)) == ([502, 502, 400], 2)
    assert counted["tokens"]["completion"] == 2 * 500
    assert counted["tokens"]["prompt"] > 0
    assert counted["cost"]["total"] > 0


def test_an_answer_of_a_model_with_only_a_price_that_can_not_be_used_has_a_cost(
    world: World, upstream: Upstream
) -> None:
    price = {"provider": "openai", "model": "house-model", "promptPrice": 0, "completionPrice": 1}
    assert world.post("/api/v1/model-prices", json=price).status_code < 300
    replay, program = begin(world, case_of(world, THANKS)["id"])
    upstream.script(unusable({}))

    assert program.ask(THANKS.user, model="house-model").status_code == 502

    assert world.get(replay).json["tokens"]["completion"] == 128_000
    assert world.get(replay).json["cost"]["completion"] == pytest.approx(0.128)


def test_a_vendor_that_reports_the_most_tokens_twice_is_counted(world: World, upstream: Upstream) -> None:
    replay, program = begin(world, case_of(world, THANKS)["id"])
    vectors = {"data": [], "usage": {"prompt_tokens": 2**40}}
    upstream.script(*[Reply(raw=json.dumps(vectors).encode())] * 2)

    assert [embed(program).status_code for _ in range(2)] == [200, 200]
    assert world.get(replay).json["tokens"]["prompt"] == 2**31 - 1


def test_a_response_in_the_background_is_refused_before_it_is_paid(world: World, upstream: Upstream) -> None:
    _replay, program = begin(world, case_of(world, THANKS)["id"])

    refused = program.call(RESPONSES, {"model": "gpt-4o", "input": "Thanks!", "background": True})

    assert (refused.status_code, refused.json["error"][:12]) == (400, "background: ")
    assert upstream.requests == []


def many_keys(size: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Hi."} | {f"k{n}": 1 for n in range(size)}
    return {"id": "x" * 10 * size, "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def many_parts(size: int) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": "a", "annotations": []}] * size
    item = {"type": "message", "role": "assistant", "id": "x" * 10 * size, "content": parts}
    return {"id": "r", "object": "response", "status": "completed", "output": [item]}


@pytest.mark.parametrize(
    ("path", "asked", "answer"),
    [
        (CHAT, {"messages": [{"role": "user", "content": "Thanks!"}]}, many_keys),
        (RESPONSES, {"input": "Thanks!"}, many_parts),
    ],
)
def test_the_stream_of_an_answer_that_would_grow_without_a_limit_is_short_or_refused(
    world: World, upstream: Upstream, path: str, asked: dict[str, Any], answer: Any
) -> None:
    _replay, program = begin(world, case_of(world, THANKS)["id"])
    raw = json.dumps(answer(2000)).encode()
    upstream.script(Reply(raw=raw))

    answered = program.call(path, {"model": "gpt-4o-mini", "stream": True, **asked})

    assert answered.status_code in (200, 502)
    assert len(answered.content) < STREAM_GROWTH * len(raw) + STREAM_BYTES
    if answered.status_code == 502:
        assert "can't be streamed" in answered.json["error"]


def test_an_answer_that_is_too_large_is_counted_and_ends_the_replay(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_store, "TRANSCRIPT_BYTES", 3000)
    replay, program = begin(world, case_of(world, THANKS, HOT)["id"])
    upstream.script(Reply(text="long" * 1000), WELCOME)

    refused, after = program.ask(THANKS.user), program.ask(THANKS.user)

    assert (refused.status_code, after.status_code, len(upstream.requests)) == (400, 409, 1)
    assert "MiB together" in refused.json["error"]
    assert world.get(replay).json["tokens"]["prompt"] > 0
    assert world.post(f"{replay}/turns").status_code == 204


@pytest.mark.parametrize(
    ("limit", "reply", "status"),
    [(3_000_000, WELCOME, 200), (3_000, WELCOME, 400), (3_000_000, Reply(status=400), 502)],
    ids=["answered", "too large", "failed"],
)
def test_a_request_is_not_in_memory_after_its_answer(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, limit: int, reply: Reply, status: int
) -> None:
    """It may have 50 MB, four times as much as a text, and the replay is kept for the next request."""
    monkeypatch.setattr(program_store, "TRANSCRIPT_BYTES", limit)
    _, program = begin(world, case_of(world, THANKS, HOT)["id"])
    upstream.script(reply)
    gc.collect()
    before = objects_of_requests()
    gc.disable()
    try:
        messages = [{"role": "system", "content": "long" * 1000}, {"role": "user", "content": THANKS.user}]
        assert program.call(CHAT, {"model": "gpt-4o", "messages": messages}).status_code == status
        left = {type(entry).__name__ for entry in objects_of_requests() if all(entry is not one for one in before)}
    finally:
        gc.enable()

    # The turn that goes on is kept.
    assert left == ({"TurnPlayer"} if status == 200 else set())


def objects_of_requests() -> list[object]:
    """Return what requests of programs have in memory, without players that were emptied."""
    kinds = (program_calls.Exchange, program_calls.LiveProgram, falcon.Request)
    return [
        entry
        for entry in gc.get_objects()
        if isinstance(entry, kinds) or (isinstance(entry, TurnPlayer) and vars(entry))
    ]


def test_a_call_that_ends_after_its_turn_is_no_step_of_the_next_turn(
    world: World, upstream: Upstream, held: Held
) -> None:
    replay, program = begin(world, case_of(world, THANKS, THANKS)["id"])
    upstream.script(WELCOME, held.reply(text="A short summary."))
    assert program.answer(THANKS.user)
    summary = held.begin(program.fork, "Summarise.")
    before = world.get(replay).json["tokens"]["prompt"]

    assert answer(world, replay, 0, "You are welcome.").json["modelCalls"] == 1
    held.release()

    assert summary.result().json["choices"][0]["message"]["content"] == "A short summary."
    assert world.get(replay).json["tokens"]["prompt"] > before
    refused = answer(world, replay, 1, "You are welcome.")
    assert (refused.status_code, "no model was called" in refused.json["error"]) == (400, True)
    upstream.script(WELCOME)
    assert play(world, replay, program)["status"] == "passed"


def test_a_call_of_a_tool_that_comes_after_its_turn_is_not_answered(
    world: World, upstream: Upstream, held: Held
) -> None:
    replay, program = begin(world, case_of(world, HOT, THANKS)["id"])
    upstream.script(ASKS, HOT_TEXT, held.reply(tool_calls=[("weather", {"city": "Rome"})]))
    assert program.answer(HOT.user)
    late = held.begin(program.fork, "Look again.")

    assert answer(world, replay, 0, "It is 31 °C in Rome.").json["modelCalls"] == 2
    held.release()

    assert late.result().status_code == 409
    assert len(upstream.requests) == 3
    assert "no model was called" in answer(world, replay, 1, "You are welcome.").json["error"]


def test_each_of_many_calls_at_the_same_time_is_stored_and_counted_without_another_attempt(
    world: World, upstream: Upstream, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[int] = []
    put = program_replays.put_sums
    monkeypatch.setattr(program_replays, "put_sums", lambda *args, **of: (stored.append(1), put(*args, **of))[1])
    replay, program = begin(world, case_of(world, THANKS)["id"])
    number = 12
    upstream.script(*[held.reply(text="You are welcome.")] * number)
    calls = [held.begin(program.fork, THANKS.user) for _ in range(number)]

    held.release()

    assert [call.result().status_code for call in calls] == [200] * number
    assert len(stored) == 2 * number
    assert answer(world, replay, 0, "You are welcome.").json["modelCalls"] == number


def test_one_request_keeps_no_more_of_what_its_model_answers_than_fits(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that padded each of 25 calls with 4 MB in a field that no transcript has made one request send 96 MB."""
    monkeypatch.setattr(program_calls, "EXCHANGE_BYTES", 50_000)
    calls = tuple(RecordedCall("weather", {"city": f"Rome {n}"}, {"degrees": n}) for n in range(12))
    _, program = begin(world, case_of(world, RecordedTurn(HOT.user, "It is 31.", calls))["id"])
    asked = 0

    def padded(body: dict[str, Any]) -> Reply:
        nonlocal asked
        asked += 1
        arguments = json.dumps({"city": f"Rome {asked}"})
        call = {"id": f"c{asked}", "type": "function", "function": {"name": "weather", "arguments": arguments}}
        message = {"role": "assistant", "content": None, "tool_calls": [call], "padding": "x" * 10_000}
        return Reply(raw=json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode())

    upstream.choose = padded

    answered = program.ask(HOT.user)

    assert (answered.status_code, "larger than 50,000 bytes" in answered.text) == (502, True), answered.text
    assert asked == 5


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("value", ['"\\ud83d"', str(2**70), "[" * 300 + "]" * 300], ids=["half", "long", "deep"])
def test_an_answer_that_only_python_writes_as_json_reaches_the_program(
    world: World, upstream: Upstream, value: str, streamed: bool
) -> None:
    """Some models write half of an emoji. The call is paid, and a program would send the request again."""
    _replay, program = begin(world, case_of(world, THANKS)["id"])
    message = f'{{"role": "assistant", "content": "Hi", "more": {value}}}'
    upstream.script(Reply(raw=b'{"choices": [{"index": 0, "message": %b}]}' % message.encode()))
    upstream.script(Reply(raw=b'{"data": [%b]}' % value.encode()))

    chat = program.call(CHAT, {"model": "gpt-4o-mini", "messages": [], "stream": streamed})
    vector = embed(program)

    assert (chat.status_code, vector.status_code) == (200, 200)
    assert f'"more": {value}' in chat.text
    assert vector.text == f'{{"data": [{value}]}}'


@pytest.mark.parametrize(("depth", "status"), [(900, 200), (990, 502), (1_100, 400)])
def test_a_body_that_is_nested_deeply_is_passed_on_or_refused(
    world: World, upstream: Upstream, depth: int, status: int
) -> None:
    replay, program = begin(world, case_of(world, HOT)["id"])
    user = world.post(f"{replay}/turns").json["user"]
    head = json.dumps({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": user}]})
    headers = {"Authorization": f"Bearer {program.token}", "Content-Type": "application/json"}

    upstream.script(HOT_TEXT)
    body = f'{head[:-1]}, "metadata": {"[" * depth}{"]" * depth}}}'
    answer = world.client.simulate_post(CHAT, body=body, headers=headers)

    assert answer.status_code == status
    assert status == 200 or "nested too deeply" in answer.text or "depth limit" in answer.text
