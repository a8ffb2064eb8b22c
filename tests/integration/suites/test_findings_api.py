"""The API of findings: what went wrong, grouped, and worked off."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.services.suites import findings, known_findings
from app.services.suites.findings import FindingService
from tests.integration.suites.sending import make_fingerprints, send, turn
from tests.support.conversations import SECOND_NS, RecordedTurn
from tests.support.world import World

GOOD = [turn("Where is my parcel?", "search_orders")]
REFUND = [turn("Please refund the broken lamp.", "refund_order", failed="refund_order")]
VOUCHER = [turn("My voucher was declined.", "refund_order", failed="refund_order")]
REFUNDED = [turn("Please refund the chair.", "refund_order")]


def ago(**time: float) -> int:
    """Nanoseconds of a time before now."""
    return int((datetime.now(UTC) - timedelta(**time)).timestamp()) * SECOND_NS


def traffic(world: World, prompt_id: int, turns: list[RecordedTurn], count: int, name: str, **time: float) -> None:
    for index in range(count):
        send(world, prompt_id, f"{name}-{index}", turns, start_ns=ago(**(time or {"hours": 1})))


def listed(world: World, prompt_id: int, **query: Any) -> list[dict[str, Any]]:
    make_fingerprints(world)
    answer = world.get(f"/api/v1/prompts/{prompt_id}/findings", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json["findings"]
    return found


def change(world: World, prompt_id: int, finding: dict[str, Any], **body: Any) -> dict[str, Any]:
    answer = world.patch(f"/api/v1/prompts/{prompt_id}/findings/{finding['id']}", json=body)
    assert answer.status_code == 200, answer.text
    changed: dict[str, Any] = answer.json["finding"]
    return changed


def score(world: World, prompt_id: int, conversation: str, value: object, name: str = "helpful") -> None:
    target = {"promptId": prompt_id, "conversationId": conversation}
    answer = world.post("/api/v1/scores", json={"name": name, "value": value, "target": target})
    assert answer.status_code == 201, answer.text


def test_sessions_that_went_wrong_are_grouped_by_what_went_wrong_and_by_their_words(world: World) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, GOOD, 6, "good")
    traffic(world, prompt_id, REFUNDED, 5, "refunded")
    traffic(world, prompt_id, VOUCHER, 4, "voucher")
    traffic(world, prompt_id, REFUND, 1, "refund")
    score(world, prompt_id, "good-0", 0.2)
    found = listed(world, prompt_id)
    assert {entry["title"]: entry["sessions"] for entry in found} == {
        "`refund_order` fails, in sessions that are about \u201cdeclined\u201d": 4,
        "`refund_order` fails": 1,
        "The score \u201chelpful\u201d is low": 1,
    }
    first = found[0]
    assert (first["problem"], first["value"], first["state"]) == ("failed_tool", "refund_order", "open")
    assert (first["share"], first["recent"], first["before"], first["trend"]) == (0.25, 4, 0, "steady")
    assert (len(first["daily"]), sum(first["daily"])) == (30, 4)


def test_a_finding_leads_to_its_sessions_its_test_cases_and_the_experiment_that_played_them(world: World) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 2, "refund")
    (found,) = listed(world, prompt_id)
    address = f"/api/v1/prompts/{prompt_id}/findings/{found['id']}"
    shown = world.get(address).json
    assert shown["finding"] == found
    assert len(shown["sessionIds"]) == 2
    assert found["example"] in shown["sessionIds"]
    assert (shown["testCases"], shown["experimentId"], shown["verdict"]) == ([], None, None)
    made = world.post(f"/api/v1/sessions/{found['example']}/test-cases", json={"name": "Refund"})
    assert made.status_code == 201, made.text
    assert world.get(address).json["testCases"] == [{"testCaseId": made.json["id"], "name": "Refund", "class": None}]


def test_a_solved_finding_that_comes_back_is_open_again(world: World) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 2, "refund")
    (found,) = listed(world, prompt_id)
    commit = world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "Refund again"}).json["commitHash"]
    solved = change(world, prompt_id, found, state="solved")
    assert (solved["state"], solved["reopened"], solved["solvedVersion"]) == ("solved", False, commit)
    assert listed(world, prompt_id, state="solved") == [solved]
    assert listed(world, prompt_id, state="open") == []
    traffic(world, prompt_id, REFUND, 1, "later", hours=-1)
    (again,) = listed(world, prompt_id)
    assert (again["state"], again["reopened"], again["sessions"]) == ("open", True, 3)
    reset = change(world, prompt_id, again, state="in_work")
    assert (reset["state"], reset["reopened"], reset["solvedAt"]) == ("in_work", False, None)


def test_a_member_works_on_a_finding(world: World) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 1, "refund")
    (found,) = listed(world, prompt_id)
    email = f"worker{world.organization_id}@example.com"
    world.container.services.accounts.ensure_admin(
        organization_id=world.organization_id, email=email, password="a long enough password"
    )
    assert change(world, prompt_id, found, assignee=email.upper())["assignee"] == email
    assert change(world, prompt_id, found, state="in_work")["assignee"] == email
    assert change(world, prompt_id, found, assignee=None)["assignee"] is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"state": "gone"}, "state: Must be one of"),
        ({"state": "open", "solvedVersion": "ab"}, "solvedVersion: Send it with the state solved."),
        ({"state": "solved", "solvedVersion": "ab"}, "solvedVersion: The prompt has no such version."),
        ({"assignee": "stranger@example.com"}, "assignee: The organization has no member with this e-mail address."),
        ({"assignee": ""}, "assignee"),
    ],
)
def test_a_wrong_change_is_refused(world: World, body: dict[str, Any], message: str) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 1, "refund")
    (found,) = listed(world, prompt_id)
    answer = world.patch(f"/api/v1/prompts/{prompt_id}/findings/{found['id']}", json=body)
    assert (answer.status_code, message in answer.json["error"]) == (400, True), answer.text


def test_an_unknown_finding_is_not_found(world: World) -> None:
    prompt_id = world.prompt()
    for id_ in ("0" * 32, "x"):
        assert world.get(f"/api/v1/prompts/{prompt_id}/findings/{id_}").status_code == 404
    assert world.patch(f"/api/v1/prompts/{prompt_id}/findings/{'0' * 32}", json={"state": "open"}).status_code == 404


def test_a_decided_finding_stays_without_sessions_until_there_is_no_room(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_findings, "KNOWN_MAX", 1)
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 1, "refund")
    score(world, prompt_id, "refund-0", 0.2)
    (first,) = listed(world, prompt_id)
    change(world, prompt_id, first, state="in_work")
    session = world.get(f"/api/v1/prompts/{prompt_id}/findings/{first['id']}").json["sessionIds"][0]
    assert world.delete(f"/api/v1/sessions/{session}").status_code == 204
    (kept,) = listed(world, prompt_id)
    assert (kept["id"], kept["sessions"], kept["example"], kept["state"]) == (first["id"], 0, None, "in_work")
    traffic(world, prompt_id, [turn("Where?", "find", failed="find")], 1, "other")
    other = listed(world, prompt_id)[0]
    refused = world.patch(f"/api/v1/prompts/{prompt_id}/findings/{other['id']}", json={"state": "in_work"})
    assert refused.status_code == 400, refused.text
    change(world, prompt_id, kept, state="solved")
    change(world, prompt_id, other, state="in_work")
    assert [entry["id"] for entry in listed(world, prompt_id)] == [other["id"]]


def test_the_next_session_is_known_without_reading_all_sessions_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "QUEUE_MAX", 2)
    prompt_id = world.prompt()
    for hours in range(1, 5):
        traffic(world, prompt_id, REFUND, 1, f"refund-{hours}", hours=hours)
    (found,) = listed(world, prompt_id)
    reads: list[int] = []
    read = FindingService._read

    def counted(service: FindingService, project_id: int, prompt_id: int, days: int) -> findings.FindingList:
        reads.append(prompt_id)
        return read(service, project_id, prompt_id, days)

    monkeypatch.setattr(FindingService, "_read", counted)
    service, which = world.container.services.findings, {"project_id": world.project_id, "prompt_id": prompt_id}
    samples = service._find(**which, finding_id=found["id"]).sessions

    def after(index: int, step: int = 1) -> str | None:
        place = (samples[index].start_ns, samples[index].id)
        return service.after(**which, finding_id=found["id"], session=place, step=step)

    reads.clear()
    assert [after(0), after(1, -1), len(reads)] == [samples[1].id, samples[0].id, 1]
    assert [after(1), after(2), after(3)] == [samples[2].id, samples[3].id, None]
    assert after(0, -1) is None
