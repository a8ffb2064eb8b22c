"""The events that webhooks receive, and the signature of the body."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.fakes.receiver import Receiver
from tests.integration.webhooks.conftest import Hook, committed, new_hook
from tests.support.conversations import RecordedTurn, export
from tests.support.waiting import wait_until
from tests.support.world import World


def told(hook: Hook) -> list[tuple[str, Any]]:
    return [(delivery["event"], delivery["data"]) for delivery in hook.deliveries()]


def test_a_commit_is_sent_with_a_signature_that_the_secret_verifies(
    world: World, hook: Hook, receiver: Receiver
) -> None:
    prompt_id = committed(world)
    commit_hash = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]

    hook.deliver()

    (request,) = receiver.received
    assert request.is_signed_by(hook.secret)
    assert request.headers["content-type"] == "application/json"
    (delivery,) = hook.deliveries()
    assert request.headers["webhook-id"] == delivery["eventId"]
    assert request.json == {
        "type": "version.committed",
        "timestamp": delivery["createdAt"],
        "data": {
            "promptId": prompt_id,
            "promptName": "Support",
            "projectId": world.project_id,
            "commitHash": commit_hash,
            "message": "Initial commit",
            "author": None,
        },
    }


def test_the_clock_sends_what_is_due_and_a_worker_delivers_it(world: World, hook: Hook, receiver: Receiver) -> None:
    committed(world)
    world.container.webhook_delivery.sweep()
    wait_until(lambda: hook.deliveries()[0]["status"] == "delivered", "the delivery")
    (delivery,) = hook.deliveries()
    assert (delivery["statusCode"], delivery["attempts"], delivery["error"]) == (204, 1, None)
    assert len(receiver.received) == 1


def test_a_later_commit_has_its_message_and_one_that_is_refused_is_not_sent(world: World, hook: Hook) -> None:
    prompt = f"/api/v1/prompts/{committed(world)}"
    world.patch(prompt, json={"value": "Be brief."})
    assert world.post(f"{prompt}/commit", json={"message": "Brevity"}).status_code == 201
    assert world.post(f"{prompt}/commit", json={"message": "Again"}).status_code == 409
    assert [data["message"] for _, data in told(hook)] == ["Initial commit", "Brevity"]


def test_a_moved_label_is_sent_and_one_that_stays_is_not(world: World, hook: Hook) -> None:
    prompt = f"/api/v1/prompts/{committed(world)}"
    commit_hash = world.get(prompt).json["commitHash"]
    for _ in range(2):
        assert world.put(f"{prompt}/labels/production", json={"commitHash": commit_hash}).status_code == 200
    assert (
        world.put(f"{prompt}/labels/production", json={"commitHash": commit_hash, "guarded": True}).status_code == 200
    )
    events = told(hook)
    assert [event for event, _ in events] == ["version.committed", "label.moved"]
    moved = events[1][1]
    assert (moved["label"], moved["commitHash"], moved["previousCommitHash"]) == ("production", commit_hash, None)


def test_an_experiment_is_sent_once_when_it_ends(world: World, hook: Hook) -> None:
    prompt = f"/api/v1/prompts/{committed(world)}"
    case = world.post(f"{prompt}/test-cases", json={"question": "Who?", "expectedAnswer": "Who?"})
    assert case.status_code == 201, case.text
    started = world.post(f"{prompt}/experiments", json={"detect": 0.9})
    assert started.status_code == 202, started.text
    path = started.headers["Location"]
    wait_until(lambda: world.get(path).json["finishedAt"], path)

    ended = world.get(path).json
    found = [data for event, data in told(hook) if event == "experiment.finished"]
    assert [(data["experimentId"], data["outcome"]) for data in found] == [
        (ended["id"], ended["verdict"] or ended["status"])
    ]


def test_a_guard_map_is_sent_once_when_it_ends(world: World, hook: Hook) -> None:
    prompt = f"/api/v1/prompts/{committed(world)}"
    case = world.post(f"{prompt}/test-cases", json={"question": "Who?", "expectedAnswer": "Who?"})
    assert case.status_code == 201, case.text
    path = world.post(f"{prompt}/guard-maps", json={"maxReplays": 4}).headers["Location"]
    wait_until(lambda: world.get(path).json["finishedAt"], path)

    ended = world.get(path).json
    found = [data for event, data in told(hook) if event == "guard_map.finished"]
    assert [(data["guardMapId"], data["outcome"]) for data in found] == [(ended["id"], "finished")]


def test_rejected_spans_are_sent_together_by_their_causes_and_once(world: World, hook: Hook) -> None:
    turns = (RecordedTurn("Hello", "Hi"),)
    for conversation in ("a", "b"):
        batch = export(2**40, conversation, turns, start_ns=1_770_000_000_000_000_000)
        assert world.send(batch).status_code == 400
    rejected = world.count("rejected_spans")
    for _ in range(2):
        world.container.services.rejection_notifier.sweep()
    ((event, data),) = told(hook)
    assert event == "spans.rejected"
    assert data["rejected"] == rejected
    assert sum(cause["count"] for cause in data["causes"]) == rejected


def test_a_new_webhook_is_not_sent_spans_that_were_rejected_before(world: World, receiver: Receiver) -> None:
    batch = export(2**40, "a", (RecordedTurn("Hello", "Hi"),), start_ns=1_770_000_000_000_000_000)
    assert world.send(batch).status_code == 400
    hook = new_hook(world, receiver.url)
    world.container.services.rejection_notifier.sweep()
    assert told(hook) == []


def test_what_a_webhook_does_not_want_or_is_disabled_for_is_not_sent(world: World, receiver: Receiver) -> None:
    other = new_hook(world, receiver.url, events=["label.moved"])
    disabled = new_hook(world, receiver.url, enabled=False)
    committed(world)
    assert told(other) == told(disabled) == []


def test_slack_gets_a_text_in_which_nothing_is_markup(world: World, receiver: Receiver) -> None:
    hook = new_hook(world, receiver.url, format="slack")
    committed(world, "<!channel> & co")
    hook.deliver()
    assert receiver.received[0].json["text"].endswith("of &lt;!channel&gt; &amp; co was committed: Initial commit")


def test_a_rotated_secret_signs_together_with_the_old_one_for_a_day(
    world: World, hook: Hook, receiver: Receiver
) -> None:
    rotated = world.post(f"{hook.path}/secret", json={})
    assert rotated.status_code == 200, rotated.text
    new = rotated.json["secret"]
    assert new != hook.secret

    world.post(f"{hook.path}/test", json={})
    hook.deliver()
    world.post(f"{hook.path}/test", json={})
    service = world.container.services.webhooks
    assert len(service.signing(project_id=world.project_id, webhook_id=hook.id)) == 2
    assert receiver.received[0].is_signed_by(new)
    assert receiver.received[0].is_signed_by(hook.secret)

    service.now = lambda: world.container.now() + timedelta(hours=25)
    try:
        hook.deliver()
    finally:
        service.now = world.container.now
    assert receiver.received[1].is_signed_by(new)
    assert not receiver.received[1].is_signed_by(hook.secret)
