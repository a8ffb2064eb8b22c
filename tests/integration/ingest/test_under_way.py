"""A conversation that was under way when its recording began: its session and its test case."""

from __future__ import annotations

import json

import pytest

from app.models import sessions
from tests.support.exports import export, span
from tests.support.world import World

BEFORE = [("user", "weather in Oslo?"), ("assistant", "7 degrees")]
WORDS = "and in Rome?"


def send_call(world: World, prompt_id: int, *said: tuple[str, str], answer: str = "31 degrees", second: int) -> str:
    """Send a model call in its own trace; returns the id of its session."""
    given = [{"role": role, "content": text} for role, text in said]
    recorded = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": answer}]),
    }
    start_ns = (1_795_000_000 + second) * 10**9
    sent = span(recorded, traceId=f"{second + 1:032x}", startTimeUnixNano=start_ns, endTimeUnixNano=start_ns + 10**6)
    world.send(export(sent, scope="opentelemetry.instrumentation.openai_v2"))
    newest: str = world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"][0]["id"]
    return newest


def test_a_session_that_begins_in_the_middle_is_shown_and_tested_by_its_own_words(world: World) -> None:
    prompt_id = world.prompt()
    send_call(world, prompt_id, *BEFORE, ("user", WORDS), second=0)

    (row,) = world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"]
    (turn,) = world.get(f"/api/v1/sessions/{row['id']}").json["turns"]
    made = world.post(f"/api/v1/sessions/{row['id']}/test-cases", json={}).json
    (case_turn,) = made["turns"]

    assert (turn["user"], turn["question"]) == ("weather in Oslo?", WORDS)
    assert [(message["role"], message["text"]) for message in turn["earlier"]] == BEFORE
    assert any('attributes={"session.id": conversation_id}' in warning for warning in turn["warnings"])
    assert (made["name"], case_turn["user"]) == (WORDS, WORDS)
    assert [(message["role"], message["text"]) for message in case_turn["earlier"]] == BEFORE

    exported = world.get(f"/api/v1/test-cases/{made['id']}/export").json
    imported = world.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", json=exported | {"name": "again"}).json
    assert imported["turns"][0]["earlier"] == case_turn["earlier"]


def test_a_session_that_a_later_call_contains_is_a_piece_of_it(world: World) -> None:
    prompt_id = world.prompt()
    first = send_call(world, prompt_id, BEFORE[0], answer=BEFORE[1][1], second=0)
    other = send_call(world, prompt_id, ("user", "something else?"), second=1)
    last = send_call(world, prompt_id, *BEFORE, ("user", WORDS), second=2)

    parts = [world.get(f"/api/v1/sessions/{id_}/test-case-proposal").json["partOf"] for id_ in (first, other, last)]

    assert parts == [last, None, None]


@pytest.mark.parametrize("words", ["and in Rome?", "и в Риме?"])
def test_lists_show_the_words_of_each_call_of_a_loop_and_not_one_title_for_all(world: World, words: str) -> None:
    prompt_id = world.prompt()
    send_call(world, prompt_id, BEFORE[0], answer=BEFORE[1][1], second=0)
    send_call(world, prompt_id, *BEFORE, ("user", words), second=1)
    send_call(world, prompt_id, *BEFORE, ("user", words), ("assistant", "31 degrees"), ("user", "thanks"), second=2)

    listed = world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"]
    log = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]

    assert [row["preview"] for row in listed] == ["thanks", words, "weather in Oslo?"]
    assert [row["preview"] for row in log] == ["thanks", words, "weather in Oslo?"]


def test_a_piece_is_looked_for_in_a_bounded_number_of_later_sessions(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = world.prompt()
    first = send_call(world, prompt_id, BEFORE[0], answer=BEFORE[1][1], second=0)
    send_call(world, prompt_id, ("user", "something else?"), second=1)
    last = send_call(world, prompt_id, *BEFORE, ("user", WORDS), second=2)

    def part_of(later_max: int) -> str | None:
        monkeypatch.setattr(sessions, "LATER_MAX", later_max)
        found: str | None = world.get(f"/api/v1/sessions/{first}/test-case-proposal").json["partOf"]
        return found

    assert (part_of(3), part_of(2)) == (last, None)
