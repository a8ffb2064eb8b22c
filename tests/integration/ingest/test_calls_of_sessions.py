"""Lists and logs price the calls that are kept with a session: they read none of its turns."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from sqlalchemy import func, select, update

from app.models import sessions
from app.models.sessions import SessionRow
from app.models.turns import turns
from app.services.sessions import bills
from app.sessions.model_calls import calls_in
from tests.integration.ingest.test_session_sums import chat, only_session
from tests.support.exports import export
from tests.support.statements import executed
from tests.support.sweeping import add_up_sessions
from tests.support.world import World

PRICED = {"gen_ai.provider.name": "openai", "gen_ai.conversation.id": "c"}
USD = 100 * 2.5e-6 + 7 * 1e-5


def say(world: World, prompt_id: int, *models: str, count: int = 1) -> None:
    """Send a batch with turns of the conversation, `count` for each model."""
    named = [PRICED | {"gen_ai.request.model": model} for model in models or ("gpt-4o",) for _ in range(count)]
    spans = [chat(prompt_id, secrets.token_hex(16), **recorded) for recorded in named]
    assert world.send(export(*spans)).status_code == 200


def paths(prompt_id: int) -> list[str]:
    return [
        f"/api/v1/sessions?promptId={prompt_id}",
        f"/api/v1/sessions?promptId={prompt_id}&sort=cost",
        f"/api/v1/sessions?promptId={prompt_id}&minCost=0.0001",
        f"/api/v1/exports/sessions?promptId={prompt_id}",
        f"/api/v1/prompts/{prompt_id}/logs",
        f"/api/v1/prompts/{prompt_id}/logs?maxCost=100&model=gpt-4o",
    ]


def costs(world: World, prompt_id: int) -> list[float | None]:
    """Return the cost of the only session in the list, in the log, and in the session."""
    [row] = world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"]
    [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    whole = world.get(f"/api/v1/sessions/{row['id']}").json["cost"]
    return [row["cost"], entry["cost"], whole and whole["total"]]


def test_lists_logs_and_exports_read_no_facts_of_turns(world: World) -> None:
    prompt_id = world.prompt()
    say(world, prompt_id, count=3)
    say(world, prompt_id, count=2)

    for path in paths(prompt_id):
        with executed() as statements:
            answer = world.get(path)
        assert answer.status_code == 200, answer.text
        assert "gpt-4o" in answer.text
        assert [text for text in statements if "facts" in text] == [], path


def test_batches_that_add_to_a_session_add_their_calls(world: World) -> None:
    prompt_id = world.prompt()
    say(world, prompt_id, "gpt-4o", "gpt-4o-mini", count=2)
    say(world, prompt_id, count=3)

    calls = {call.model: call.calls for call in calls_in(only_session(world, prompt_id).calls or b"").calls}

    assert calls == {"gpt-4o": 5, "gpt-4o-mini": 2}
    assert costs(world, prompt_id) == pytest.approx([5 * USD + 2 * (100 * 1.5e-7 + 7 * 6e-7)] * 3)


def test_long_lines_of_calls_are_summed_by_the_batch_that_adds_to_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = world.prompt()
    monkeypatch.setattr(sessions, "CALLS_LENGTH_MAX", 100)
    for _ in range(10):
        say(world, prompt_id)

    stored = only_session(world, prompt_id).calls or b""

    assert len(stored) < 300
    assert [call.calls for call in calls_in(stored).calls] == [10]
    assert costs(world, prompt_id) == pytest.approx([10 * USD] * 3)


def test_a_session_of_an_earlier_release_is_priced_by_its_turns_until_it_is_counted_again(world: World) -> None:
    prompt_id = world.prompt()
    say(world, prompt_id, count=2)
    forget_calls(world, only_session(world, prompt_id))
    assert costs(world, prompt_id) == pytest.approx([2 * USD] * 3)

    say(world, prompt_id)

    assert only_session(world, prompt_id).calls is None
    assert costs(world, prompt_id) == pytest.approx([3 * USD] * 3)
    world.container.services.insight_counter.count(world.project_id)
    assert [call.calls for call in calls_in(only_session(world, prompt_id).calls or b"").calls] == [3]
    assert costs(world, prompt_id) == pytest.approx([3 * USD] * 3)


@pytest.mark.parametrize("added_up", [True, False])
def test_no_turns_are_read_of_a_long_session_with_unknown_calls(
    world: World, monkeypatch: pytest.MonkeyPatch, added_up: bool
) -> None:
    prompt_id = world.prompt()
    say(world, prompt_id, count=4)
    forget_calls(world, only_session(world, prompt_id), **({} if added_up else {"errors": None}))
    monkeypatch.setattr(bills, "TURNS_OF_LISTED", 3)

    assert costs(world, prompt_id) == [None, None, pytest.approx(4 * USD)]

    add_up_sessions(world)
    world.container.services.insight_counter.count(world.project_id)
    assert costs(world, prompt_id) == pytest.approx([4 * USD] * 3)


def test_a_session_shows_the_words_of_its_first_turn_with_words_however_many_turns_it_has(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = world.prompt()
    say(world, prompt_id, count=25)
    with world.container.database.write() as connection:
        of_prompt = select(turns.c.id).where(turns.c.prompt_id == prompt_id)
        ids = connection.scalars(of_prompt.order_by(turns.c.start_ns, turns.c.trace_id)).all()[-2:]
        connection.execute(update(turns).where(turns.c.id == ids[0]).values(opening="first"))
        connection.execute(update(turns).where(turns.c.id == ids[1]).values(opening="second"))

    [row] = world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"]
    [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]

    assert (row["preview"], entry["preview"], entry["turns"]) == ("first", "first", 25)


def test_a_session_of_more_models_than_are_kept_has_all_tokens_and_the_known_part_of_its_cost(world: World) -> None:
    prompt_id = world.prompt()
    say(world, prompt_id, "gpt-4o", *(f"unknown-{n:03}" for n in range(450)))

    [row] = world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"]
    [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]

    assert row["usage"]["inputTokens"] == entry["usage"]["inputTokens"] == 451 * 100
    assert [row["cost"], entry["cost"]] == pytest.approx([USD] * 2)
    assert len(calls_in(only_session(world, prompt_id).calls or b"").calls) == 401


def forget_calls(world: World, row: SessionRow, **values: Any) -> None:
    """Leave the session as an earlier release has stored it."""
    counted = {"calls": None, "uncounted": None} if not values else {"calls": None}
    with world.container.database.write() as connection:
        of_row = sessions.sessions.c.session_key == row.session_key
        connection.execute(update(sessions.sessions).where(of_row).values(**counted, **values))
        if not values:
            marked = update(sessions.sessions).where(of_row, func.length(sessions.sessions.c.session_key) == 16)
            connection.execute(marked.values(uncounted=1))
