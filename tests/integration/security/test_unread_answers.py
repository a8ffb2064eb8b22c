"""Callers of one organization that do not read their large answers fill no process's memory, and disturb no other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from falcon.testing import create_environ

from app.http import answers
from app.http.answers import LARGE_ANSWER
from app.process.application import build_app
from app.wiring.container import Container
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.checked_client import CheckedClient
from tests.support.world import World, new_world

PLACES = 8


def add_long_prompt(world: World) -> int:
    created = world.post("/api/v1/prompts", json={"name": "Long", "value": "x" * LARGE_ANSWER})
    return int(created.json["prompt"]["id"])


def begin(world: World, prompt_id: int) -> tuple[str, Iterable[bytes]]:
    """Return the status of an answer, and the answer, of which nothing is read."""
    begun: list[str] = []
    environ = create_environ(f"/api/v1/prompts/{prompt_id}", headers=world.headers)
    answer = world.client.app(environ, lambda status, *_: begun.append(status[:3]))  # type: ignore[operator]
    return begun[0], answer


@EMBEDDED_CONTAINER
def test_unread_large_answers_refuse_only_their_own_organization(
    container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "ANSWERS_BYTES", PLACES * LARGE_ANSWER)
    monkeypatch.setattr(answers, "ANSWER_WAIT_S", 0.0)
    client = CheckedClient(build_app(container))
    greedy, other = (replace(new_world(container), client=client) for _ in range(2))
    prompt_id = add_long_prompt(greedy)

    unread = [begin(greedy, prompt_id) for _ in range(2 * PLACES)]

    admitted = [answer for status, answer in unread if status == "200"]
    assert 0 < len(admitted) < PLACES
    assert {status for status, _ in unread[len(admitted) :]} == {"503"}
    assert other.get(f"/api/v1/prompts/{add_long_prompt(other)}").status_code == 200
    for answer in admitted:
        answer.close()  # type: ignore[attr-defined]
    assert greedy.get(f"/api/v1/prompts/{prompt_id}").status_code == 200
