"""Sends conversations and makes their fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from app.models.session_fingerprints import session_fingerprints
from app.suites.fingerprints import Fingerprint, load
from tests.support.conversations import SECOND_NS, RecordedCall, RecordedTurn, export
from tests.support.world import World

START_NS = 1_790_000_000 * SECOND_NS


def turn(user: str, *calls: str, answer: str = "Done.", failed: str = "") -> RecordedTurn:
    """A turn that calls tools by their names."""
    recorded = tuple(
        RecordedCall(name, {"id": 1}, {"ok": True}, error="The server is away." if name == failed else None)
        for name in calls
    )
    return RecordedTurn(user, answer, recorded)


def send(world: World, prompt_id: int, conversation: str, turns: Sequence[RecordedTurn], **options: Any) -> None:
    batch = export(prompt_id, conversation, turns, start_ns=options.get("start_ns", START_NS))
    assert world.send(batch).status_code == 200


def make_fingerprints(world: World) -> dict[bytes, bytes]:
    """Make all fingerprints of the project, as the clock does; returns them by session."""
    services = world.container.services
    while services.insight_counter.count(world.project_id):
        pass
    while services.fingerprint_maker.make_some(world.project_id):
        pass
    return stored_fingerprints(world)


def stored_fingerprints(world: World) -> dict[bytes, bytes]:
    c = session_fingerprints.c
    with world.container.database.read() as connection:
        rows = connection.execute(select(c.session_key, c.fingerprint).where(c.project_id == world.project_id))
        return {key: written for key, written in rows if written is not None}


def only_fingerprint(world: World) -> Fingerprint:
    (written,) = make_fingerprints(world).values()
    return load(written)
