"""The form of a test case sends a change that the API accepts: only what was changed."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest

from app.models.cases import put_proposals
from app.models.organizations import Role
from tests.integration.replays.recording import make_case, prompt, record, tool
from tests.integration.web.conftest import Browser
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.world import World

MAIL = RecordedCall("send_mail", {"to": "ada@example.org", "body": "Your order is on its way"}, {"sent": True})
TURN = RecordedTurn("Tell Ada.", "I wrote to Ada.", (RecordedCall("get_order", {"id": "A-1"}, {"state": "on"}), MAIL))
RULES: dict[str, Any] = {
    "send_mail": {
        "effect": "write",
        "maxCalls": 2,
        "result": {"sent": [True, "ä\n"]},
        "onMissing": "static",
        "arguments": {
            "/body": "facts",
            "/to": {"match": "regex", "value": "^a\n"},
            "/n": {"match": "number", "tolerance": 0.5},
            "": {"match": "one_of", "values": [1, "x", None]},
        },
    },
    "drop_all": {"never": True, "lost": "allow", "extra": "allow"},
}


@pytest.fixture
def case(world: World) -> dict[str, Any]:
    tools = {"languageModelConfig": {"tools": [tool("get_order", "id"), tool("send_mail", "to")]}}
    return make_case(world, record(world, prompt(world, "echo", **tools), [TURN]))


def fields(browser: Browser) -> dict[str, list[str]]:
    """The fields of the form of the test case on the page, as a browser would send them."""
    form = browser.page[browser.page.index('<form class="case"') :].partition("</form>")[0]
    found: dict[str, list[str]] = {}
    pattern = (
        r'<input(?P<input>[^>]*)>|<select[^>]* name="(?P<select>[^"]*)"[^>]*>(?P<options>.*?)</select>'
        r'|<textarea[^>]* name="(?P<area>[^"]*)"[^>]*>(?P<text>.*?)</textarea>'
    )
    for match in re.finditer(pattern, form, re.DOTALL):
        if match["input"]:
            attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', match["input"]))
            ticked = " checked" in match["input"]
            if (attributes.get("type") == "checkbox" and not ticked) or attributes["name"] == "csrf":
                continue
            name, value = attributes["name"], attributes.get("value", "on")
        elif match["select"]:
            options = re.findall(r'<option value="([^"]*)"( selected)?', match["options"])
            name, value = match["select"], next((value for value, chosen in options if chosen), options[0][0])
        else:
            name, value = match["area"], match["text"].removeprefix("\n")
        found.setdefault(html.unescape(name), []).append(html.unescape(value))
    return found


def stored(world: World, case: dict[str, Any]) -> dict[str, Any]:
    """The test case as its row has it: without the rules that follow from defaults."""
    document = world.container.services.test_cases.get(project_id=world.project_id, test_case_id=case["id"]).document
    return dict(document)


def sent(admin: Browser, case: dict[str, Any], **changed: Any) -> None:
    """Send the form of the page with some fields changed; lists are rows, None is a tick that is removed."""
    path = f"{admin.base}/test-cases/{case['id']}"
    admin.open(path)
    form = fields(admin) | {name: value if isinstance(value, list) else [value] for name, value in changed.items()}
    answer = admin.send(path, **{name: value for name, value in form.items() if value != [None]})
    assert answer.status_code == 303, admin.text


def place(admin: Browser, case: dict[str, Any], name: str) -> str:
    """The beginning of the names of a tool's fields."""
    admin.open(f"{admin.base}/test-cases/{case['id']}")
    return re.search(rf'name="(tool\.\d+)\.name" value="{name}"', admin.page)[1]  # type: ignore[index]


def test_a_form_that_changes_nothing_sends_nothing(world: World, admin: Browser, case: dict[str, Any]) -> None:
    checks = [
        {"turn": 0, "step": 0, "check": {"arguments": {"/id": {"match": "ai", "value": "An order"}}}},
        {"turn": 0, "step": 2, "check": {"answer": "json_subset", "value": {"a": [1]}, "ignorePaths": ["/b c"]}},
    ]
    changed = {"tools": RULES, "steps": checks, "order": "in_order", "includedTurns": 1, "assertionValue": "x\ny"}
    assert world.patch(f"/api/v1/test-cases/{case['id']}", json=changed).status_code == 200
    before = stored(world, case)

    sent(admin, case)

    assert stored(world, case) == before
    admin.open(f"{admin.base}/test-cases/{case['id']}")
    assert "There was nothing to save." in admin.text


