"""An agent's end user writes a text that the agent passes on to a tool, so that what reads the session freezes."""

from __future__ import annotations

import pytest

from app.replay.text_kinds import LONGEST
from tests.integration.replays.recording import finished, prompt, record
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.interpreter import held_s
from tests.support.world import World

MOST_S = 0.3  # without the bound 2 s for each call


@pytest.mark.parametrize("text", ["_", "/* ", "a", "'/*"])
def test_a_long_statement_in_a_recorded_call_keeps_no_process_from_answering(world: World, text: str) -> None:
    sql = ("select 1 from t" + text * LONGEST)[: LONGEST - 100]
    turn = RecordedTurn("How many?", "One.", (RecordedCall("query_db", {"sql": sql}, 1),))
    world.container.services.models.sync_catalogue()
    session_id = record(world, prompt(world, "demo-agent"), (turn,))

    def make() -> None:
        made = world.post(f"/api/v1/sessions/{session_id}/test-cases", json={"name": "long"})
        assert made.status_code == 201, made.text

    assert held_s(make, at_most=MOST_S) <= MOST_S


@pytest.mark.parametrize("text", ["a" + "/" * 60 + " x", "def" + " " * 19_000 + "!"], ids=["slashes", "blanks"])
def test_a_text_that_looks_like_a_path_or_code_keeps_no_process_from_answering(world: World, text: str) -> None:
    turn = RecordedTurn("Where?", "Here.", (RecordedCall("look_up", {"q": text}, 1),))
    world.container.services.models.sync_catalogue()
    session_id = record(world, prompt(world, "demo-agent"), (turn,))
    made = world.post(f"/api/v1/sessions/{session_id}/test-cases", json={"name": "long"})
    assert made.status_code == 201, made.text

    def replay() -> None:
        assert world.get(f"/api/v1/sessions/{session_id}/test-case-proposal").status_code == 200
        started = world.post(f"/api/v1/test-cases/{made.json['id']}/replays")
        assert finished(world, started.json["id"])["status"] in ("passed", "failed", "needs_review")

    assert held_s(replay, at_most=MOST_S) <= MOST_S
