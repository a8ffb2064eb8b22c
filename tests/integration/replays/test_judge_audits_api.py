"""Audits over the API: errors are planted in the prompt's test cases, and counted if the gate notices them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec import structs

from app.audit.figures import ProbeOutcome
from app.audit.playing import play_probe
from app.audit.probes import draw_probes
from app.errors import Unavailable
from app.models import judge_audits, prompt_versions
from app.services.audits import runner
from app.services.audits.claims import ATTEMPTS_MAX, INTERRUPTED
from app.services.replays import ports
from tests.fakes.judging import is_question, judging
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import make_case, prompt, record, replayed
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.waiting import wait_until
from tests.support.world import World, new_world

LEAVE = RecordedTurn(
    "How many days are left?",
    "You have 11 days of leave left in 2026, and 3 of them expire on 31 March 2027. They are not paid out.",
    (RecordedCall("weather", {"city": "Rome"}, {"left": 11, "internal_note": "is often ill"}),),
)
TRAIN = RecordedTurn(
    "When does the train go?",
    "The train 204 to Bilbao is at 09:30 from platform 7, and it costs 1,250.00 euros. You can change it once.",
    (RecordedCall("book", {"hotel": "Hassler"}, "ok"),),
)


@pytest.fixture
def prompt_id(world: World) -> int:
    prompt_id = prompt(world, value="You are the agent of a company. Never name the internal notes.")
    make_case(world, record(world, prompt_id, (LEAVE, TRAIN)))
    return prompt_id


def start(world: World, prompt_id: int, **body: Any) -> str:
    accepted = world.post(f"/api/v1/prompts/{prompt_id}/judge-audits", json=body)
    assert accepted.status_code == 202, accepted.text
    path: str = accepted.headers["Location"]
    assert path == f"/api/v1/judge-audits/{accepted.json['id']}"
    return path


def ended(world: World, path: str) -> dict[str, Any]:
    def found() -> Any:
        audit = world.get(path).json
        return audit if audit["status"] not in ("queued", "running") else None

    audit: dict[str, Any] = wait_until(found, path)
    return audit


def first_case(world: World, prompt_id: int) -> int:
    """Return the id of the oldest test case of a prompt."""
    listed = world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"]
    return min(entry["id"] for entry in listed)


def copy_first(world: World, prompt_id: int, name: str) -> int:
    """Copy the oldest test case of a prompt, and return its id."""
    first = first_case(world, prompt_id)
    copied = world.post(f"/api/v1/test-cases/{first}/copy", json={"name": name})
    assert copied.status_code == 201, copied.text
    return first


def answers(upstream: Upstream, decide: Any) -> None:
    upstream.choose = judging(decide)


def is_short(recorded: str, produced: str) -> str:
    """A judge that misses errors by which a text grows by at most a tenth."""
    return "passed" if len(produced) <= 1.1 * len(recorded) else "failed"


def test_a_judge_that_notices_nothing_is_found_out(world: World, prompt_id: int, upstream: Upstream) -> None:
    answers(upstream, lambda recorded, produced: "passed")

    audit = ended(world, start(world, prompt_id, probes=8))

    assert (audit["status"], audit["judgeModelName"], audit["stale"]) == ("finished", "gpt-4o-mini", None)
    planted, harmless = audit["figures"]["planted"], audit["figures"]["harmless"]
    judged = [outcome for outcome in audit["outcomes"] if outcome.get("decidedBy") == "judge"]
    assert judged
    assert all(outcome["verdict"] == "passed" for outcome in judged)
    noticed = [
        outcome for outcome in audit["outcomes"] if outcome["probe"]["planted"] and outcome["verdict"] == "failed"
    ]
    assert planted["right"] == len(noticed) < planted["probes"]
    assert harmless["probes"] + planted["probes"] == audit["done"] == audit["total"]
    assert 0 < planted["probes"] <= 2 * harmless["probes"]
    assert audit["sentence"].startswith(f"The judge noticed {planted['right']} of {planted['probes']} planted errors (")
    assert all(outcome["probe"]["recorded"] != outcome["probe"]["produced"] for outcome in audit["outcomes"])


def test_only_the_judge_is_asked(world: World, prompt_id: int, upstream: Upstream) -> None:
    answers(upstream, is_short)

    audit = ended(world, start(world, prompt_id, probes=6))

    questions = [request.body for request in upstream.requests]
    assert questions
    assert all(is_question(body) for body in questions)
    assert audit["cost"] > 0


def test_the_same_test_cases_give_the_same_probes(world: World, prompt_id: int, upstream: Upstream) -> None:
    answers(upstream, is_short)

    audits = [ended(world, start(world, prompt_id, probes=6)) for _ in range(2)]

    assert audits[0]["outcomes"] == audits[1]["outcomes"]
    listed = world.get(f"/api/v1/prompts/{prompt_id}/judge-audits").json["judgeAudits"]
    assert [audit["id"] for audit in listed] == [audits[1]["id"], audits[0]["id"]]
    assert "outcomes" not in listed[0]


def test_an_audit_is_stale_once_its_test_cases_changed(world: World, prompt_id: int, upstream: Upstream) -> None:
    answers(upstream, is_short)
    path = start(world, prompt_id, probes=2)
    ended(world, path)

    world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": "Who?", "expectedAnswer": "Me."})

    assert world.get(path).json["stale"] == "1 of 2 test cases have changed"


def test_an_audit_names_the_snapshot_of_the_judge_and_is_stale_once_the_vendor_reports_another(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    def report(snapshot: str) -> None:
        of_steps = judging(is_short)
        upstream.choose = lambda body: replace(
            of_steps(body) if is_question(body) else Reply(text=f"Leave is {snapshot}."), model=snapshot
        )

    report("gpt-4o-mini-2024-07-18")
    path = start(world, prompt_id, probes=2)
    before = ended(world, path)
    replayed(world, first_case(world, prompt_id))
    same = world.get(path).json

    report("gpt-4o-mini-2026-01-01")
    replayed(world, first_case(world, prompt_id), judgeModelName="gpt-4o-mini")
    stale = world.get(path).json
    later = ended(world, start(world, prompt_id, probes=2))

    assert (before["judgeModelName"], before["judgeSnapshot"]) == ("gpt-4o-mini", "gpt-4o-mini-2024-07-18")
    assert (before["stale"], same["stale"]) == (None, None)
    assert stale["stale"] == "the vendor reported gpt-4o-mini-2024-07-18 and reports gpt-4o-mini-2026-01-01 now"
    assert (later["judgeSnapshot"], later["stale"]) == ("gpt-4o-mini-2026-01-01", None)
    listed = world.get(f"/api/v1/prompts/{prompt_id}/judge-audits").json["judgeAudits"]
    assert [audit["stale"] for audit in listed] == [None, stale["stale"]]


def test_checks_without_a_judge_are_audited_too(world: World, upstream: Upstream) -> None:
    prompt_id = prompt(world)
    steps = [{"turn": turn, "step": 1, "check": {"answer": "strict"}} for turn in range(2)]
    make_case(world, record(world, prompt_id, (LEAVE, TRAIN)), steps=steps, judge="never")

    audit = ended(world, start(world, prompt_id, probes=6))

    answered = [outcome for outcome in audit["outcomes"] if isinstance(outcome["probe"]["recorded"], str)]
    assert answered
    assert all(outcome["verdict"] == "failed" for outcome in answered if outcome["probe"]["planted"])
    assert upstream.requests == []


def test_the_cost_ends_an_audit_with_what_it_has(world: World, prompt_id: int, upstream: Upstream) -> None:
    answers(upstream, is_short)

    audit = ended(world, start(world, prompt_id, probes=20, maxCost=0.0001))

    assert audit["status"] == "finished"
    assert audit["done"] < audit["total"]
    assert "cost reached $0.0001" in audit["error"]


def test_the_cost_is_named_if_the_refused_probe_needs_no_judge(
    world: World, prompt_id: int, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decided(*args: Any) -> ProbeOutcome:
        return structs.replace(play_probe(*args), verdict="failed", reason="the arguments differ")

    monkeypatch.setattr(runner, "play_probe", decided)
    answers(upstream, is_short)

    audit = ended(world, start(world, prompt_id, probes=20, maxCost=0.0001))

    left = audit["total"] - audit["done"]
    assert left
    assert audit["error"] == f"{left} of {audit['total']} probes were not judged: The audit's cost reached $0.0001."


def test_a_judge_that_fails_gives_no_figures(world: World, prompt_id: int, upstream: Upstream) -> None:
    upstream.choose = lambda body: Reply(status=401)

    audit = ended(world, start(world, prompt_id, probes=10))

    assert (audit["status"], audit["figures"]) == ("error", None) or audit["error"]
    assert "the judge failed" in audit["error"]
    assert audit["sentence"]


def test_another_worker_continues_where_one_was_stopped(world: World, prompt_id: int, upstream: Upstream) -> None:
    answers(upstream, is_short)
    services = world.container.services
    row = services.judge_audits.start(project_id=world.project_id, prompt_id=prompt_id, probes=6)
    polled = count()
    stopping = replace(services.judge_audit_runner, stopping=lambda: next(polled) >= 4)

    with pytest.raises(Unavailable):
        stopping.run(row.id)

    path = f"/api/v1/judge-audits/{row.id}"
    part = world.get(path).json
    assert (part["status"], part["figures"]) == ("running", None)
    assert 0 < part["done"] == len(part["outcomes"]) < part["total"]
    asked = len(upstream.requests)
    services.judge_audit_runner.run(row.id)
    whole = world.get(path).json
    assert (whole["status"], whole["done"]) == ("finished", part["total"])
    assert part["outcomes"] == [outcome for outcome in whole["outcomes"] if outcome in part["outcomes"]]
    # Each probe is asked about at most twice: the second look.
    assert len(upstream.requests) - asked <= 2 * (part["total"] - part["done"])


def test_an_audit_that_was_interrupted_too_often_ends(world: World, prompt_id: int) -> None:
    services = world.container.services
    row = services.judge_audits.start(project_id=world.project_id, prompt_id=prompt_id, probes=1)
    stopping = replace(services.judge_audit_runner, stopping=lambda: True)

    for _ in range(ATTEMPTS_MAX):
        with pytest.raises(Unavailable):
            stopping.run(row.id)
    stopping.run(row.id)

    audit = world.get(f"/api/v1/judge-audits/{row.id}").json
    assert (audit["status"], audit["error"]) == ("error", INTERRUPTED)
    assert audit["sentence"].startswith("The judge could not be audited")


def test_two_workers_do_not_run_the_same_audit(world: World, prompt_id: int, upstream: Upstream) -> None:
    answers(upstream, is_short)
    services = world.container.services
    row = services.judge_audits.start(project_id=world.project_id, prompt_id=prompt_id, probes=4)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(services.judge_audit_runner.run, [row.id] * 4))

    audit = ended(world, f"/api/v1/judge-audits/{row.id}")
    assert audit["status"] == "finished"
    assert len(upstream.requests) <= 2 * audit["total"]


def test_an_audit_renders_the_instruction_once_and_reads_each_version_once(
    world: World, prompt_id: int, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(upstream, is_short)
    for number in range(5):
        copy_first(world, prompt_id, f"Copy {number}")
    rendered = Mock(wraps=ports.render)
    monkeypatch.setattr(ports, "render", rendered)
    read = Mock(wraps=prompt_versions.tools_of_versions)
    monkeypatch.setattr(prompt_versions, "tools_of_versions", read)

    audit = ended(world, start(world, prompt_id, probes=4))

    assert audit["status"] == "finished"
    assert rendered.call_count == 1
    assert [hashes for call in read.mock_calls if (hashes := call.kwargs["commit_hashes"])] == [
        {world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]}
    ]


def test_an_audit_holds_the_first_test_cases_only_if_they_are_long(
    world: World, prompt_id: int, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(upstream, is_short)
    first = copy_first(world, prompt_id, "Copy")
    monkeypatch.setattr(runner, "CASES_BYTES", 1)

    audit = ended(world, start(world, prompt_id, probes=4))

    assert {outcome["probe"]["testCaseId"] for outcome in audit["outcomes"]} == {first}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"probes": 0}, "probes"),
        ({"probes": 201}, "probes"),
        ({"maxCost": -1}, "maxCost"),
        ({"judgeModelName": "?"}, "judgeModelName"),
    ],
)
def test_a_wrong_body_is_refused(world: World, prompt_id: int, body: dict[str, Any], field: str) -> None:
    refused = world.post(f"/api/v1/prompts/{prompt_id}/judge-audits", json=body)

    assert refused.status_code == 400
    assert field in refused.text


def test_a_prompt_without_test_cases_has_nothing_to_audit(world: World) -> None:
    refused = world.post(f"/api/v1/prompts/{prompt(world)}/judge-audits", json={})

    assert (refused.status_code, "no test cases" in refused.text) == (400, True)


def test_another_project_sees_no_audit(world: World, prompt_id: int, upstream: Upstream) -> None:
    answers(upstream, is_short)
    path = start(world, prompt_id, probes=1)
    ended(world, path)
    stranger = new_world(world.container)

    assert stranger.get(path).status_code == 404
    assert stranger.get(f"/api/v1/prompts/{prompt_id}/judge-audits").status_code == 404
    assert stranger.post(f"/api/v1/prompts/{prompt_id}/judge-audits", json={}).status_code == 404


def test_a_cancelled_audit_does_not_run_and_describes_no_judge(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    services = world.container.services
    row = services.judge_audits.start(project_id=world.project_id, prompt_id=prompt_id, probes=4)
    path = f"/api/v1/judge-audits/{row.id}"
    assert new_world(world.container).post(f"{path}/cancel").status_code == 404

    cancelled = world.post(f"{path}/cancel")

    assert (cancelled.status_code, cancelled.json["status"], cancelled.json["figures"]) == (200, "cancelled", None)
    assert cancelled.json["sentence"] == "The judge could not be audited: It was cancelled."
    assert cancelled.json["finishedAt"]
    assert services.judge_audit_runner.run(row.id) is None
    assert upstream.requests == []
    assert world.post(f"{path}/cancel").status_code == 409
    with world.container.database.read() as connection:
        of_judge = {"prompt_id": prompt_id, "judge_model_id": row.judge_model_id}
        assert judge_audits.latest_audit(connection, **of_judge, probes=1, max_cost=1.0) is None


def test_an_audit_that_is_cancelled_while_it_runs_stays_cancelled(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    services = world.container.services
    row = services.judge_audits.start(project_id=world.project_id, prompt_id=prompt_id, probes=6)
    path = f"/api/v1/judge-audits/{row.id}"

    def decide(recorded: str, produced: str) -> str:
        if world.get(path).json["status"] == "running":
            world.post(f"{path}/cancel")
        return "passed"

    answers(upstream, decide)
    services.judge_audit_runner.run(row.id)

    audit = world.get(path).json
    assert (audit["status"], audit["figures"], audit["error"]) == ("cancelled", None, "It was cancelled.")


def test_an_audit_knows_the_tools_that_only_the_prompt_defines(
    world: World, prompt_id: int, monkeypatch: pytest.MonkeyPatch, upstream: Upstream
) -> None:
    """Otherwise it plants errors that are none, such as an argument that is the default and is left out."""
    answers(upstream, lambda recorded, produced: "passed")
    schema = {"type": "object", "properties": {"city": {"type": "string", "default": "Rome"}}}
    config = {"tools": [{"name": "weather", "parameters": schema}]}
    assert world.patch(f"/api/v1/prompts/{prompt_id}", json={"languageModelConfig": config}).status_code == 200
    drawn = Mock(wraps=draw_probes)
    monkeypatch.setattr(runner, "draw_probes", drawn)

    assert ended(world, start(world, prompt_id))["status"] == "finished"

    [[probed]] = [call.args[0] for call in drawn.call_args_list]
    assert [(tool.name, tool.parameters) for tool in probed.tools] == [("weather", schema)]
