"""A candidate that breaks a rule fails at once: nothing more of it is played, and no audit is waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from reprise_formats.experiment_report import AUDITED, advice, markdown

from app.actors.audits import AuditDelivery
from app.services.experiments.advance import ExperimentAdvancer
from tests.fakes.judging import is_question, judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import ended, experiment, run, verdict
from tests.integration.replays.shop import LOOK_UP, ORDER, PAY_BACK, REFUND, calls, shop, shop_case
from tests.integration.replays.test_experiments_faults import at_once
from tests.support.conversations import RecordedTurn
from tests.support.waiting import wait_until
from tests.support.world import World

TWICE = "Refund twice."
# Long enough for errors to be planted in it.
REFUNDED = "Order A-1 is refunded, and the 20.00 euros reach your account within 5 days."
PAID = RecordedTurn("Refund order A-1, please.", REFUNDED, (ORDER, REFUND))
RIGHT = [calls(LOOK_UP), calls(PAY_BACK), Reply(text=REFUNDED)]
WRONG = [calls(LOOK_UP), calls(PAY_BACK), calls(PAY_BACK), Reply(text=REFUNDED)]
UNFINISHED = {"queued", "running"}


@pytest.fixture
def prompt_id(world: World) -> int:
    prompt_id = shop(world)
    shop_case(world, [PAID], prompt_id=prompt_id)
    changed = world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": TWICE})
    assert changed.status_code == 200, changed.text
    return prompt_id


def is_wrong(body: dict[str, Any]) -> bool:
    return TWICE in body["messages"][0]["content"]


def play(upstream: Upstream, question: Reply, other: Callable[[dict[str, Any]], Reply] | None = None) -> None:
    """Refund twice by the draft's instruction; answer questions of a judge with a reply, and all else with `other`."""

    def choose(body: dict[str, Any]) -> Reply:
        if is_question(body):
            return question
        if other is not None and not is_wrong(body):
            return other(body)
        played = sum(message["role"] == "tool" for message in body["messages"])
        return (WRONG if is_wrong(body) else RIGHT)[played]

    upstream.choose = choose


@contextmanager
def held_questions(upstream: Upstream, **more: Any) -> Iterator[None]:
    """Answer the questions of the audit once the block has ended."""
    held = threading.Event()
    play(upstream, Reply(text=judged("failed").text, held=held), **more)
    try:
        yield
    finally:
        held.set()


def audit_of(world: World, found: dict[str, Any]) -> dict[str, Any]:
    audit: dict[str, Any] = world.get(f"/api/v1/judge-audits/{found['judgeAudit']['id']}").json
    return audit


def replays_of(world: World, prompt_id: int) -> list[dict[str, Any]]:
    replays: list[dict[str, Any]] = world.get(f"/api/v1/prompts/{prompt_id}/replays?limit=200").json["replays"]
    return replays


def test_a_violation_fails_at_once_and_cancels_the_rest(world: World, upstream: Upstream, prompt_id: int) -> None:
    held = threading.Event()
    play(upstream, judged("passed"), lambda _body: Reply(text="...", held=held))

    found = run(world, prompt_id)
    held.set()

    assert verdict(found) == ("finished", "failed")
    assert {violation["kind"] for violation in found["violations"]} == {"extra_write"}
    assert all(violation["replayId"] and violation["testCaseId"] for violation in found["violations"])
    of_version = [replay for replay in replays_of(world, prompt_id) if replay["candidate"]["kind"] == "version"]
    assert {replay["status"] for replay in of_version} == {"cancelled"}


def test_the_sentence_of_the_audit_follows_once_it_has_ended(world: World, upstream: Upstream, prompt_id: int) -> None:
    with held_questions(upstream):
        path = experiment(world, prompt_id)
        found = ended(world, path)
        assert verdict(found) == ("finished", "failed")
        assert found["judgeAudit"]["sentence"] is None
        assert not UNFINISHED & {replay["status"] for replay in replays_of(world, prompt_id)}
        assert audit_of(world, found)["status"] in UNFINISHED
        assert AUDITED in markdown(found)

    wait_until(lambda: audit_of(world, found)["finishedAt"], "the end of the audit")

    sentence = audit_of(world, found)["sentence"]
    later, (listed,) = world.get(path).json, world.get(f"/api/v1/prompts/{prompt_id}/experiments").json["experiments"]
    assert later == found | {"judgeAudit": {**found["judgeAudit"], "sentence": sentence}}
    assert listed["judgeAudit"] == later["judgeAudit"]
    assert advice(later).endswith(sentence)
    assert sentence.startswith("The judge noticed")


