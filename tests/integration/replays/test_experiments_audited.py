"""An experiment waits for the audit of its judge, and does not pass with a judge that misses errors."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from reprise_formats.experiment_report import advice

from app.actors.audits import AuditDelivery
from tests.fakes.judging import is_question, judging
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import case, ended, experiment, run
from tests.integration.replays.recording import prompt
from tests.support.world import World

RECORDED = "The order A-1042 is ready for you, and it costs 85.50 euros. You can collect it within 14 days."
WORDED = "Order A-1042 is ready: 85.50 euros, to be collected within 14 days."
NO_BASELINE: dict[str, Any] = {"baseline": None, "repeats": {"min": 1, "max": 2}}


@pytest.fixture
def prompt_id(world: World) -> int:
    made = prompt(world, languageModelConfig={})
    assert world.patch(f"/api/v1/prompts/{made}", json={"assertionType": "AI"}).status_code == 200
    case(world, made, "Where is it?", RECORDED)
    return made


def answers(upstream: Upstream, decide: Any) -> None:
    """Let the model answer in other words, and the judge decide by the two texts."""
    of_steps = judging(decide)

    upstream.choose = lambda body: of_steps(body) if is_question(body) else Reply(text=WORDED)


def test_a_judge_that_misses_planted_errors_passes_no_experiment(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    answers(upstream, lambda recorded, produced: "passed")

    refused = run(world, prompt_id, **NO_BASELINE)
    permitted = run(world, prompt_id, **NO_BASELINE, minJudgeCaught=0)

    audit = world.get(f"/api/v1/judge-audits/{refused['judgeAudit']['id']}").json
    assert audit["status"] == "finished"
    assert refused["verdict"] == "inconclusive"
    assert refused["judgeAudit"]["sentence"] == audit["sentence"]
    assert "The judge noticed 0 of" in refused["reason"]
    assert "80 % is the least (minJudgeCaught)" in refused["reason"]
    assert (permitted["verdict"], permitted["judgeAudit"]) == ("passed", refused["judgeAudit"])
    assert advice(permitted).endswith(audit["sentence"])


def test_a_judge_that_notices_them_passes_it(world: World, prompt_id: int, upstream: Upstream) -> None:
    answers(upstream, lambda recorded, produced: "passed" if produced == WORDED else "failed")

    found = run(world, prompt_id, **NO_BASELINE)

    assert (found["verdict"], found["minJudgeCaught"]) == ("passed", 0.8)
    planted = world.get(f"/api/v1/judge-audits/{found['judgeAudit']['id']}").json["figures"]["planted"]
    assert planted["right"] == planted["probes"] > 0


def test_only_a_stale_audit_is_made_again(world: World, prompt_id: int, upstream: Upstream) -> None:
    answers(upstream, lambda recorded, produced: "failed")
    first, second = (run(world, prompt_id, **NO_BASELINE)["judgeAudit"]["id"] for _ in range(2))

    case(world, prompt_id, "When?", "It is here on 2026-11-05 at 09:30, at the shop in the second street.")
    third = run(world, prompt_id, **NO_BASELINE)["judgeAudit"]["id"]

    assert first == second != third


@pytest.mark.parametrize("weak", [{"probes": 1}, {"maxCost": 0.000001}], ids=["few probes", "a low cost"])
def test_an_audit_that_was_made_weak_on_purpose_is_no_evidence_for_an_experiment(
    world: World, prompt_id: int, upstream: Upstream, weak: dict[str, Any]
) -> None:
    answers(upstream, lambda recorded, produced: "failed")
    key = world.post("/api/v1/api-keys", json={"name": "runs", "scopes": ["run"]}).json["key"]
    path = f"/api/v1/prompts/{prompt_id}/judge-audits"
    made = world.post(path, json=weak, headers={"Authorization": f"Bearer {key}"})
    assert made.status_code == 202, made.text
    ended(world, made.headers["Location"])

    found = run(world, prompt_id, **NO_BASELINE)["judgeAudit"]["id"]

    assert found != made.json["id"]
    assert run(world, prompt_id, **NO_BASELINE)["judgeAudit"]["id"] == found


@pytest.mark.parametrize("value", [-0.1, 1.1, "x"])
def test_a_wrong_share_is_refused(world: World, prompt_id: int, value: Any) -> None:
    refused = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json={"minJudgeCaught": value})

    assert refused.status_code == 400
    assert "minJudgeCaught" in refused.text


def test_a_guarded_label_does_not_move_if_the_audit_of_the_judge_has_no_figures(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    answers(upstream, lambda recorded, produced: "passed")
    path = f"/api/v1/prompts/{prompt_id}"
    before = world.get(path).json["commitHash"]
    world.put(f"{path}/labels/production", json={"commitHash": before, "guarded": True})
    world.patch(path, json={"value": "Be brief."})
    version = world.post(f"{path}/commit").json["commitHash"]
    sides = {"candidate": {"commitHash": version}, "baseline": {"commitHash": before}}

    with patch.object(AuditDelivery, "send", lambda _self, _ids: None):
        started = experiment(world, prompt_id, **sides, detect=0.25)
        audit_id = world.get(started).json["judgeAudit"]["id"]
        world.post(f"/api/v1/judge-audits/{audit_id}/cancel")
        found = ended(world, started)
    refused = world.put(f"{path}/labels/production", json={"commitHash": version, "experimentId": found["id"]})

    assert found["verdict"] == "passed", found["reason"]
    assert refused.status_code == 409
    assert "is no evidence: its judge was not audited: It was cancelled." in refused.json["error"]
