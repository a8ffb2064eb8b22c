"""Deliveries that fail, are repeated, or lose their worker; what stays of them, and for how long."""

from __future__ import annotations

from datetime import timedelta
from threading import Thread

import pytest

from app.services.webhooks import deliveries
from app.services.webhooks.deliveries import KEPT_FOR, PAUSES_S, RESERVED_FOR
from tests.fakes.receiver import Receiver
from tests.integration.webhooks.conftest import Hook, committed, new_hook
from tests.support.waiting import wait_until
from tests.support.world import World

# Longer than any pause with its jitter.
LATER = timedelta(days=1)


def test_a_failed_delivery_is_tried_again_after_a_pause_with_the_same_id(
    world: World, hook: Hook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "PAUSES_S", (LATER.total_seconds() / 2,))
    receiver.answers = [500]
    committed(world)
    hook.deliver()
    (delivery,) = hook.deliveries()
    assert (delivery["status"], delivery["statusCode"], delivery["attempts"]) == ("waiting", 500, 1)
    hook.deliver()
    assert len(receiver.received) == 1

    hook.deliver(LATER)

    assert hook.deliveries()[0]["status"] == "delivered"
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body


def test_a_delivery_fails_for_good_after_its_last_attempt_and_is_made_again_by_hand(
    world: World, hook: Hook, receiver: Receiver
) -> None:
    attempts = len(PAUSES_S) + 1
    receiver.answers = [503] * attempts
    committed(world)
    for number in range(attempts + 1):
        hook.deliver(number * LATER)
    (delivery,) = hook.deliveries()
    assert (delivery["status"], delivery["attempts"], len(receiver.received)) == ("failed", attempts, attempts)
    assert delivery["finishedAt"]

    again = world.post(f"{hook.path}/deliveries/{delivery['id']}/redeliver", json={})
    assert (again.status_code, again.json["status"], again.json["attempts"]) == (202, "waiting", 0)
    assert hook.is_due()
    hook.deliver()
    assert hook.deliveries()[0]["status"] == "delivered"
    assert {request.headers["webhook-id"] for request in receiver.received} == {delivery["eventId"]}


def test_a_receiver_that_is_gone_is_not_asked_again(world: World, hook: Hook, receiver: Receiver) -> None:
    receiver.answers = [410]
    committed(world)
    hook.deliver()
    assert hook.deliveries()[0]["status"] == "failed"


def test_a_receiver_that_fails_rests_before_it_gets_anything_else(
    world: World, hook: Hook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "REST_AFTER_FAILURE", LATER / 2)
    receiver.answers = [500]
    committed(world, "One")
    committed(world, "Two")
    hook.deliver()
    assert len(receiver.received) == 1
    assert not hook.is_due()
    assert hook.is_due(LATER)


def test_a_webhook_has_one_message_at_a_time_and_another_when_its_worker_died(world: World, hook: Hook) -> None:
    committed(world)
    assert [hook.is_due(), hook.is_due()] == [True, False]
    assert hook.is_due(RESERVED_FOR + timedelta(seconds=1))


def test_concurrent_workers_of_a_webhook_make_each_delivery_once(world: World, hook: Hook, receiver: Receiver) -> None:
    for number in range(8):
        committed(world, str(number))
    workers = [Thread(target=hook.deliver) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(receiver.received) == 8
    assert {delivery["status"] for delivery in hook.deliveries()} == {"delivered"}


def test_one_receiver_that_fails_keeps_nothing_from_another(world: World, hook: Hook, receiver: Receiver) -> None:
    unreachable = new_hook(world, "http://127.0.0.1:9")
    committed(world)
    unreachable.deliver()
    hook.deliver()
    assert [one.deliveries()[0]["status"] for one in (unreachable, hook)] == ["waiting", "delivered"]
    assert "No connection could be made" in unreachable.deliveries()[0]["error"]


def test_a_disabled_webhook_waits_until_it_is_enabled(world: World, hook: Hook, receiver: Receiver) -> None:
    committed(world)
    world.patch(hook.path, json={"enabled": False})
    assert not hook.is_due()
    hook.deliver()
    assert receiver.received == []
    world.patch(hook.path, json={"enabled": True})
    assert hook.is_due()


def test_removing_a_webhook_removes_its_deliveries(world: World, hook: Hook) -> None:
    committed(world)
    assert world.delete(hook.path).status_code == 204
    assert world.get(hook.path).status_code == 404
    assert world.count("webhook_deliveries") == world.count("webhooks") == 0


def test_deliveries_of_an_erased_prompt_are_erased(world: World, hook: Hook) -> None:
    erased, kept = committed(world, "Erased"), committed(world, "Kept")
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=erased)
    assert [delivery["data"]["promptId"] for delivery in hook.deliveries()] == [kept]


def test_an_erased_project_has_no_webhooks_left(world: World, hook: Hook) -> None:
    committed(world)
    world.container.services.deletion.erase_project(project_id=world.project_id)
    assert world.count("webhook_deliveries") == world.count("webhooks") == 0


def test_deliveries_are_kept_for_thirty_days(world: World, hook: Hook) -> None:
    committed(world)
    hook.deliverer(KEPT_FOR - timedelta(minutes=1)).remove_expired()
    assert len(hook.deliveries()) == 1
    deliverer = hook.deliverer(KEPT_FOR + timedelta(minutes=1))
    # A sweep has an end, and other tests' organizations have rows, too.
    wait_until(lambda: not deliverer.remove_expired() and not hook.deliveries(), "the removal of all deliveries")