def test_the_verdict_names_an_audit_that_failed(world: World, upstream: Upstream, prompt_id: int) -> None:
    play(upstream, Reply(status=401))

    path = experiment(world, prompt_id)
    found = ended(world, path)
    wait_until(lambda: audit_of(world, found)["finishedAt"], "the end of the audit")

    assert verdict(found) == ("finished", "failed")
    assert world.get(path).json["judgeAudit"]["sentence"].startswith("The judge could not be audited: ")


def test_an_audit_that_never_ends_holds_only_a_pass(world: World, upstream: Upstream, prompt_id: int) -> None:
    play(upstream, judged("passed"))
    with patch.object(AuditDelivery, "send", lambda _self, _ids: None):
        failed = run(world, prompt_id)
        passing = experiment(world, prompt_id, candidate={"base": "draft", "value": "Refund once."})
        waiting = wait_until(lambda: _all_played(world.get(passing).json), passing)

        assert (verdict(failed), failed["judgeAudit"]["sentence"]) == (("finished", "failed"), None)
        assert verdict(waiting) == ("running", None)
        assert audit_of(world, failed)["status"] == "queued"

        world.post(f"/api/v1/judge-audits/{failed['judgeAudit']['id']}/cancel")
        assert verdict(ended(world, passing)) == ("finished", "passed")

    path = f"/api/v1/experiments/{failed['id']}"
    assert world.get(path).json["judgeAudit"]["sentence"] == "The judge could not be audited: It was cancelled."


def _all_played(found: dict[str, Any]) -> dict[str, Any] | None:
    return found if found["progress"]["done"] == found["progress"]["total"] > 0 else None


def test_many_that_advance_at_once_fail_it_once(world: World, upstream: Upstream, prompt_id: int) -> None:
    play(upstream, judged("failed"))
    with (
        patch.object(ExperimentAdvancer, "replay_ended", lambda _self, _replay_id: []),
        patch.object(ExperimentAdvancer, "audit_ended", lambda _self, _prompt_id: []),
        patch.object(AuditDelivery, "send", lambda _self, _ids: None),
    ):
        path = experiment(world, prompt_id)
        wait_until(lambda: _none_in_work(world, prompt_id), path)
        assert verdict(world.get(path).json)[0] == "running"
        added, outcomes = at_once(world, world.get(path).json["id"])

    assert (added, outcomes, verdict(world.get(path).json)) == ([], ["failed"], ("finished", "failed"))


def _none_in_work(world: World, prompt_id: int) -> bool:
    statuses = {replay["status"] for replay in replays_of(world, prompt_id)}
    return bool(statuses) and not UNFINISHED & statuses


def test_of_several_candidates_only_the_one_with_a_violation_is_cancelled(
    world: World, upstream: Upstream, prompt_id: int
) -> None:
    wrong, held, go = threading.Event(), threading.Event(), threading.Event()
    candidates = [{"name": "twice"}, {"name": "once", "value": "Refund once."}]

    def choose(body: dict[str, Any]) -> Reply:
        if is_question(body):
            return judged("failed")
        played = sum(message["role"] == "tool" for message in body["messages"])
        if not is_wrong(body):
            reply = RIGHT[played]
            return Reply(text=reply.text, tool_calls=reply.tool_calls, held=go)
        if played == 0 and wrong.is_set():
            return Reply(tool_calls=[LOOK_UP], held=held)
        wrong.set()
        return WRONG[played]

    def of_draft() -> set[str]:
        return {replay["status"] for replay in replays_of(world, prompt_id) if replay["candidate"]["kind"] == "draft"}

    upstream.choose = choose
    try:
        path = experiment(world, prompt_id, candidates=candidates)
        wait_until(lambda: of_draft() == {"failed", "cancelled"}, path)
        assert verdict(world.get(path).json) == ("running", None)
        go.set()
        found = ended(world, path)
    finally:
        held.set()
        go.set()

    assert verdict(found) == ("finished", "passed")
    shown = [(candidate["name"], candidate["verdict"]) for candidate in found["candidates"]]
    assert shown == [("once", "passed"), ("twice", "failed")]


def test_a_removed_audit_is_named(world: World, upstream: Upstream, prompt_id: int) -> None:
    with held_questions(upstream):
        path = experiment(world, prompt_id)
        found = ended(world, path)
        with patch("app.models.judge_audits.list_by_ids", lambda *_args, **_more: []):
            assert world.get(path).json["judgeAudit"]["sentence"] == "The audit of the judge was removed."
    wait_until(lambda: audit_of(world, found)["finishedAt"], "the end of the audit")
