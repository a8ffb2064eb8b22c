"""The conversations next to the editor: what a question continues, which model is asked, and how its answer comes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from falcon.testing import Result
from msgspec import structs

from app.chat import Message
from app.models.organizations import Role
from app.models.runs import RunRow, StoredToolCall
from app.services.runs import RunCommand
from app.services.runs.request import NO_RESULT, conversation_after, history_of
from tests.integration.web.conftest import HTML, Browser
from tests.integration.web.test_editor import FORM, draft, edit, second_model
from tests.support import conversations
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.waiting import wait_until
from tests.support.world import World

MemberOf = Callable[[Role], Browser]
TEXT = "Be helpful."
NOT_OURS = 10**9


def row(world: World, run_id: int) -> RunRow:
    return world.container.services.runs.get(project_id=world.project_id, run_id=run_id)


def ask(world: World, browser: Browser, prompt_id: int, question: str, **fields: str) -> list[int]:
    """Send a question with the editor's form; the ids of the runs that it began, which have ended."""
    answer = edit(browser, prompt_id, do="run", question=question, **({"value": TEXT} | fields))
    assert answer.status_code == 303, browser.text
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    ids = [int(query[name][0]) for name in ("run", "beside") if name in query]
    for run_id in ids:
        wait_until(lambda run_id=run_id: row(world, run_id).finished, "the run")
    return ids


def said(world: World, run_id: int) -> list[tuple[str, str]]:
    """Return the messages that the model got before the question, and the question."""
    run = row(world, run_id)
    return [*((message.role, message.text) for message in history_of(run.request)), ("user", run.question)]


