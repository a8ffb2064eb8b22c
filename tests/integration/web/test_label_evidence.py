"""The form of a label sets what its guard requires, and changes nothing that a person leaves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from typing import Any

import pytest

from app.models.organizations import Role
from app.schemas.labels import EvidenceSchema
from app.web.presenters import evidence_form
from app.web.presenters.evidence_form import SHOWN
from tests.integration.web.conftest import Browser
from tests.integration.web.test_labels import MemberOf
from tests.support.world import World

DEFAULTS = {"repeats": 9, "detect": 0.25, "alpha": 0.05, "minSighted": 0.5, "testCaseIds": None, "watchDays": None}
OTHERS: dict[str, Any] = {
    "repeats": 50,
    "detect": 0.1234567,
    "alpha": 1e-12,
    "minSighted": 0.070000000001,
    "watchDays": 9,
}


class Guard:
    """A prompt with two versions and three test cases, and its label `production`, which is guarded."""

    def __init__(self, world: World, **evidence: Any) -> None:
        self.world = world
        prompt_id = world.prompt()
        self.path = f"/api/v1/prompts/{prompt_id}"
        self.first = world.post(f"{self.path}/commit", json={"message": "First"}).json["commitHash"]
        world.patch(self.path, json={"value": "Be brief."})
        self.second = world.post(f"{self.path}/commit", json={"message": "Second"}).json["commitHash"]
        self.cases = [self._case(name) for name in ("One", "Two", "Three")]
        self.put(**({"evidence": evidence} if evidence else {}))
        self.page = f"/projects/{world.project_id}/prompts/{prompt_id}/labels"

    def _case(self, question: str) -> int:
        answer = self.world.post(f"{self.path}/test-cases", json={"question": question, "expectedAnswer": question})
        case_id: int = answer.json["id"]
        return case_id

    def put(self, **move: Any) -> None:
        body = {"commitHash": self.first, "guarded": True, **move}
        assert self.world.put(f"{self.path}/labels/production", json=body).status_code == 200

    @property
    def evidence(self) -> dict[str, Any]:
        evidence: dict[str, Any] = self.world.get(f"{self.path}/labels/production").json["evidence"]
        return evidence

    def form(self, browser: Browser) -> dict[str, list[str]]:
        """Open the form and return its fields."""
        assert browser.open(f"{self.page}?label=production").status_code == 200
        return fields_of(browser)

    def send(self, browser: Browser, form: dict[str, list[str]], **changes: str | list[str]) -> int:
        """Send the form with the present version and these changes, and return the status."""
        sent: dict[str, Any] = {**form, "version": [self.first], **changes}
        return browser.send(self.page, **{name: value for name, value in sent.items() if name != "csrf"}).status_code


def fields_of(browser: Browser) -> dict[str, list[str]]:
    """Return the values of the form of the page, as a browser would send them."""
    form = re.search(r'<form class="stack".*?</form>', browser.page, re.DOTALL)
    assert form is not None
    fields: dict[str, list[str]] = {}
    for tag in re.findall(r"<input[^>]*>", form[0]):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if attributes.get("type") != "checkbox" or " checked" in tag:
            fields.setdefault(attributes["name"], []).append(unescape(attributes["value"]))
    return fields


def test_every_field_of_the_evidence_is_in_the_form(world: World, admin: Browser) -> None:
    guard = Guard(world)

    guard.form(admin)

    names = {field.data_key for field in EvidenceSchema().fields.values()}
    assert names == DEFAULTS.keys()
    assert names <= set(re.findall(r'<input[^>]* name="([^"]*)"', admin.page))
    assert {f"{SHOWN}{name}" for name in names} <= set(re.findall(r'type="hidden" name="([^"]*)"', admin.page))


def test_a_form_that_is_sent_as_it_was_shown_keeps_the_evidence(world: World, admin: Browser) -> None:
    guard = Guard(world, **OTHERS)
    guard.put(evidence={**OTHERS, "testCaseIds": [guard.cases[2], guard.cases[0], 10**18]})
    before = guard.evidence

    form = guard.form(admin)
    assert guard.send(admin, form, version=guard.second, share="10", override="A trial.") == 303

    assert guard.evidence == before
    assert form["testCaseIds"] == [str(guard.cases[2]), str(guard.cases[0]), str(10**18)]
    assert world.get(f"{guard.path}/labels/production").json["split"]["share"] == 0.1


@pytest.mark.parametrize(
    ("field", "text", "name", "value"),
    [
        ("detect", "10", "detect", 0.1),
        ("detect", "", "detect", 0.25),
        ("alpha", " 7.5 ", "alpha", 0.075),
        ("alpha", "", "alpha", 0.05),
        ("minSighted", "0", "minSighted", 0),
        ("minSighted", "", "minSighted", 0.5),
        ("repeats", "12", "repeats", 12),
        ("watchDays", "3", "watchDays", 3),
        ("watchDays", "", "watchDays", None),
    ],
)
def test_a_changed_field_changes_nothing_else(
    world: World, admin: Browser, field: str, text: str, name: str, value: float
) -> None:
    guard = Guard(world, **OTHERS)
    guard.put(evidence={**OTHERS, "testCaseIds": guard.cases[:1]})
    before = guard.evidence

    assert guard.send(admin, guard.form(admin), **{field: text}) == 303

    assert guard.evidence == {**before, name: value}


def test_repeats_follow_the_failure_rate_unless_a_person_sets_them(world: World, admin: Browser) -> None:
    guard = Guard(world)

    assert guard.send(admin, guard.form(admin), detect="50") == 303
    assert guard.evidence == {**DEFAULTS, "detect": 0.5, "repeats": 4}
    assert guard.send(admin, guard.form(admin), repeats="30") == 303
    assert guard.send(admin, guard.form(admin), detect="25") == 303
    assert guard.evidence == {**DEFAULTS, "repeats": 30}
    assert guard.send(admin, guard.form(admin), repeats="") == 303
    assert guard.evidence == DEFAULTS


def test_test_cases_are_ticked_and_unticked(world: World, admin: Browser) -> None:
    guard = Guard(world)

    ticked = [str(case_id) for case_id in guard.cases[:2]]
    assert guard.send(admin, guard.form(admin), testCaseIds=ticked) == 303
    assert guard.evidence == {**DEFAULTS, "testCaseIds": guard.cases[:2]}
    world.delete(f"/api/v1/test-cases/{guard.cases[0]}")
    form = guard.form(admin)
    assert "Ids of other test cases" in admin.text
    assert guard.send(admin, form, testCaseIds=[ticked[1], f"{ticked[0]}, 987654321 {ticked[1]}"]) == 303
    assert sorted(guard.evidence["testCaseIds"]) == sorted([*guard.cases[:2], 987654321])
    assert guard.send(admin, guard.form(admin), testCaseIds=[""]) == 303
    assert guard.evidence == DEFAULTS


def test_what_the_api_changes_while_a_person_looks_at_the_form_is_kept(world: World, admin: Browser) -> None:
    guard = Guard(world)
    form = guard.form(admin)

    guard.put(evidence={"repeats": 60, "testCaseIds": guard.cases[:1]})
    assert guard.send(admin, form) == 303
    assert guard.evidence == {**DEFAULTS, "repeats": 60, "testCaseIds": guard.cases[:1]}
    assert guard.send(admin, form, alpha="20") == 303

    assert guard.evidence == {**DEFAULTS, "repeats": 60, "testCaseIds": guard.cases[:1], "alpha": 0.2}


def test_a_new_label_is_made_with_its_guard(world: World, admin: Browser) -> None:
    guard = Guard(world)
    admin.open(guard.page)
    form = fields_of(admin)

    assert guard.send(admin, form, label="staging", guard="on", minSighted="80") == 303

    staging = world.get(f"{guard.path}/labels/staging").json
    assert (staging["guarded"], staging["evidence"]) == (True, {**DEFAULTS, "minSighted": 0.8})


@pytest.mark.parametrize(
    ("field", "text", "problem"),
    [
        ("detect", "often", "evidence.detect: Must be a number."),
        ("detect", "nan", "evidence.detect: Must be a number."),
        ("detect", "1e999", "evidence.detect: Must be a number."),
        ("detect", "100", "evidence.detect: Must be greater than 0 and less than 1."),
        ("alpha", "0", "evidence.alpha: Must be greater than 0 and less than 1."),
        ("minSighted", "101", "evidence.minSighted: Must be greater than or equal to 0 and less than or equal to 1."),
        ("repeats", "9.5", "evidence.repeats: Must be a whole number."),
        ("repeats", "101", "evidence.repeats: Must be greater than or equal to 1 and less than or equal to 100."),
        ("testCaseIds", '<b>"😀', "evidence.testCaseIds.0: Must be an integer."),
        ("testCaseIds", "9" * 19, "evidence.testCaseIds.0: Must be a positive integer of at most 63 bits."),
        ("testCaseIds", ",".join(map(str, range(1, 1002))), "evidence.testCaseIds: Must have 1 to 1000 entries."),
    ],
)
def test_a_bad_value_is_refused_and_shown_with_what_was_typed(
    world: World, admin: Browser, field: str, text: str, problem: str
) -> None:
    guard = Guard(world)
    form = guard.form(admin)

    assert guard.send(admin, form, **{field: text, "share": "12"}) == 400

    assert problem in unescape(admin.page)
    again = fields_of(admin)
    shown = [case_id for typed in again[field] for case_id in typed.split(", ")]
    assert len(shown) == text.count(",") + 1
    assert again["share"] == ["12"]
    assert re.search(r"<details open>\s*<summary>What the guard requires", admin.page)
    assert guard.evidence == DEFAULTS
    assert guard.send(admin, {**again, field: form.get(field, [])}, share="") == 303
    assert guard.evidence == DEFAULTS


def test_only_an_admin_requires_less(world: World, member_of: MemberOf) -> None:
    guard, member = Guard(world), member_of(Role.MEMBER)

    assert guard.send(member, guard.form(member), minSighted="10") == 403
    assert "evidence: Requiring less evidence" in member.text
    assert fields_of(member)["minSighted"] == ["10"]
    assert guard.send(member, guard.form(member), minSighted="90") == 303

    assert guard.evidence == {**DEFAULTS, "minSighted": 0.9}


def test_the_ids_of_a_guard_are_not_read_again_for_each_listed_test_case(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard, read, ids_of = Guard(world), list[str](), evidence_form._ids
    guard.put(evidence={"testCaseIds": guard.cases[:2]})

    def noting(texts: Iterable[str]) -> list[str]:
        ids = ids_of(texts)
        read.extend(ids)
        return ids

    monkeypatch.setattr(evidence_form, "_ids", noting)
    counts = []
    for _ in range(2):
        guard.form(admin)
        counts.append(len(read))
        read.clear()
        guard.cases += [guard._case(f"Case {number}") for number in range(5)]

    assert counts[0] == counts[1] > 0
    assert admin.page.count(" checked> ") == 2
