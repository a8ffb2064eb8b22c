"""Alert rules fire once when a value goes above their threshold, and again when it has recovered."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.services.ingest import observed as observed_service
from app.timestamps import utc_now
from tests.integration.webhooks.conftest import Hook, committed
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import export, span
from tests.support.world import World, new_world

PATH = "/api/v1/alert-rules"
SHARE = {"metric": "errorShare", "threshold": 0.4, "windowMinutes": 60}


def session(world: World, prompt_id: int, *, fails: bool = False, model: str = "acme") -> None:
    """Store a session of now with one call of a million tokens."""
    start = int(utc_now().timestamp()) * 10**9
    attributes = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": 1_000_000,
        "gen_ai.usage.output_tokens": 0,
    }
    ids = {"traceId": secrets.token_hex(16), "spanId": secrets.token_hex(8)}
    status = {"status": {"code": 2, "message": "no"}} if fails else {}
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 10**9)}
    batch = json.loads(export(span(attributes, **ids, **times, **status)))
    assert world.send(batch).status_code == 200


def rule(world: World, **values: Any) -> str:
    """Make a rule and return its path."""
    made = world.post(PATH, json=SHARE | values)
    assert made.status_code == 201, made.text
    return f"{PATH}/{made.json['id']}"


def evaluate(world: World, later: timedelta = timedelta()) -> None:
    """Evaluate all rules as the clock does, so much later."""
    service = world.container.services.alerts
    replace(service, now=lambda: world.container.now() + later).evaluate()


def told(hook: Hook) -> list[tuple[str, Any]]:
    alerts = [one for one in hook.deliveries() if one["event"].startswith("alert.")]
    return [(one["event"], one["data"]["value"]) for one in alerts]


def test_errors_above_the_threshold_are_sent_once_and_so_is_the_recovery(world: World, hook: Hook) -> None:
    prompt_id = committed(world)
    path = rule(world)
    session(world, prompt_id)
    evaluate(world)
    assert told(hook) == []

    session(world, prompt_id, fails=True)
    evaluate(world)
    evaluate(world)
    assert told(hook) == [("alert.started", 0.5)]
    assert world.get(path).json["firingSince"]

    session(world, prompt_id)
    evaluate(world)
    evaluate(world)
    assert [event for event, _ in told(hook)] == ["alert.started", "alert.ended"]
    assert world.get(path).json["firingSince"] is None


def test_sessions_before_the_window_do_not_count_and_too_few_send_nothing(world: World, hook: Hook) -> None:
    prompt_id = committed(world)
    path, strict = rule(world), rule(world, minSessions=2)
    session(world, prompt_id, fails=True)
    evaluate(world)
    assert (world.get(path).json["value"], world.get(strict).json["value"]) == (1.0, None)
    evaluate(world, timedelta(minutes=70))
    assert told(hook) == [("alert.started", 1.0), ("alert.ended", None)]


def test_a_rule_of_a_prompt_looks_only_at_that_prompt_and_goes_with_it(world: World, hook: Hook) -> None:
    watched, other = committed(world, "Watched"), committed(world, "Other")
    path = rule(world, promptId=watched)
    session(world, other, fails=True)
    evaluate(world)
    assert world.get(path).json["value"] is None
    session(world, watched, fails=True)
    evaluate(world)
    (delivery,) = [one for one in hook.deliveries() if one["event"] == "alert.started"]
    assert (delivery["data"]["promptId"], delivery["data"]["promptName"]) == (watched, "Watched")
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=watched)
    assert world.get(path).status_code == 404


def test_costs_of_traced_calls_and_of_runs_are_separate_alerts(world: World, hook: Hook) -> None:
    prompt_id = committed(world)
    price = {"model": "acme-priced", "promptPrice": 3, "completionPrice": 0}
    assert world.post("/api/v1/model-prices", json=price).status_code == 201
    # Of two days: the call may be of the day before its cost is summed.
    costs = {"threshold": 2, "windowMinutes": 2 * 1440}
    observed, runs = rule(world, metric="observedCost", **costs), rule(world, metric="cost", **costs)
    session(world, prompt_id, model="acme-priced")
    evaluate(world)
    assert (world.get(observed).json["value"], world.get(runs).json["value"]) == (3.0, 0.0)
    assert told(hook) == [("alert.started", 3.0)]


def test_a_cost_with_more_models_than_are_looked_up_fires_and_usage_sums_the_rest_without_a_name(
    world: World, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = committed(world)
    price = {"model": "acme-priced", "promptPrice": 3, "completionPrice": 0}
    assert world.post("/api/v1/model-prices", json=price).status_code == 201
    path = rule(world, metric="observedCost", threshold=100, windowMinutes=2 * 1440)
    for model in ("acme-priced", "acme-priced", "invented-1", "invented-2", "invented-3"):
        session(world, prompt_id, model=model)
    evaluate(world)
    assert told(hook) == []

    monkeypatch.setattr(observed_service, "OBSERVED_ROWS_MAX", 2)
    evaluate(world)

    assert told(hook) == [("alert.started", 6.0)]
    assert world.get(path).json["firingSince"]
    for group_by in ("day", "prompt", "model"):
        report = world.get("/api/v1/usage/observed", params={"groupBy": group_by}).json
        assert (report["total"]["calls"], report["total"]["tokens"]["prompt"]) == (5, 5_000_000), group_by
        assert report["total"]["cost"]["total"] == 6
    by_model = {row["model"]["model"]: row["calls"] for row in report["rows"]}
    assert by_model == {"": 2, "acme-priced": 2, "invented-1": 1}
    monkeypatch.undo()
    evaluate(world)
    assert told(hook)[1:] == [("alert.ended", 6.0)]


def test_two_clocks_send_a_change_once(world: World, hook: Hook) -> None:
    rule(world)
    session(world, committed(world), fails=True)
    service = world.container.services.alerts
    (seen,) = service.list(project_id=world.project_id)
    for _ in range(2):  # both read the rule before either of them changed it
        service._evaluate(seen)
    assert told(hook) == [("alert.started", 1.0)]


def test_a_rule_that_changes_starts_again_and_sends_its_end(world: World, hook: Hook) -> None:
    path = rule(world)
    session(world, committed(world), fails=True)
    evaluate(world)
    changed = world.patch(path, json={"threshold": 0.6})

    assert (changed.status_code, changed.json) == (200, world.get(path).json)
    assert [changed.json[name] for name in ("threshold", "windowMinutes", "firingSince", "value")] == [
        0.6,
        60,
        None,
        None,
    ]
    evaluate(world)
    assert told(hook) == [("alert.started", 1.0), ("alert.ended", None), ("alert.started", 1.0)]
    assert world.patch(path, json={"threshold": 0.6}).json["firingSince"]
    entry = world.get("/api/v1/audit-log").json["entries"][0]
    assert (entry["action"], entry["details"]) == ("alert_rule.changed", {"changed": "threshold"})


def test_a_paused_rule_is_not_evaluated_until_it_is_enabled(world: World, hook: Hook) -> None:
    path = rule(world)
    session(world, committed(world), fails=True)
    assert world.patch(path, json={"enabled": False}).json["enabled"] is False
    evaluate(world)
    assert (told(hook), world.get(path).json["value"]) == ([], None)

    assert world.patch(path, json={"enabled": True}).status_code == 200
    evaluate(world)
    assert told(hook) == [("alert.started", 1.0)]


def test_a_clock_that_read_a_rule_before_its_change_sends_nothing(world: World, hook: Hook) -> None:
    path = rule(world)
    session(world, committed(world), fails=True)
    service = world.container.services.alerts
    (seen,) = service.list(project_id=world.project_id)
    assert world.patch(path, json={"enabled": False}).status_code == 200
    service._evaluate(seen)
    assert (told(hook), world.get(path).json["firingSince"]) == ([], None)


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"metric": "tokens"}, "metric: Must be one of"),
        ({"threshold": 1}, "threshold: Must be below 1"),
        ({"threshold": -1}, "threshold: Must be greater"),
        ({"metric": "cost", "windowMinutes": 60}, "windowMinutes: Costs are summed by day"),
        ({"windowMinutes": 4}, "windowMinutes: Must be greater"),
        ({"minSessions": 0}, "minSessions: Must be greater"),
    ],
)
def test_a_rule_that_could_never_be_right_is_refused(world: World, values: dict[str, object], message: str) -> None:
    refused = world.post(PATH, json=SHARE | values)
    assert (refused.status_code, refused.json["error"][: len(message)]) == (400, message)
    assert world.count("alert_rules") == 0

    path = rule(world)
    before = world.get(path).json
    refused = world.patch(path, json=values)
    assert (refused.status_code, refused.json["error"][: len(message)]) == (400, message)
    assert world.get(path).json == before


@EMBEDDED_CONTAINER
def test_a_prompt_of_another_project_can_not_be_watched(world: World) -> None:
    foreign = committed(new_world(world.container))
    assert world.post(PATH, json=SHARE | {"promptId": foreign}).status_code == 404
    assert world.count("alert_rules") == 0
    assert world.patch(rule(world), json={"promptId": foreign}).status_code == 404
