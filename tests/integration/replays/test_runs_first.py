"""Replays, however many they are, leave places of a model to runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from app.concurrency.quotas import Quota
from app.wiring.container import Container
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import case
from tests.integration.replays.recording import prompt
from tests.support.waiting import wait_until
from tests.support.world import World, new_world, running_on, settings_for

PLACES = 4
LEFT_TO_REPLAYS = Quota.for_background(PLACES, 25).places


@pytest.fixture(params=["sqlite", pytest.param("services", marks=pytest.mark.services)])
def narrow(request: Any, tmp_path: Any, upstream: Upstream) -> Iterator[Container]:
    """A Reprise that allows few calls of a model at once."""

    def settings(home: Any, **urls: Any) -> Any:
        credentials = {"OPENAI": ("sk-secret", upstream.base_url("OPENAI"))}
        return replace(settings_for(home, **urls), vendor_credentials=credentials, model_concurrency=PLACES)

    with running_on(request, tmp_path, settings) as container:
        container.services.models.sync_catalogue()
        yield container


def test_a_run_is_answered_while_replays_have_all_places_that_they_may_have(
    narrow: Container, upstream: Upstream
) -> None:
    world: World = new_world(narrow)
    prompt_id = prompt(world)
    for number in range(PLACES + 2):
        case(world, prompt_id, f"Replayed {number}")

    answers = threading.Event()

    def choose(body: dict[str, Any]) -> Reply:
        return Reply(text="Ping", held=answers if "Replayed" in body["messages"][-1]["content"] else None)

    upstream.choose = choose
    started = world.post(f"/api/v1/prompts/{prompt_id}/replays", json={}).json["replays"]
    wait_until(lambda: upstream.open_now == LEFT_TO_REPLAYS, "replays have all the places that they may have")

    run = world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "Hello?"})

    answers.set()
    assert run.status_code == 200, run.text
    wait_until(lambda: not any(_unfinished(world, each["id"]) for each in started), "the replays end")
    assert upstream.most_open <= LEFT_TO_REPLAYS + 1 < PLACES


def _unfinished(world: World, replay_id: int) -> bool:
    return world.get(f"/api/v1/replays/{replay_id}").json["finishedAt"] is None