def test_effects_stay_proposed_until_a_person_sets_them(world: World, admin: Browser, case: dict[str, Any]) -> None:
    sent(admin, case, name="Renamed")

    after = world.get(f"/api/v1/test-cases/{case['id']}").json
    assert after["name"] == "Renamed"
    assert {name: each["effectFrom"] for name, each in after["tools"].items()} == {
        "get_order": "name",
        "send_mail": "unknown",
    }
    assert "Default: reads, by the first word of its name" in admin.open(f"{admin.base}/test-cases/{case['id']}").text


def test_a_viewer_reads_that_they_cannot_save(member_of: Callable[[Role], Browser], case: dict[str, Any]) -> None:
    viewer = member_of(Role.VIEWER)

    viewer.open(f"{viewer.base}/test-cases/{case['id']}")
    assert "saving requires the role member" in viewer.text

    viewer.open(f"{viewer.base}/prompts/{case['promptId']}/edit")
    assert "Asking the draft requires the role member" in viewer.text
    assert "Ask the draft something" not in viewer.text


def test_the_rules_of_a_tool_are_set_and_put_back(world: World, admin: Browser, case: dict[str, Any]) -> None:
    field = place(admin, case, "send_mail")
    path = f"/api/v1/test-cases/{case['id']}"
    rules: dict[str, Any] = {"effect": "read", "extra": "fail", "lost": "allow", "max_calls": "3", "never": "on"}
    rules |= {"on_missing": "static", "result": '{"sent": false}'}
    paths = {"path": ["/body", "/to", "/subject"], "match": ["text", "one_of", "prose"]}
    matchers = paths | {"option": ["", '["ada@example.org"]', ""]}

    sent(admin, case, **{f"{field}.{name}": value for name, value in (rules | matchers).items()})

    assert world.get(path).json["tools"]["send_mail"] == {
        "effect": "read",
        "effectFrom": "test_case",
        "proposedEffect": None,
        "extra": "fail",
        "maxCalls": 3,
        "never": True,
        "lost": "allow",
        "onMissing": "static",
        "result": {"sent": False},
        "arguments": {"/body": "text", "/to": {"match": "one_of", "values": ["ada@example.org"]}},
        "kinds": {"/subject": "prose"},
        "idempotent": False,
    }
    blank: dict[str, Any] = dict.fromkeys((*rules, *matchers), "") | {"never": None, "lost": "fail"}

    sent(admin, case, **{f"{field}.{name}": value for name, value in blank.items()})

    assert "send_mail" not in stored(world, case).get("tools", {})


def test_a_tool_that_nothing_knows_may_be_forbidden(world: World, admin: Browser, case: dict[str, Any]) -> None:
    sent(admin, case, **{"tool.2.name": "drop_all", "tool.2.never": "on"})

    assert stored(world, case)["tools"]["drop_all"] == {"never": True}


def test_arguments_of_one_step_have_separate_matchers(world: World, admin: Browser, case: dict[str, Any]) -> None:
    rows: dict[str, Any] = {"path": ["/to", ""], "match": ["text", ""], "option": ["", ""]}

    sent(admin, case, **{f"step.0.1.{name}": value for name, value in rows.items()})

    check = stored(world, case)["turns"][0]["steps"][1]["check"]
    assert check["arguments"] == {"/to": "text"}
    sent(admin, case, **{"step.0.1.check": "ignore"})
    assert stored(world, case)["turns"][0]["steps"][1]["check"]["arguments"] == "ignore"


def test_the_settings_of_the_gate_are_sent(world: World, admin: Browser, case: dict[str, Any]) -> None:
    sent(admin, case, order="any", on_missing="nearest", judge="never", **{"step.0.2.check": "facts"})

    after = world.get(f"/api/v1/test-cases/{case['id']}").json
    assert (after["order"], after["onMissing"], after["judge"]) == ("any", "nearest", "never")
    assert after["turns"][0]["steps"][2]["check"]["answer"] == "facts"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"max_calls": "many"}, "tools.send_mail.maxCalls: Must be a number."),
        ({"result": "{"}, "tools.send_mail.result: Must be JSON."),
        ({"effect": "colour"}, "tools.send_mail.effect: "),
        ({"on_missing": "simulate"}, "tools.send_mail.onMissing: simulate is for tools that read"),
        ({"path": ["/x"], "match": [""], "option": [""]}, "tools.send_mail.arguments./x: Choose how it is compared."),
        ({"path": ["x"], "match": ["any"], "option": [""]}, "tools.send_mail.arguments.x: "),
        ({"path": ["/x"], "match": ["one_of"], "option": ["a, b"]}, "tools.send_mail.arguments./x: Must be JSON."),
    ],
)
def test_a_rule_that_cannot_be_used_is_shown_again_with_its_name(
    world: World, admin: Browser, case: dict[str, Any], changed: dict[str, Any], words: str
) -> None:
    field, path = place(admin, case, "send_mail"), f"{admin.base}/test-cases/{case['id']}"
    form = fields(admin) | {f"{field}.{name}": value for name, value in changed.items()}

    answer = admin.send(path, **form)

    assert answer.status_code == 400
    assert words in admin.text
    again = fields(admin)
    for name, value in changed.items():
        assert again[f"{field}.{name}"][0] == (value[0] if isinstance(value, list) else value) or name == "effect"


