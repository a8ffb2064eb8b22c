"""Changes of suites at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from app.models import suites as model
from app.services.suites.service import NewMember
from tests.integration.suites.test_suites import case_of
from tests.integration.suites.test_suites_api import CANCEL, SEARCH, accept, proposal, traffic
from tests.support.world import World

T = TypeVar("T")
AT_ONCE = 4


def at_once(work: Callable[[], T]) -> Sequence[T]:
    """Return what `AT_ONCE` threads got of the work."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda _: work(), range(AT_ONCE)))


def test_calibrations_that_are_requested_at_once_are_paid_once(world: World) -> None:
    prompt_id = traffic(world, (SEARCH, 1), (CANCEL, 1))
    assert world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "v1"}).status_code == 201
    suite = accept(world, prompt_id, proposal(world, prompt_id)["picks"])["suite"]
    path, cases = f"/api/v1/suites/{suite['id']}/calibrations", len(suite["testCases"])
    assert {answer.status_code for answer in at_once(lambda: world.post(path, json={"repeats": 2}))} == {202}
    assert (world.count("calibrations"), world.count("replays")) == (cases, 2 * cases)
    calibrated = world.get(f"/api/v1/suites/{suite['id']}").json["testCases"]
    assert len({case["calibrationId"] for case in calibrated} - {None}) == cases


def test_sessions_that_are_accepted_at_once_are_copied_once(world: World) -> None:
    prompt_id = traffic(world, (SEARCH, 1), (CANCEL, 1))
    picks = proposal(world, prompt_id)["picks"]
    accepted = at_once(lambda: accept(world, prompt_id, picks))
    assert {len(answer["suite"]["testCases"]) for answer in accepted} == {len(picks)}
    assert world.count("test_cases") == len(picks)


def test_a_test_case_that_is_deleted_while_a_suite_gets_it_is_in_no_suite(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = world.prompt()
    deleted, kept = case_of(world, prompt_id), case_of(world, prompt_id, "Where is my invoice?")
    services, add_members = world.container.services, model.add_members
    which = {"project_id": world.project_id, "test_case_id": deleted}
    deletion = threading.Thread(target=services.test_cases.delete, kwargs=which)

    def add_during_deletion(*args: Any) -> None:
        deletion.start()
        deletion.join(1)  # it waits for this transaction, unless the suite loses a test case that it gets
        add_members(*args)

    monkeypatch.setattr(model, "add_members", add_during_deletion)
    owner = {"project_id": world.project_id, "prompt_id": prompt_id}
    services.suites.create(**owner, name="release", members=[NewMember(deleted), NewMember(kept)])
    deletion.join()
    assert services.suites.case_ids(**owner, name="release") == [kept]
    assert world.count("suite_members") == 1
