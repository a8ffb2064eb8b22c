"""A command starts paid work once, also if the database goes away between the commit and the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from reprise_client.cli.remote import CouldNotRun, Remote
from reprise_client.mcp_tools import Tools

from app.errors import Unavailable
from app.services.experiments.service import ExperimentService
from tests.support.full_project import everything
from tests.support.world import World


def by_a_command(remote: Remote, prompt_id: int) -> None:
    remote.post(f"/api/v1/prompts/{prompt_id}/experiments", {"baseline": None, "reuse": False})


def by_a_model(remote: Remote, prompt_id: int) -> None:
    Tools(remote).run_gate(prompt_id, baseline="none")


@pytest.mark.parametrize("start", [by_a_command, by_a_model])
def test_an_experiment_is_started_once(
    world: World, monkeypatch: pytest.MonkeyPatch, start: Callable[[Remote, int], None]
) -> None:
    prompt_id = everything(world)["prompt_id"]
    before = world.count("experiments")

    def away(_service: ExperimentService, **_which: Any) -> Any:
        raise Unavailable("The database does not answer; try again.")

    monkeypatch.setattr(ExperimentService, "row", away)
    transport = httpx.WSGITransport(app=world.client.app)
    remote = Remote("http://testserver", world.key, transport=transport, sleep=lambda _: None)
    with pytest.raises(CouldNotRun, match="It may have been carried out, so it was not sent again"):
        start(remote, prompt_id)
    assert world.count("experiments") == before + 1


def test_an_experiment_that_was_refused_before_any_change_is_started_by_another_try(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = everything(world)["prompt_id"]
    before = world.count("experiments")
    start, tries = ExperimentService.start, []

    def away_at_first(service: ExperimentService, **command: Any) -> Any:
        tries.append(command)
        if len(tries) == 1:
            raise Unavailable("All database connections are in use; try again.")
        return start(service, **command)

    monkeypatch.setattr(ExperimentService, "start", away_at_first)
    transport = httpx.WSGITransport(app=world.client.app)
    remote = Remote("http://testserver", world.key, transport=transport, sleep=lambda _: None)
    by_a_command(remote, prompt_id)

    assert (len(tries), world.count("experiments")) == (2, before + 1)
