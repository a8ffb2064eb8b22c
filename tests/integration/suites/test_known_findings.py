"""A finding that was seen keeps its id, and webhooks hear of new and reopened ones once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from app.metrics import registry
from app.models.findings import findings
from app.services.suites import known_findings
from app.services.suites.finding_watch import READ_EVERY_S, FindingWatch
from app.services.suites.findings import FindingService
from tests.fakes.receiver import receiving
from tests.integration.suites.sending import make_fingerprints, turn
from tests.integration.suites.test_findings_api import REFUND, REFUNDED, VOUCHER, change, listed, traffic
from tests.integration.webhooks.conftest import Hook, new_hook
from tests.support.world import World

FIND = [turn("Where?", "find", failed="find")]


@pytest.fixture
def hook(world: World) -> Iterator[Hook]:
    with receiving() as receiver:
        yield new_hook(world, receiver.url)


def events(hook: Hook) -> list[tuple[str, Any]]:
    return [(one["event"], one["data"]) for one in hook.deliveries() if one["event"].startswith("finding.")]


def shown(world: World, prompt_id: int, finding_id: str) -> dict[str, Any]:
    answer = world.get(f"/api/v1/prompts/{prompt_id}/findings/{finding_id}")
    assert answer.status_code == 200, answer.text
    finding: dict[str, Any] = answer.json["finding"]
    return finding


def test_an_open_finding_keeps_its_id_when_other_sessions_would_split_it_in_another_way(world: World) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUNDED, 5, "refunded")
    traffic(world, prompt_id, VOUCHER, 4, "voucher")
    traffic(world, prompt_id, REFUND, 1, "refund")
    voucher, rest = listed(world, prompt_id)
    assert ("declined" in voucher["title"], voucher["sessions"], rest["sessions"]) == (True, 4, 1)
    # With these sessions, the word no longer separates the sessions that fail from the others.
    traffic(world, prompt_id, [turn("My voucher was declined.", "refund_order")], 20, "paid")
    again = listed(world, prompt_id)
    assert [(entry["id"], entry["sessions"]) for entry in again] == [(voucher["id"], 4), (rest["id"], 1)]
    for entry in again:
        assert shown(world, prompt_id, entry["id"]) == entry


def test_findings_are_stored_in_the_order_in_which_they_were_found(world: World) -> None:
    """The next grouping goes through them in this order, so that each session stays in its finding."""
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUNDED, 10, "refunded")
    traffic(world, prompt_id, VOUCHER, 3, "voucher")
    traffic(world, prompt_id, [turn("Please refund the chair.", "refund_order", failed="refund_order")], 5, "chair")

    rest, voucher = listed(world, prompt_id)

    assert ("declined" in voucher["title"], voucher["sessions"], rest["sessions"]) == (True, 3, 5)
    stored = select(findings.c.digest).where(findings.c.prompt_id == prompt_id).order_by(findings.c.id)
    with world.container.database.read() as connection:
        assert [digest.hex() for digest in connection.scalars(stored)] == [voucher["id"], rest["id"]]


def test_an_open_finding_without_sessions_is_found_by_its_id_and_is_not_listed(world: World) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 1, "refund")
    (found,) = listed(world, prompt_id)
    assert world.delete(f"/api/v1/sessions/{found['example']}").status_code == 204
    assert listed(world, prompt_id) == []
    assert shown(world, prompt_id, found["id"])["sessions"] == 0
    traffic(world, prompt_id, REFUND, 1, "again")
    assert [entry["id"] for entry in listed(world, prompt_id)] == [found["id"]]


def test_new_and_reopened_findings_are_reported_once(world: World, hook: Hook) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 2, "refund")
    traffic(world, prompt_id, FIND, 1, "find")
    refund, find = listed(world, prompt_id)
    listed(world, prompt_id)
    about = {"promptId": prompt_id, "projectId": world.project_id}
    ((event, data),) = events(hook)
    assert (event, {name: data[name] for name in about}) == ("finding.opened", about)
    assert (data["findings"], data["findingIds"]) == (2, [refund["id"], find["id"]])

    change(world, prompt_id, refund, state="solved")
    listed(world, prompt_id)
    assert len(events(hook)) == 1
    traffic(world, prompt_id, REFUND, 1, "later", hours=-1)
    for _ in range(2):
        assert listed(world, prompt_id, state="open")[0]["reopened"] is True
    assert [(event, data["findingIds"]) for event, data in events(hook)[1:]] == [("finding.reopened", [refund["id"]])]
    # It stays open, even if the session that brought it back is deleted.
    assert world.delete(f"/api/v1/sessions/{listed(world, prompt_id)[0]['example']}").status_code == 204
    assert shown(world, prompt_id, refund["id"])["reopened"] is True
    change(world, prompt_id, refund, state="solved")
    assert shown(world, prompt_id, refund["id"])["reopened"] is False


def test_two_lists_at_the_same_time_report_a_finding_once(world: World, hook: Hook) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 1, "refund")
    make_fingerprints(world)
    path = f"/api/v1/prompts/{prompt_id}/findings"
    with ThreadPoolExecutor(4) as pool:
        assert {answer.status_code for answer in pool.map(lambda _: world.get(path), range(8))} == {200}
    assert len(events(hook)) == 1
    assert world.count("findings") == 1


def test_the_clock_reads_the_findings_that_a_webhook_wants_from_time_to_time(world: World, hook: Hook) -> None:
    prompt_id = world.prompt()
    now = [0.0]
    services = world.container.services
    watch = FindingWatch(database=world.container.database, findings=services.findings, monotonic=lambda: now[0])
    traffic(world, prompt_id, REFUND, 1, "refund")
    make_fingerprints(world)
    watch.sweep()
    assert [event for event, _ in events(hook)] == ["finding.opened"]
    traffic(world, prompt_id, FIND, 1, "find")
    make_fingerprints(world)
    watch.sweep()
    assert len(events(hook)) == 1
    now[0] += READ_EVERY_S
    watch.sweep()
    assert [data["findings"] for _, data in events(hook)] == [1, 1]
    # Without a webhook that wants them, nothing is read.
    assert world.patch(hook.path, json={"events": ["label.moved"]}).status_code == 200
    traffic(world, prompt_id, [turn("Cancel.", "cancel", failed="cancel")], 1, "cancel")
    make_fingerprints(world)
    now[0] += READ_EVERY_S
    watch.sweep()
    assert world.count("findings") == 2


def test_an_archived_prompt_does_not_stop_the_clock(world: World, hook: Hook) -> None:
    archived, prompt_id = world.prompt(), world.prompt()
    assert world.delete(f"/api/v1/prompts/{archived}").status_code == 204
    traffic(world, prompt_id, REFUND, 1, "refund")
    make_fingerprints(world)
    world.container.services.finding_watch.sweep()
    assert [data["promptId"] for _, data in events(hook)] == [prompt_id]


def test_a_new_finding_replaces_one_without_sessions_about_which_nothing_is_decided(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_findings, "KNOWN_MAX", 2)
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 1, "refund")
    traffic(world, prompt_id, FIND, 1, "find")
    first, second = listed(world, prompt_id)
    for finding in (first, second):
        assert world.delete(f"/api/v1/sessions/{finding['example']}").status_code == 204
    change(world, prompt_id, first, state="in_work")
    for name in ("cancel", "book"):
        traffic(world, prompt_id, [turn("Please.", name, failed=name)], 1, name)
    entries = listed(world, prompt_id)
    assert {entry["sessions"] for entry in entries} == {0, 1}
    assert world.count("findings") == 2
    assert world.get(f"/api/v1/prompts/{prompt_id}/findings/{second['id']}").status_code == 404
    assert shown(world, prompt_id, first["id"])["state"] == "in_work"


def test_a_finding_with_sessions_outlives_the_days_of_its_data(world: World) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 1, "refund")
    listed(world, prompt_id)
    services = world.container.services
    later = replace(services.findings.keeper, now=lambda: world.container.now() + timedelta(days=2))
    replace(services.findings, keeper=later).list(project_id=world.project_id, prompt_id=prompt_id)
    with world.container.database.read() as connection:
        (changed_at,) = connection.scalars(
            select(findings.c.changed_at).where(findings.c.project_id == world.project_id)
        )
    assert changed_at > world.container.now() + timedelta(days=1)


def test_findings_are_counted_by_what_became_of_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[str, int]] = []

    class Counter:
        def count(self, metric: object, state: str, by: int = 1) -> None:
            assert metric is registry.FINDINGS
            counted.append((state, by))

    services: Any = world.container.services.findings
    metrics: Any = Counter()
    service: FindingService = replace(services, metrics=metrics, keeper=replace(services.keeper, metrics=metrics))
    prompt_id = world.prompt()
    of_prompt = {"project_id": world.project_id, "prompt_id": prompt_id}
    traffic(world, prompt_id, REFUND, 1, "refund")
    traffic(world, prompt_id, FIND, 1, "find")
    make_fingerprints(world)
    first = service.list(**of_prompt).entries[0]
    for changes in ({"state": "in_work"}, {"assignee": None}, {"state": "solved"}):
        service.change(**of_prompt, finding_id=first.id, changes=changes)
    turns = REFUND if "refund" in first.title else FIND
    traffic(world, prompt_id, turns, 1, "later", hours=-1)
    make_fingerprints(world)
    service.list(**of_prompt)
    assert counted == [("opened", 2), ("in_work", 1), ("solved", 1), ("reopened", 1)]