def test_a_test_case_of_a_session_is_made_with_the_rules_of_its_form(world: World, admin: Browser) -> None:
    session_id = record(world, prompt(world, "echo"), [TURN])
    path = f"{admin.base}/sessions/{session_id}/test-case"
    admin.open(path)
    field = re.search(r'name="(tool\.\d+)\.name" value="send_mail"', admin.page)[1]  # type: ignore[index]

    made = admin.send(path, **(fields(admin) | {f"{field}.max_calls": "1"}))

    tools = world.get(f"/api/v1{made.headers['location'].removeprefix(admin.base)}").json["tools"]
    assert (tools["send_mail"]["maxCalls"], tools["send_mail"]["kinds"]) == (1, {"/body": "prose"})


@pytest.fixture
def long(world: World) -> str:
    """A session of more turns than the form shows unfolded."""
    turns = [
        RecordedTurn(f"Question {n}", "word " * 200, (RecordedCall("get_order", {"id": n}, {}),)) for n in range(40)
    ]
    return record(world, prompt(world, "echo"), turns)


def test_a_folded_turn_that_is_never_opened_keeps_its_checks(world: World, admin: Browser, long: str) -> None:
    case = make_case(world, long)
    check = {"turn": 39, "step": 0, "check": {"arguments": {"/id": "any"}, "ignorePaths": ["/at"]}}
    assert world.patch(f"/api/v1/test-cases/{case['id']}", json={"steps": [check]}).status_code == 200
    before = stored(world, case)

    sent(admin, case)
    assert stored(world, case) == before

    sent(admin, case, **{"step.39.1.enabled": None})
    turn = stored(world, case)["turns"][39]
    assert turn["steps"][0] == before["turns"][39]["steps"][0]
    assert turn["steps"][1]["check"]["enabled"] is False


def test_a_folded_turn_is_shown_with_what_was_sent_and_nothing_is_saved_yet(
    world: World, admin: Browser, long: str
) -> None:
    path = f"{admin.base}/sessions/{long}/test-case"
    admin.open(path)
    assert "step.39.0.path" not in fields(admin)
    form = fields(admin) | {"name": ["Half done"], "open": ["40"]}
    del form["step.38.1.enabled"]

    assert admin.send(path, **form).status_code == 200

    again = fields(admin)
    assert (again["name"], again["opened"]) == (["Half done"], ["40"])
    assert "step.38.1.enabled" not in again
    assert "step.39.0.path" in again
    assert "step.38.0.path" not in again
    made = admin.send(path, **again)
    case = world.get(f"/api/v1{made.headers['location'].removeprefix(admin.base)}").json
    assert case["name"] == "Half done"
    assert [step["check"]["enabled"] for step in case["turns"][38]["steps"]] == [True, False]


@pytest.mark.parametrize("turn", ["0", "x", "9" * 30])
def test_a_turn_that_is_no_number_is_refused(world: World, admin: Browser, long: str, turn: str) -> None:
    assert admin.open(f"{admin.base}/sessions/{long}/test-case?turn={turn}").status_code == 400


def test_a_page_of_one_turn_changes_only_this_turn(world: World, admin: Browser, long: str) -> None:
    case = make_case(world, long)
    path = f"{admin.base}/test-cases/{case['id']}"

    admin.open(f"{path}?turn=39&correct=1")

    form = fields(admin)
    assert {name for name in form if name.startswith("step.")} == {name for name in form if name.startswith("step.38.")}
    saved = admin.send(path, **(form | {"user.38": ["Another question"]}))
    assert saved.headers["Location"] == f"{path}?turn=39#turn-39"
    before, after = case["turns"], stored(world, case)["turns"]
    assert (after[38]["user"], after[38]["steps"]) == ("Another question", before[38]["steps"])
    assert [turn for n, turn in enumerate(after) if n != 38] == [turn for n, turn in enumerate(before) if n != 38]


