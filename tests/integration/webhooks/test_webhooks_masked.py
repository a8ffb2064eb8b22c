"""Webhooks receive nothing of conversations, masked or not, and what was sent is removed when it is erased or old."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

import pytest

from app.services.webhooks.deliveries import KEPT_FOR
from app.timestamps import utc_now
from tests.fakes.receiver import Receiver
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays import recording
from tests.integration.webhooks.conftest import Hook, committed, new_hook
from tests.integration.webhooks.test_alert_rules import evaluate, rule
from tests.support.conversations import RecordedTurn
from tests.support.exports import export, span
from tests.support.readable import tables_with
from tests.support.waiting import wait_until
from tests.support.world import World

WORD, OPEN = "ada@example.org", "openly said"
MASKING = {"masking": [{"kind": "pattern", "value": r"[\w.]+@[\w.]+"}]}


@pytest.fixture
def masked(world: World) -> World:
    assert world.put("/api/v1/data-policy", json=MASKING).status_code == 200
    return world


def failing(prompt_id: int | None, **fields: Any) -> dict[str, Any]:
    """A span of now with both words wherever a text may be."""
    start, said = int(utc_now().timestamp()) * 10**9, f"{WORD} {OPEN}"
    recorded = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": said,
        "gen_ai.tool.call.arguments": said,
        "gen_ai.tool.call.result": said,
        "user.id": said,
    }
    ids = {"traceId": secrets.token_hex(16), "name": said}
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 10**9)}
    return span(recorded, **ids | times | {"status": {"code": 2, "message": said}} | fields)


def finished_in_vain(world: World, upstream: Upstream) -> None:
    """Play an experiment of a recorded session with replays that all end with the vendor's error about it."""
    stored = {"apiKey": "sk-x", "baseUrl": upstream.base_url("OPENAI")}
    assert world.put("/api/v1/credentials/OPENAI", json=stored).status_code == 200
    world.container.services.models.sync_catalogue()
    upstream.choose = lambda _body: Reply(status=400, message=f"Bad: {WORD} {OPEN}")
    prompt_id = recording.prompt(world)
    turn = RecordedTurn(f"I am {WORD} {OPEN}", f"Hello {WORD} {OPEN}")
    recording.make_case(world, recording.record(world, prompt_id, [turn]), name="Greeting")
    path = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json={"detect": 0.9}).headers["Location"]
    wait_until(lambda: world.get(path).json["finishedAt"], path)
    assert world.get(path).json["status"] == "error"


@pytest.mark.parametrize("form", ["json", "slack"])
def test_no_event_has_words_of_a_conversation(masked: World, receiver: Receiver, upstream: Upstream, form: str) -> None:
    hook, prompt_id = new_hook(masked, receiver.url, format=form), committed(masked)
    rule(masked, promptId=prompt_id)
    assert masked.send(export(failing(prompt_id), failing(prompt_id))).status_code == 200
    assert masked.send(export(failing(prompt_id), failing(None, traceId="none"))).status_code == 200
    evaluate(masked)
    masked.container.services.rejection_notifier.sweep()
    finished_in_vain(masked, upstream)
    hook.deliver()

    events = {one["event"] for one in hook.deliveries()}
    assert {"version.committed", "alert.started", "spans.rejected", "experiment.finished"} <= events
    assert all(one["status"] == "delivered" for one in hook.deliveries())
    bodies = "".join(request.body.decode() for request in receiver.received)
    assert "Support" in bodies
    assert WORD not in bodies
    assert OPEN not in bodies
    assert "webhook_deliveries" not in tables_with(masked, OPEN)
    assert "spans" in tables_with(masked, OPEN)


def test_a_delivery_goes_with_its_prompt_and_after_its_time_but_not_with_the_projects_spans(
    masked: World, hook: Hook
) -> None:
    erased, kept = committed(masked, "Erased name"), committed(masked, "Kept name")
    assert masked.put("/api/v1/data-policy", json=MASKING | {"retentionDays": {"spans": 1}}).status_code == 200
    masked.container.services.retention.apply()
    assert len(hook.deliveries()) == 2

    masked.container.services.deletion.erase_prompt(project_id=masked.project_id, prompt_id=erased)
    assert [one["data"]["promptId"] for one in hook.deliveries()] == [kept]
    assert "webhook_deliveries" not in tables_with(masked, "Erased name")

    deliverer = hook.deliverer(KEPT_FOR + timedelta(minutes=1))
    # A sweep has an end, and other tests' organizations have rows, too.
    wait_until(lambda: not deliverer.remove_expired() and not hook.deliveries(), "the removal of all deliveries")
    assert "webhook_deliveries" not in tables_with(masked, "Kept name")
