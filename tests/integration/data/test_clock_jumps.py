"""A process stores every span once and loses no turn when its clock jumps."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.support.conversations import export as conversation
from tests.support.full_project import TURNS
from tests.support.world import World


@pytest.mark.parametrize(
    "jump", [timedelta(days=-3650), timedelta(hours=-1), timedelta(hours=25), timedelta(days=3650)]
)
def test_a_batch_is_stored_once_however_the_clock_jumps(world: World, jump: timedelta) -> None:
    times = iter([timedelta(0), jump, timedelta(0)] * 100)

    def now() -> datetime:
        return world.container.now() + next(times)

    ingest = replace(world.container.services.ingest, now=now)
    prompt_id = world.prompt()
    first = conversation(prompt_id, "c", TURNS[:1], start_ns=1_760_000_000_000_000_000)
    whole = conversation(prompt_id, "c", TURNS, start_ns=1_760_000_000_000_000_000)
    for batch in (first, whole, first, whole):
        assert ingest.store(world.project_id, batch).outcome == "stored"

    [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    session = world.get(f"/api/v1/sessions/{entry['id']}").json
    assert sum(len(turn["spans"]) for turn in session["turns"]) == world.count("spans")
    assert entry["turns"] == len(session["turns"]) == world.count("turns")