def test_another_question_does_not_correct_what_a_doubtful_session_demands(world: World, admin: Browser) -> None:
    session_id = record(world, prompt(world, "echo"), [TURN])
    score = {"name": "helpful", "value": 0.1, "target": {"sessionId": session_id}}
    assert world.post("/api/v1/scores", json={"scores": [score]}).status_code == 200
    path = f"{admin.base}/sessions/{session_id}/test-case"
    admin.open(path)

    asked = admin.send(path, **(fields(admin) | {"user.0": ["Write to Ada."]}))

    assert asked.status_code == 200
    assert 'id="as-recorded"' in admin.page
    assert fields(admin)["user.0"] == ["Write to Ada."]
    made = admin.send(path, **(fields(admin) | {"as_recorded": ["1"]}))
    case = world.get(f"/api/v1{made.headers['location'].removeprefix(admin.base)}").json
    assert [turn["user"] for turn in case["turns"]] == ["Write to Ada."]


def test_the_only_turn_of_a_page_is_copied(world: World, admin: Browser, long: str) -> None:
    case = make_case(world, long)
    path = f"{admin.base}/test-cases/{case['id']}"
    admin.open(f"{path}?turn=39")
    assert "Copy only this turn" in admin.page

    copied = admin.send(f"{path}/copy", turn="39")

    copy = world.get(f"/api/v1{copied.headers['Location'].removeprefix(admin.base)}").json
    assert [turn["user"] for turn in copy["turns"]] == ["Question 38"]
    assert len(copy["turns"][0]["earlier"]) == 3 * 38
    assert admin.send(f"{path}/copy", turn="x").status_code == 400
    assert admin.send(f"{path}/copy", turn="41").status_code == 400


def test_all_turns_are_shown_again_without_a_number(world: World, admin: Browser, long: str) -> None:
    case = make_case(world, long)

    assert admin.open(f"{admin.base}/test-cases/{case['id']}?turn=").status_code == 200
    assert "Copy only this turn" not in admin.page
    assert 'id="turn-40"' in admin.page


def test_variants_are_added_run_and_removed(world: World, admin: Browser, case: dict[str, Any]) -> None:
    path = f"/api/v1/test-cases/{case['id']}"
    row = {"variant": "mail fails", "tool": "send_mail", "call": "1", "kind": "refused", "message": "full"}
    fault = {"tool": "send_mail", "call": 0, "kind": "refused", "message": "full"}

    sent(admin, case, **{f"fault.{name}": [value] for name, value in row.items()})
    assert world.get(path).json["variants"] == [{"name": "mail fails", "faults": [fault]}]
    before = stored(world, case)
    sent(admin, case)
    assert stored(world, case) == before

    started = admin.send(f"{admin.base}/test-cases/{case['id']}/replay", variant="mail fails", judging="never")
    assert started.status_code == 303
    admin.open(started.headers["Location"])
    assert "· mail fails" in admin.page
    assert "call 1 of <code>send_mail</code> (refuses the call)" in admin.page

    sent(admin, case, **{"fault.variant": ["", ""]})
    assert world.get(path).json["variants"] == []


def test_a_matcher_that_there_is_none_of_is_refused(admin: Browser, case: dict[str, Any]) -> None:
    field, path = place(admin, case, "send_mail"), f"{admin.base}/test-cases/{case['id']}"
    chosen = {f"{field}.path": ["/x"], f"{field}.match": ["near"], f"{field}.option": [""]}

    assert admin.send(path, **(fields(admin) | chosen)).status_code == 400
    assert "tools.send_mail.arguments./x: must be one of" in admin.text


def test_calls_fail_in_one_replay_and_again_in_the_next(world: World, admin: Browser, case: dict[str, Any]) -> None:
    path = f"{admin.base}/test-cases/{case['id']}/replay"
    admin.open(path)
    row = {"tool": "send_mail", "call": "2", "kind": "refused", "message": "full"}
    fields = {f"fault.{name}": [value] for name, value in row.items()}

    refused = admin.send(path, **fields, judging="never")
    assert refused.status_code == 400
    assert "faults.0.call: there are 1, counted from 0" in admin.text
    assert 'value="send_mail" class="code"' in admin.page
    assert admin.send(path, **(fields | {"fault.tool": [" "]})).status_code == 400
    assert "Name the tool of at least one call that fails." in admin.text

    started = admin.send(path, **(fields | {"fault.call": ["1"]}), judging="never")
    assert started.status_code == 303
    admin.open(started.headers["Location"])
    assert "call 1 of <code>send_mail</code> (refuses the call)" in admin.page
    faults = [{"tool": "send_mail", "call": 0, "kind": "refused", "message": "full"}]
    (replay,) = world.get(f"/api/v1/prompts/{case['promptId']}/replays").json["replays"]
    assert (replay["faults"], replay["variant"]) == (faults, None)
    assert world.get(f"/api/v1/test-cases/{case['id']}").json["variants"] == []


