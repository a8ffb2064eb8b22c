"""One answer of a long session was once made as a whole: 60 turns of a megabyte took the memory of several answers."""

from __future__ import annotations

import json

import pytest

from app.http import exports
from app.schemas.answer import dump
from app.schemas.traces import SessionSchema, session_pieces
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import export, span
from tests.support.world import World

TURNS, LENGTH = 6, 50_000


@pytest.fixture
def session_id(world: World) -> str:
    """A session of turns with long texts."""
    prompt_id = world.prompt()
    spans = [
        span(
            {
                "service.prompt.id": prompt_id,
                "gen_ai.conversation.id": "long",
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json.dumps([{"role": "user", "content": f"{number} {'x' * LENGTH}"}]),
            },
            traceId=f"{number:032x}",
            spanId=f"{number:016x}",
        )
        for number in range(1, TURNS + 1)
    ]
    assert world.send(export(*spans)).status_code == 200
    (session,) = world.get("/api/v1/sessions").json["sessions"]
    found: str = session["id"]
    return found


def test_the_json_of_a_session_is_made_in_pieces_of_at_most_about_a_turn(world: World, session_id: str) -> None:
    session = world.container.services.sessions.get(project_id=world.project_id, session_id=session_id)
    pieces = list(session_pieces(session))
    assert json.loads(b"".join(pieces)) == json.loads(json.dumps(dump(SessionSchema, session)))
    assert len(pieces) >= TURNS + 2
    assert max(map(len, pieces)) < 2 * sum(map(len, pieces)) / TURNS


def test_a_long_session_is_streamed_and_reads_as_a_short_one(
    world: World, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/api/v1/sessions/{session_id}"
    short = world.get(path)
    monkeypatch.setattr(exports, "WHOLE_BYTES_MAX", LENGTH)
    long = world.get(path)
    head = world.client.simulate_head(path, headers=world.headers)

    assert short.headers["Content-Length"] == head.headers["Content-Length"] == str(len(short.content))
    assert "Content-Length" not in long.headers
    assert (long.content, long.headers["Content-Type"]) == (short.content, short.headers["Content-Type"])
    assert len(long.json["turns"]) == TURNS


@EMBEDDED_CONTAINER
def test_a_session_without_turns_is_json(world: World, session_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = world.container.services.sessions.get(project_id=world.project_id, session_id=session_id)
    without = type(session)(session.id, session.prompt_id, None, ())
    assert json.loads(b"".join(session_pieces(without))) == dump(SessionSchema, without)
