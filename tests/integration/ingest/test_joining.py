"""Turns of which each names the response of the turn before it are one session, and evaluations find a response."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from itertools import permutations
from typing import Any
from unittest.mock import Mock

import pytest

from app.errors import Unavailable
from app.models import turns
from app.services.ingest import joining
from app.services.ingest import turns as ingested
from tests.integration.ingest.test_turns_in_memory import sizes_of
from tests.support import protobuf
from tests.support.exports import export, pairs_of, span
from tests.support.world import World, new_world

BEGIN_NS = 1_795_000_000 * 10**9


def turn(prompt_id: int, number: int, response: str, conversation: str | None = None, **recorded: Any) -> Any:
    """The model call of a turn, in its own trace."""
    start_ns = BEGIN_NS + number * 10**10
    named = {"gen_ai.conversation.id": conversation} if conversation else {}
    said = {"gen_ai.input.messages": json.dumps([{"role": "user", "content": f"question {number}"}])}
    attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", "gen_ai.response.id": response}
    return span(
        attributes | said | named | recorded,
        traceId=f"{prompt_id:016x}{number + 1:016x}",
        spanId=secrets.token_hex(8),
        startTimeUnixNano=str(start_ns),
        endTimeUnixNano=str(start_ns + 10**9),
    )


def chain(prompt_id: int, length: int) -> list[Any]:
    return [turn(prompt_id, n, f"resp_{n}", f"resp_{n - 1}" if n else None) for n in range(length)]


def send(world: World, prompt_id: int, *spans: Any, as_protobuf: bool = False) -> None:
    if as_protobuf:
        batch = json.loads(export(*spans))
        answer = world.post(
            f"/api/public/prompts/{prompt_id}/otel/v1/traces",
            body=protobuf.traces(batch),
            headers={"Content-Type": "application/x-protobuf"},
        )
    else:
        answer = world.send(export(*spans))
    assert answer.status_code == 200, answer.text


def sessions(world: World, prompt_id: int) -> list[list[str]]:
    """The questions of each session, the oldest session first."""
    rows = world.get(f"/api/v1/sessions?promptId={prompt_id}&sort=oldest").json["sessions"]
    shown = [world.get(f"/api/v1/sessions/{row['id']}").json for row in rows]
    assert [row["turns"] for row in rows] == [len(session["turns"]) for session in shown]
    return [[turn["user"] for turn in session["turns"]] for session in shown]


QUESTIONS = ["question 0", "question 1", "question 2"]


@pytest.mark.parametrize("order", [*permutations(range(3))])
@pytest.mark.parametrize("as_protobuf", [False, True], ids=["json", "protobuf"])
def test_turns_are_one_session_in_whichever_order_they_arrive(
    world: World, order: Sequence[int], as_protobuf: bool
) -> None:
    prompt_id = world.prompt()
    turns = chain(prompt_id, 3)
    for number in order:
        send(world, prompt_id, turns[number], as_protobuf=as_protobuf)

    assert sessions(world, prompt_id) == [QUESTIONS]


def test_turns_of_one_batch_are_one_session_which_further_turns_and_spans_join(world: World) -> None:
    prompt_id = world.prompt()
    turns = chain(prompt_id, 3)
    send(world, prompt_id, *turns[:2])
    send(world, prompt_id, turns[2])
    # A later span of a turn that has joined.
    tool = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    at = {"startTimeUnixNano": turns[1]["startTimeUnixNano"], "endTimeUnixNano": turns[1]["endTimeUnixNano"]}
    send(world, prompt_id, span(tool, traceId=turns[1]["traceId"], spanId=secrets.token_hex(8), **at))

    assert sessions(world, prompt_id) == [QUESTIONS]


def test_a_turn_is_named_by_the_response_of_its_last_model_call(world: World) -> None:
    prompt_id = world.prompt()
    first = turn(prompt_id, 0, "resp_call")
    last = turn(prompt_id, 0, "resp_answer") | {"startTimeUnixNano": str(BEGIN_NS + 10**9)}
    send(world, prompt_id, last)
    send(world, prompt_id, turn(prompt_id, 1, "resp_1", "resp_answer"), turn(prompt_id, 2, "resp_2", "resp_call"))
    send(world, prompt_id, first)

    assert sessions(world, prompt_id) == [["question 0", "question 1"], ["question 2"]]


def test_a_chain_that_begins_in_a_named_conversation_joins_it(world: World) -> None:
    prompt_id = world.prompt()
    send(world, prompt_id, turn(prompt_id, 0, "resp_0", "thread"), turn(prompt_id, 1, "resp_1", "resp_0"))

    (row,) = world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"]
    assert (row["conversationId"], row["turns"]) == ("thread", 2)


def test_a_turn_that_fails_joins_the_turn_that_it_names(world: World) -> None:
    prompt_id = world.prompt()
    failed = turn(prompt_id, 1, "", "resp_0") | {"status": {"code": 2}}
    send(world, prompt_id, turn(prompt_id, 0, "resp_0"), failed)

    assert sessions(world, prompt_id) == [["question 0", "question 1"]]


@pytest.mark.parametrize(
    ("before", "failing", "after"), [([0], [1], [2]), ([2], [1], [0]), ([0, 1], [2], []), ([], [0, 1, 2], [])]
)
def test_a_batch_that_failed_before_it_was_joined_is_joined_when_it_is_sent_again(
    world: World, monkeypatch: pytest.MonkeyPatch, before: list[int], failing: list[int], after: list[int]
) -> None:
    prompt_id = world.prompt()
    turns = chain(prompt_id, 3)
    for number in before:
        send(world, prompt_id, turns[number])
    batch = [turns[number] for number in failing]
    with monkeypatch.context() as patched:
        patched.setattr(joining.TurnJoiner, "join", Mock(side_effect=Unavailable("The database is away.")))
        assert world.send(export(*batch)).status_code == 503

    send(world, prompt_id, *batch)
    for number in after:
        send(world, prompt_id, turns[number])

    assert sessions(world, prompt_id) == [QUESTIONS]


def test_turns_of_other_conversations_cost_no_query(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> list[Any]:
        raise AssertionError("the database is asked")

    prompt_id = world.prompt()
    with monkeypatch.context() as patched:
        patched.setattr(joining.turns, "first_with_responses", refuse)
        patched.setattr(joining.sessions, "find_sessions", refuse)
        send(world, prompt_id, turn(prompt_id, 0, "chatcmpl-1", "customer 1234"))

    assert sessions(world, prompt_id) == [["question 0"]]


@pytest.mark.parametrize(
    "ids",
    [["v1_ChdpQjJ", "v1_ZkdGhl"], ["6f1c8a52-0b8e-4a51-9d7f-3f1d2c4b5a60", "a0e4c1de-91c2-4f0b-8c35-7d21b6f0e9aa"]],
    ids=["a prefix", "one length"],
)
def test_ids_of_every_vendor_that_keeps_conversations_are_joined(world: World, ids: list[str]) -> None:
    prompt_id = world.prompt()
    send(world, prompt_id, turn(prompt_id, 1, ids[1], ids[0]))
    send(world, prompt_id, turn(prompt_id, 0, ids[0]))

    assert sessions(world, prompt_id) == [["question 0", "question 1"]]


@pytest.mark.parametrize("conversation", ["resp_0", "other"])
def test_a_turn_that_names_its_own_response_or_no_response_is_a_separate_session(
    world: World, conversation: str
) -> None:
    prompt_id = world.prompt()
    send(world, prompt_id, turn(prompt_id, 0, "resp_0", conversation), turn(prompt_id, 1, "resp_1"))

    assert sessions(world, prompt_id) == [["question 0"], ["question 1"]]


def test_turns_of_other_prompts_and_projects_are_not_joined(world: World) -> None:
    one, other, stranger = world.prompt(), world.prompt(), new_world(world.container)
    foreign = stranger.prompt()
    send(world, one, turn(one, 0, "resp_0"))
    send(stranger, foreign, turn(foreign, 0, "resp_0"))
    send(world, other, turn(other, 1, "resp_1", "resp_0"))

    assert sessions(world, other) == [["question 1"]]
    assert (sessions(world, one), sessions(stranger, foreign)) == ([["question 0"]], [["question 0"]])


def test_circles_of_names_end(world: World) -> None:
    prompt_id = world.prompt()
    for number, (response, conversation) in enumerate([("a", "b"), ("b", "a"), ("b", "b")]):
        send(world, prompt_id, turn(prompt_id, number, response, conversation))

    assert sum(map(len, sessions(world, prompt_id))) == 3


def test_a_session_of_very_many_turns_is_not_moved(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "TURNS_MAX", 1)
    prompt_id = world.prompt()
    send(world, prompt_id, turn(prompt_id, 1, "resp_1", "resp_0"), turn(prompt_id, 2, "resp_2", "resp_0"))
    send(world, prompt_id, turn(prompt_id, 0, "resp_0"))

    assert sessions(world, prompt_id) == [["question 0"], ["question 1", "question 2"]]


@pytest.mark.parametrize("backwards", [False, True])
def test_each_turn_of_a_long_chain_is_moved_once(
    world: World, monkeypatch: pytest.MonkeyPatch, backwards: bool
) -> None:
    """A batch of 800 turns with ids that sort backwards moved 320,000 turns, which kept ingest busy for a minute."""
    monkeypatch.setattr(joining, "ANSWERS_AT_ONCE", 7)
    moved: list[int] = []
    move = joining.move_turns
    monkeypatch.setattr(joining, "move_turns", lambda *given: (moved.append(len(given[3])), move(*given)))
    prompt_id, length = world.prompt(), 40
    names = [f"resp_{length - n if backwards else n:03d}" for n in range(length)]
    before = [None, *names]

    send(world, prompt_id, *(turn(prompt_id, n, names[n], before[n]) for n in range(length)))

    assert [len(session) for session in sessions(world, prompt_id)] == [length]
    assert sum(moved) == length - 1


def test_many_turns_are_moved_some_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingested, "MOVED_AT_ONCE", 3)
    prompt_id = world.prompt()
    send(world, prompt_id, *(turn(prompt_id, n, f"resp_{n}", "resp_0") for n in range(1, 8)))
    sizes = sizes_of(monkeypatch, "lock_existing")

    send(world, prompt_id, turn(prompt_id, 0, "resp_0"))

    assert [size for size in sizes if size] == [3, 3, 1]
    assert sessions(world, prompt_id) == [[f"question {n}" for n in range(8)]]


def test_what_a_batch_moves_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "ANSWERS_AT_ONCE", 2)
    monkeypatch.setattr(joining, "BATCH_TURNS_MAX", 5)
    prompt_id = world.prompt()

    send(world, prompt_id, *chain(prompt_id, 20))

    assert sorted(map(len, sessions(world, prompt_id))) == [1] * 13 + [7]


def test_turns_of_another_prompt_with_the_same_response_id_hide_no_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "ANSWERED_MAX", 2)
    one, other = world.prompt(), world.prompt()
    send(world, one, *(turn(one, n, "resp_same") for n in range(5)))

    send(world, other, turn(other, 8, "resp_same"))
    send(world, other, turn(other, 9, "resp_next", "resp_same"))

    assert sessions(world, other) == [["question 8", "question 9"]]


def test_an_id_that_very_many_turns_have_hides_no_other_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "ANSWERED_MAX", 2)
    prompt_id = world.prompt()
    send(world, prompt_id, turn(prompt_id, 7, "resp_7", "resp_same"), turn(prompt_id, 9, "resp_9", "resp_8"))

    send(world, prompt_id, *(turn(prompt_id, n, "resp_same") for n in range(5)), turn(prompt_id, 8, "resp_8"))

    assert ["question 8", "question 9"] in sessions(world, prompt_id)


def evaluation(response: str | None, **fields: Any) -> dict[str, Any]:
    named = {"gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.score.value": 0.25}
    attributes = named | ({"gen_ai.response.id": response} if response else {})
    return (
        {"timeUnixNano": str(BEGIN_NS), "eventName": "gen_ai.evaluation.result"}
        | fields
        | {"attributes": pairs_of(attributes)}
    )


@pytest.mark.parametrize("in_trace", [False, True])
@pytest.mark.parametrize("at_prompt", [False, True])
def test_an_evaluation_without_a_span_is_a_score_of_the_call_with_its_response_id(
    world: World, in_trace: bool, at_prompt: bool
) -> None:
    prompt_id = world.prompt()
    rated = turn(prompt_id, 1, "resp_1")
    send(world, prompt_id, turn(prompt_id, 0, "resp_0"), rated)
    record = evaluation("resp_1", **({"traceId": rated["traceId"]} if in_trace else {}))

    for _ in range(2):
        assert world.log([record], prompt_id if at_prompt else None).status_code == 200

    shown = [world.get(f"/api/v1/sessions/{row['id']}").json for row in rows_of(world, prompt_id)]
    assert [session["scores"] for session in shown if session["turns"][0]["user"] == "question 0"] == [[]]
    [[score]] = [session["scores"] for session in shown if session["turns"][0]["user"] == "question 1"]
    assert (score["name"], score["value"], score["target"]) == (
        "Relevance",
        0.25,
        {"traceId": rated["traceId"], "spanId": rated["spanId"]},
    )


def rows_of(world: World, prompt_id: int) -> list[Any]:
    rows: list[Any] = world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"]
    return rows


def test_an_evaluation_of_a_response_that_is_not_stored_is_rejected_with_the_reason(world: World) -> None:
    prompt_id, other = world.prompt(), new_world(world.container)
    foreign = other.prompt()
    send(world, prompt_id, turn(prompt_id, 0, "resp_0"))
    send(other, foreign, turn(foreign, 0, "resp_foreign"))

    some = world.log([evaluation("resp_0"), evaluation("resp_foreign")])
    none = world.log([evaluation("resp_9")])
    nothing = world.log([evaluation(None)])

    assert (some.status_code, some.json["partialSuccess"]["rejectedLogRecords"]) == (200, "1")
    assert "gen_ai.response.id" in some.json["partialSuccess"]["errorMessage"]
    assert (none.status_code, nothing.status_code) == (400, 200)
    assert [score["name"] for score in world.get("/api/v1/scores").json["scores"]] == ["Relevance"]