def test_a_fault_of_a_call_that_is_not_recorded_is_shown_again_with_its_path(
    world: World, admin: Browser, case: dict[str, Any]
) -> None:
    path = f"{admin.base}/test-cases/{case['id']}"
    admin.open(path)
    row = {"variant": "wrong", "tool": "send_mail", "call": "2", "kind": "empty", "message": ""}

    refused = admin.send(path, **(fields(admin) | {f"fault.{name}": [value] for name, value in row.items()}))

    assert refused.status_code == 400
    assert "variants.0.faults.0.call: there are 1, counted from 0" in admin.text
    assert 'value="wrong"' in admin.page


def test_a_run_may_require_a_judge_or_ask_none(world: World, admin: Browser, case: dict[str, Any]) -> None:
    run_all = f"{admin.base}/prompts/{case['promptId']}/test-cases"
    admin.open(run_all)

    refused = admin.send(run_all, do="all", judging="always")
    accepted = admin.send(run_all, do="all", judging="never")

    assert (refused.status_code, accepted.status_code) == (400, 303)
    assert "judge: " in html.unescape(refused.text)


def test_the_list_shows_variants_and_what_is_played_in_part(world: World, admin: Browser, case: dict[str, Any]) -> None:
    variant = {"name": "mail fails", "faults": [{"tool": "send_mail", "call": 0, "kind": "error"}]}
    world.patch(f"/api/v1/test-cases/{case['id']}", json={"variants": [variant], "acceptPartial": True})

    admin.open(f"{admin.base}/prompts/{case['promptId']}/test-cases")

    assert "1 variant, played without all that the recorded model saw" in admin.page


def test_a_person_confirms_a_proposed_effect_with_a_tick(world: World, admin: Browser, case: dict[str, Any]) -> None:
    reason = "<b>It only shows.</b>"
    proposal = {"effect": "read", "reason": reason, "model": "gpt-4o-mini", "definition": "0" * 32}
    row = world.container.services.test_cases.get(project_id=world.project_id, test_case_id=case["id"])
    with world.container.database.write() as connection:
        put_proposals(connection, row, proposed={"send_mail": proposal, "get_order": proposal})
    path = f"/api/v1/test-cases/{case['id']}"

    sent(admin, case, name="Renamed")
    assert "It only shows." in admin.text
    assert reason not in admin.page
    assert world.get(path).json["tools"]["send_mail"]["effect"] == "write"
    sent(admin, case, confirm="read send_mail")

    after = world.get(path).json["tools"]
    assert (after["send_mail"]["effect"], after["send_mail"]["effectFrom"]) == ("read", "test_case")
    assert after["get_order"]["effectFrom"] == "name"
    assert "It only shows." not in admin.open(f"{admin.base}/test-cases/{case['id']}").text


def test_a_person_leaves_the_effect_of_a_tool_to_each_call(world: World, admin: Browser, case: dict[str, Any]) -> None:
    proposal = {"effect": "by_call", "reason": "It runs SQL.", "model": "gpt-4o-mini", "definition": "0" * 32}
    row = world.container.services.test_cases.get(project_id=world.project_id, test_case_id=case["id"])
    with world.container.database.write() as connection:
        put_proposals(connection, row, proposed={"send_mail": proposal})

    path = f"{admin.base}/test-cases/{case['id']}"
    assert "decided by each call" in admin.open(path).text
    sent(admin, case, confirm="by_call send_mail")

    assert world.get(f"/api/v1/test-cases/{case['id']}").json["tools"]["send_mail"]["effect"] == "by_call"
    assert "calls beyond the recording are allowed if they read" in admin.open(path).text


@pytest.mark.parametrize("confirmed", ["harmless send_mail", "read", "", "read get_order\nsend_mail"])
def test_a_wrong_confirmation_makes_nothing_a_read(
    world: World, admin: Browser, case: dict[str, Any], confirmed: str
) -> None:
    path = f"{admin.base}/test-cases/{case['id']}"
    admin.open(path)

    admin.send(path, **fields(admin) | {"confirm": [confirmed]})

    assert world.get(f"/api/v1/test-cases/{case['id']}").json["tools"]["send_mail"]["effect"] == "write"