def test_a_question_goes_on_with_the_conversation_that_the_page_shows(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    [first] = ask(world, admin, prompt_id, "One")
    [second] = ask(world, admin, prompt_id, "Two", run=str(first))

    assert said(world, second) == [("user", "One"), ("assistant", "One"), ("user", "Two")]
    admin.open(f"{admin.base}/prompts/{prompt_id}/edit?run={second}")
    assert re.findall(r'<p class="text" dir="auto">(\w+)</p>', admin.page) == ["One", "One", "Two", "Two"]


def test_no_question_asks_the_last_one_again(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    [first] = ask(world, admin, prompt_id, "One")
    [second] = ask(world, admin, prompt_id, "Two", run=str(first))

    [again] = ask(world, admin, prompt_id, " ", run=str(second), value="Be brief.")

    assert said(world, again) == said(world, second)
    assert "Be brief." in (row(world, again).instruction or "")


def test_a_new_conversation_has_nothing_of_the_old_one_and_keeps_what_was_written(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    [first] = ask(world, admin, prompt_id, "One")

    answer = edit(admin, prompt_id, do="fresh", run=str(first), value="Mine")

    assert answer.status_code == 200
    assert "Mine</textarea>" in admin.page
    assert 'name="run"' not in admin.page


def test_a_version_and_another_model_answer_next_to_the_draft(world: World, admin: Browser) -> None:
    prompt_id, other = world.prompt(), second_model(world)
    edit(admin, prompt_id, do="commit", value=TEXT)
    committed = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]

    of_draft, of_version = ask(world, admin, prompt_id, "Hm?", value="Be bold.", against=f"version:{committed}")
    assert (row(world, of_draft).commit_hash, row(world, of_version).commit_hash) == (None, committed)
    assert "Be bold." in (row(world, of_draft).instruction or "")
    assert TEXT in (row(world, of_version).instruction or "")

    admin.open(f"{admin.base}/prompts/{prompt_id}/edit?run={of_draft}&beside={of_version}")
    assert f'<option value="version:{committed}" selected>' in admin.page
    _, of_model = ask(world, admin, prompt_id, "And?", run=str(of_draft), against=f"model:{other}")
    assert (row(world, of_model).model_name, row(world, of_model).commit_hash) == (other, None)
    assert said(world, of_model) == [("user", "Hm?"), ("assistant", "Hm?"), ("user", "And?")]


def test_two_conversations_go_on_each_with_its_own(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    edit(admin, prompt_id, do="commit", value=TEXT)
    committed = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    [alone] = ask(world, admin, prompt_id, "Alone")
    other = ask(world, admin, prompt_id, "Other")[0]

    left, right = ask(world, admin, prompt_id, "Now", run=str(alone), beside=str(other), against=f"version:{committed}")

    assert said(world, left)[0] == ("user", "Alone")
    assert said(world, right)[0] == ("user", "Other")


def test_there_is_no_such_version_or_model_to_ask(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()

    assert edit(admin, prompt_id, do="run", question="Hm?", against="model:no-such").status_code == 400
    assert edit(admin, prompt_id, do="run", question="Hm?", against="version:" + "0" * 64).status_code == 404
    assert edit(admin, prompt_id, do="run", question="Hm?", run=str(NOT_OURS)).status_code == 404
    assert edit(admin, prompt_id, do="run", question="Hm?", run="x").status_code == 400


def recorded(world: World, prompt_id: int) -> str:
    """The id of a session of two turns, the first with a call."""
    called = (RecordedCall("get_order", {"id": "A-1"}, {"state": "sent"}),)
    turns = (
        RecordedTurn("Where is it?", "On its way.", called, placeholders={"tone": "formal"}),
        RecordedTurn("And when?", "Tomorrow.", placeholders={"tone": "formal"}),
    )
    world.send(conversations.export(prompt_id, "talk", turns, start_ns=1_760_000_000_000_000_000))
    return str(world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"][0]["id"])


def test_a_recorded_session_is_gone_on_with(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    session_id = recorded(world, prompt_id)

    admin.open(f"{admin.base}/sessions/{session_id}")
    address = re.search(r'href="([^"]*/edit\?session=\w+)"', admin.page)[1]  # type: ignore[index]
    admin.open(address)
    assert "On its way." in admin.text
    [run_id] = ask(world, admin, prompt_id, "Thanks", session=session_id)

    assert said(world, run_id) == [
        ("user", "Where is it?"),
        ("assistant", ""),
        ("tool", '{"state": "sent"}'),
        ("assistant", "On its way."),
        ("user", "And when?"),
        ("assistant", "Tomorrow."),
        ("user", "Thanks"),
    ]


def test_a_turn_of_a_session_is_asked_again_with_its_values(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    values = [{"name": name, "content": name} for name in ("plain", "formal")]
    placeholders = [{"key": "tone", "values": values}]
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be {{tone}}.", "placeholders": placeholders})
    session_id = recorded(world, prompt_id)

    admin.open(f"{admin.base}/prompts/{prompt_id}/edit?session={session_id}&turn=2")

    assert "And when?</textarea>" in admin.page
    assert "Tomorrow." not in admin.text
    assert '<option value="formal" selected>' in admin.page
    assert "Be formal." in admin.text


def test_a_session_that_is_not_there_is_not_gone_on_with(world: World, admin: Browser) -> None:
    assert admin.open(f"{admin.base}/prompts/{world.prompt()}/edit?session={'0' * 32}").status_code == 404


def test_a_call_without_a_result_is_marked_so(world: World, admin: Browser) -> None:
    [run_id] = ask(world, admin, world.prompt(), "Look!")
    run = row(world, run_id)
    assert run.outcome is not None
    calls = structs.replace(run.outcome, tool_calls=[StoredToolCall("1", "look", {})])

    asked, _, result = conversation_after(replace(run, outcome=calls, answer=None))

    assert asked == Message("user", "Look!")
    assert result == Message("tool", NO_RESULT, tool_call_id="1")
    assert conversation_after(replace(run, outcome=None, answer=None)) == ()


def test_a_typed_result_of_a_tool_goes_to_the_model_with_the_next_question(world: World, admin: Browser) -> None:
    world.container.services.models.sync_catalogue()
    tool = {"name": "find_order", "description": "Finds an order.", "parameters": {"type": "object"}}
    new = {"name": "Orders", "value": TEXT, "languageModelName": "demo-agent", "languageModelConfig": {"tools": [tool]}}
    prompt_id = world.post("/api/v1/prompts", json=new).json["prompt"]["id"]
    fields = {"model": "demo-agent", "tools": json.dumps([tool])}
    [first] = ask(world, admin, prompt_id, "Where is A-1?", **fields)
    admin.open(f"{admin.base}/prompts/{prompt_id}/edit?run={first}")
    assert f'name="result.{first}.0"' in admin.page

    result = {f"result.{first}.0": "In Cologne.", "run": str(first)}
    [second] = ask(world, admin, prompt_id, "And when does it come?", **fields, **result)

    assert ("tool", "In Cologne.") in said(world, second)
    assert said(world, second)[-1] == ("user", "And when does it come?")
    refused = edit(admin, prompt_id, do="run", question="", value=TEXT, **fields, **result)
    assert refused.status_code == 400
    assert "Write what the user asks next" in admin.text


def test_the_events_of_a_run_come_to_its_page(world: World, admin: Browser, member_of: MemberOf) -> None:
    prompt_id = world.prompt()
    [run_id] = ask(world, admin, prompt_id, "Hello")
    path = f"{admin.base}/runs/{run_id}/events"

    events = follow(member_of(Role.VIEWER), path)

    assert events.headers["content-type"].startswith("text/event-stream")
    assert re.findall(r"^event: (\w+)", events.text, re.MULTILINE) == ["token", "done"]
    assert follow(admin, path, last="end").status_code == 204
    assert follow(admin, path, last="never").status_code == 400
    assert follow(admin, f"{admin.base}/runs/{NOT_OURS}/events").status_code == 404


def follow(browser: Browser, path: str, last: str = "") -> Result:
    headers = HTML | ({"Last-Event-ID": last} if last else {})
    return browser.world.client.simulate_get(path, headers=headers, cookies=browser.cookies)


def test_enter_commits_where_a_message_is_written_and_saves_where_none_is(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()

    edit(admin, prompt_id, do="enter", value="Be kind.", message=" ")
    assert not draft(world, prompt_id).head.committed
    edit(admin, prompt_id, do="enter", value="Be kinder.", message="Kinder")

    [version] = world.container.services.versions.list(project_id=world.project_id, prompt_id=prompt_id)
    assert version.head.message == "Kinder"
    assert draft(world, prompt_id).content.value == "Be kinder."


def test_a_missing_placeholder_is_defined_from_its_warning_and_nothing_is_stored(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    before = draft(world, prompt_id).etag

    edit(admin, prompt_id, do="render", value="In {{language}}.")
    assert 'value="define.language"' in admin.page
    edit(admin, prompt_id, do="define.language", value="In {{language}}.")

    assert 'name="placeholder.0.key" value="language"' in admin.page
    assert 'value="define.language"' not in admin.page
    assert "Has no value yet" in admin.text
    assert draft(world, prompt_id).etag == before


def test_a_placeholder_is_removed_and_the_others_stay(world: World, admin: Browser) -> None:
    rows = {
        f"placeholder.{n}.{part}": f"{key}{part}" for n, key in enumerate("abc") for part in ("key", "name", "content")
    }

    edit(admin, world.prompt(), do="remove.1", **rows)

    assert re.findall(r'name="placeholder.\d.key" value="(\w*)"', admin.page) == ["akey", "ckey", ""]


def test_a_slot_with_spaces_is_warned_about_and_the_length_is_shown(world: World, admin: Browser) -> None:
    path = f"{admin.base}/prompts/{world.prompt()}/preview"
    admin.open("/account")

    admin.send(path, **FORM | {"value": "In {{ language }} and {{tone }}, not {{ no such }}."})

    assert "With spaces it is no placeholder: write {{language}}, {{tone}}." in admin.text
    assert "characters, about 21 tokens" in admin.text


def test_the_page_of_a_run_that_waits_receives_all_that_is_yet_to_come(world: World, admin: Browser) -> None:
    runs = world.container.services.runs
    command = RunCommand(prompt_id=world.prompt(), question="Hello?", productive=False)
    run_id = runs.start(command, project_id=world.project_id).run_id
    address = f"{admin.base}/runs/{run_id}"
    admin.open(address)
    assert [f'id="{part}" data-live' in admin.page for part in ("result", "received")] == [True, True]

    runs.execute(run_id)
    admin.open(address)
    assert "data-live" not in admin.page
    assert 'id="instruction"' in admin.page


def test_a_run_becomes_a_test_case_or_a_conversation_in_the_editor(world: World, admin: Browser) -> None:
    values = [{"name": name, "content": name, "isDefault": name == "kind"} for name in ("kind", "stern")]
    new = {
        "name": "Kind",
        "languageModelName": "echo",
        "value": "Be {{tone}}.",
        "placeholders": [{"key": "tone", "values": values}],
    }
    prompt_id = world.post("/api/v1/prompts", json=new).json["prompt"]["id"]
    asked = {"id": prompt_id, "question": "Why <b>?", "productive": False, "placeholders": {"tone": "stern"}}
    run = world.post("/api/v1/prompts/run", json=asked)
    run_id = run.headers["X-Run-Id"]

    admin.open(f"{admin.base}/runs/{run_id}")
    write, edit = (re.search(rf'href="([^"]*{end}\?run={run_id})"', admin.page)[1] for end in ("new", "edit"))  # type: ignore[index]

    admin.open(write)
    assert "Why &lt;b&gt;?" in admin.page
    assert run.json["answer"] in admin.text
    assert '<option value="stern" selected>' in admin.page
    assert admin.open(f"{admin.base}/prompts/{prompt_id}/test-cases/new?run=999999").status_code == 404
    admin.open(edit)
    assert "Why &lt;b&gt;?" in admin.page


def new_case(admin: Browser, run: RunRow) -> str:
    """Open the form of a test case that begins with a run; its note about what is not in it."""
    answer = admin.open(f"{admin.base}/prompts/{run.prompt_id}/test-cases/new?run={run.id}")
    assert answer.status_code == 200
    assert run.question in admin.page
    return " ".join(admin.text.split())


def test_the_form_of_a_test_case_explains_why_a_cancelled_run_gives_no_answer(world: World, admin: Browser) -> None:
    runs, prompt_id = world.container.services.runs, world.prompt()
    command = RunCommand(prompt_id=prompt_id, question="Where is it?", productive=False)
    run_id = runs.start(command, project_id=world.project_id).run_id
    assert "The run has not ended, so it has no answer yet." in new_case(admin, row(world, run_id))
    runs.cancel(project_id=world.project_id, run_id=run_id)

    assert row(world, run_id).status == "cancelled"
    shown = new_case(admin, row(world, run_id))
    assert f"Run {run_id} gives this test case only a part." in shown
    assert "The run was cancelled, so it has no whole answer. Write the answer that you expect." in shown
    path = f"{admin.base}/prompts/{prompt_id}/test-cases/new"
    made = admin.send(path, question="Where is it?", expected="Here.", name="")
    assert made.status_code == 303
    of_another = admin.open(f"{admin.base}/prompts/{world.prompt()}/test-cases/new?run={run_id}")
    assert of_another.headers["location"] == f"{path}?run={run_id}"


def test_the_form_of_a_test_case_warns_of_what_it_leaves_out_of_a_run(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    [first] = ask(world, admin, prompt_id, "One")
    [second] = ask(world, admin, prompt_id, "Two", run=str(first))

    assert "only a part" not in new_case(admin, row(world, first))
    shown = new_case(admin, row(world, second))
    assert "The question continues a conversation, which this form leaves out: add its turns." in shown
    assert "Write the answer" not in shown
