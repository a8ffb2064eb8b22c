"""The page of a session: its conversation and what went wrong, however long it is."""

from __future__ import annotations

import base64
import html
import json
import re
from typing import Any

import pytest

from app.web.presenters.texts import WHOLE
from tests.integration.web.conftest import Browser
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.conversations import export as recorded
from tests.support.exports import export
from tests.support.operations import calls_of
from tests.support.recorded import BEGIN_NS, Turn, call, failure, message, response
from tests.support.world import World

HOSTILE = "<script>alert(1)</script>"


def stored(world: World, *turns: Turn) -> str:
    """Send the turns of one conversation; the path of its session below the project."""
    assert world.send(export(*(span for turn in turns for span in turn.spans))).status_code == 200
    entries = world.get(f"/api/v1/prompts/{turns[0].prompt_id}/logs").json["entries"]
    return f"/sessions/{entries[0]['id']}"


def words(browser: Browser) -> str:
    """The text that a person reads, with a blank between elements."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", browser.page)).split())


def conversation(prompt_id: int, turns: int) -> list[Turn]:
    """Turns of three spans in which a question is answered after a call."""
    return [
        Turn(prompt_id, number)
        .chat([message("user", f"Question {number + 1}")], [message("assistant", call(f"c{number}", "find", {}))])
        .tool("find", {"n": number}, {"found": number})
        .chat([message("user", f"Question {number + 1}")], [message("assistant", f"Answer {number + 1}")])
        for number in range(turns)
    ]


def test_the_first_question_is_the_heading_and_status_time_and_model_are_below(world: World, admin: Browser) -> None:
    path = stored(world, *conversation(world.prompt(), 2))

    admin.open(admin.base + path)

    assert re.search(r"<h1[^>]*>\s*Question 1\s*</h1>", admin.page)
    assert "Status OK Started" in words(admin)
    assert "Duration 16 min 43 s" in words(admin)
    assert "Model demo-agent" in words(admin)


def test_the_instruction_is_shown_where_it_changes_and_in_the_api(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    instructions = [f"Be kind. {HOSTILE}", f"Be kind. {HOSTILE}", "Be brief.", None]
    turns = [
        Turn(prompt_id, number).chat(
            [*([message("system", text)] if text else []), message("user", f"Question {number}")],
            [message("assistant", "Yes.")],
        )
        for number, text in enumerate(instructions)
    ]
    path = stored(world, *turns)

    session = world.get(f"/api/v1{path}").json
    assert [turn["instruction"] for turn in session["turns"]] == instructions
    admin.open(admin.base + path)
    assert re.findall(r"<h3>Instruction<", admin.page) == ["<h3>Instruction<"] * 2
    assert HOSTILE not in admin.page
    admin.open(f"{admin.base}{path}/turns/3/texts/instruction")
    assert "Be brief." in words(admin)


def test_a_model_that_failed_shows_it_where_it_failed_and_the_agent_around_it_does_not_repeat_it(
    world: World, admin: Browser
) -> None:
    refused = failure("Error code: 429 - Rate limit reached")
    agent = {"gen_ai.operation.name": "invoke_agent"}
    turn = Turn(world.prompt()).add(agent, name="invoke_agent", **refused)
    path = stored(world, turn.chat([message("user", "Where is it?")], **refused))

    admin.open(admin.base + path)

    assert "The model's call failed" in admin.text
    assert admin.text.count("Error code: 429 - Rate limit reached") == 1
    assert "invoke_agent failed" not in admin.text


def test_an_agent_that_failed_by_itself_shows_it(world: World, admin: Browser) -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    turn = Turn(world.prompt()).chat([message("user", "Hi")], [message("assistant", "Hello")])
    path = stored(world, turn.add(agent, name="invoke_agent support", **failure("Too many iterations")))

    admin.open(admin.base + path)

    assert "invoke_agent support failed" in admin.text
    assert "Too many iterations" in admin.text


def test_a_call_that_no_span_recorded_is_in_the_conversation(world: World, admin: Browser) -> None:
    asked = [message("user", "News?")]
    called = message("assistant", call("c", "web_search", {"q": "news"}))
    answered = [*asked, called, message("tool", response("c", {"hits": 3}))]
    turn = Turn(world.prompt()).chat(asked, [called]).chat(answered, [message("assistant", "Three hits.")])
    path = stored(world, turn)

    admin.open(admin.base + path)

    assert "Tool web_search from the messages" in words(admin)
    assert '"hits": 3' in admin.text


def test_a_session_with_a_failed_tool_is_not_ok(world: World, admin: Browser) -> None:
    asked = [message("user", "News?")]
    called = message("assistant", call("c", "web_search", {"q": "news"}))
    failed = [*asked, called, message("tool", response("c", "timeout") | {"is_error": True})]
    of_messages = Turn(world.prompt()).chat(asked, [called]).chat(failed, [message("assistant", "Sorry.")])
    of_span = RecordedTurn("Refund it", "Sorry.", (RecordedCall("refund", {}, error="409"),))
    prompt = world.prompt()
    assert world.send(recorded(prompt, "a", [of_span], start_ns=10**18)).status_code == 200
    (session,) = world.get(f"/api/v1/sessions?promptId={prompt}&errors=true&failedTool=refund").json["sessions"]

    for path, words_of_status in (
        (stored(world, of_messages), "Status 1 failed tool call"),
        (f"/sessions/{session['id']}", "Status 1 error"),
    ):
        admin.open(admin.base + path)
        assert words_of_status in words(admin)
        assert "Turn 1 " + words_of_status.removeprefix("Status ") in words(admin)


def test_a_long_session_shows_some_turns_and_lists_all(world: World, admin: Browser) -> None:
    path = stored(world, *conversation(world.prompt(), 25))

    admin.open(admin.base + path)
    assert (admin.page.count("<article"), admin.page.count('id="line-')) == (10, 25)
    assert "Answer 10" in admin.text
    assert "Answer 11" not in admin.text
    assert "Earlier turns" not in admin.text
    assert 'rel="next" href="?turn=11#turn-11"' in admin.page

    admin.open(f"{admin.base}{path}?turn=24")
    assert 'id="turn-21"' in admin.page
    assert "Answer 25" in admin.text
    assert 'rel="prev" href="?turn=20#turn-20"' in admin.page
    assert "Later turns" not in admin.text


@pytest.mark.parametrize("turn", ["26", "x", "0", "9" * 19])
def test_a_turn_that_is_not_there_is_reported(world: World, admin: Browser, turn: str) -> None:
    path = stored(world, *conversation(world.prompt(), 25))

    assert admin.open(f"{admin.base}{path}?turn={turn}").status_code in (400, 404)


def test_parts_show_the_same_turns_as_the_whole_session(world: World) -> None:
    prompt_id = world.prompt()
    waiting = Turn(prompt_id, 9).chat(
        [message("user", "Buy it")], [message("assistant", call("late", "approve", {"sum": 5}))]
    )
    approved = [
        message("user", "Buy it"),
        message("assistant", call("late", "approve", {"sum": 5})),
        message("tool", response("late", "approved")),
        message("user", "Well?"),
    ]
    turns = conversation(prompt_id, 24)
    turns[9] = waiting
    turns[10] = Turn(prompt_id, 10).chat(approved, [message("assistant", "Bought.")])
    session_id = stored(world, *turns).rpartition("/")[2]
    services = world.container.services

    whole = services.sessions.get(project_id=world.project_id, session_id=session_id)
    parts = [
        services.session_parts.part(project_id=world.project_id, session_id=session_id, turn=number)
        for number in (1, 11, 21)
    ]

    assert [(part.start, part.end) for part in parts] == [(0, 10), (10, 20), (20, 24)]
    assert tuple(turn for part in parts for turn in part.session.turns) == whole.turns
    assert whole.turns[9].steps[0].result == "approved"


def test_an_argument_of_200_kb_is_cut_and_can_be_read_in_full(world: World, admin: Browser) -> None:
    order = {"order": "A-1", "text": "lorem ipsum " * 17_000 + "the very end"}
    turn = Turn(world.prompt()).tool("file", order, {"ok": True})
    path = stored(world, turn.chat([message("user", "File it")], [message("assistant", "Done.")]))

    admin.open(admin.base + path)
    assert len(admin.page) < 20_000
    assert "the very end" not in admin.page
    (whole,) = re.findall(r'href="([^"]+)" data-more', admin.page)

    assert admin.open(whole).status_code == 200
    assert "the very end" in admin.page


def test_a_span_shows_the_beginning_of_a_long_attribute_and_a_link_to_all_of_it(world: World, admin: Browser) -> None:
    order = {"order": "A-1", "text": "lorem ipsum " * 17_000 + "the very end"}
    path = stored(world, Turn(world.prompt()).tool("file", order))

    admin.open(f"{admin.base}{path}/spans/{1:016x}")
    assert len(admin.page) < 20_000
    (whole,) = re.findall(r'href="([^"]+)" data-more', admin.page)

    assert admin.open(whole).status_code == 200
    assert "the very end" in admin.page


@pytest.mark.parametrize(
    "below",
    [
        "/spans/nothing",
        f"/spans/{2**64 - 1:016x}",
        f"/spans/{1:016x}/attributes/99",
        "/turns/2/texts/user",
        "/turns/1/texts/99-text",
        "/turns/1/texts/0-kind",
        "/turns/1/texts/-text",
    ],
)
def test_a_part_of_a_session_that_is_not_there_is_reported(world: World, admin: Browser, below: str) -> None:
    path = stored(world, *conversation(world.prompt(), 1))

    assert admin.open(admin.base + path + below).status_code == 404


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "> " * 50_000, "- " * 50_000, "*a _b " * 20_000, "x\n" * 50_000, "\x00\ud83d 😀", HOSTILE * 1000],
    ids=["brackets", "quotes", "lists", "marks", "lines", "half an emoji", "markup"],
)
def test_a_text_of_any_kind_is_text_and_leaves_the_page_small(world: World, admin: Browser, text: str) -> None:
    said: Any = [message("assistant", text)]
    turn = Turn(world.prompt()).chat([message("user", text)], said)
    path = stored(world, turn.tool("t", {"a": text}, {text[:1000]: [text]}))

    for below in ("", f"/spans/{2:016x}", "/turns/1/texts/user", "/turns/1/texts/1-arguments"):
        assert admin.open(admin.base + path + below).status_code == 200, below
        assert "<script>alert" not in admin.page
        assert len(admin.page) < 1_000_000 if "texts" in below else 60_000


def test_json_in_a_text_is_shown_in_lines(world: World, admin: Browser) -> None:
    path = stored(world, Turn(world.prompt()).tool("find", {"of": {"name": "Ada"}}, json.dumps({"late": True})))

    admin.open(f"{admin.base}{path}/spans/{1:016x}")

    assert '"name": "Ada"' in admin.text


def test_a_session_without_anything_to_check_explains_it_instead_of_the_form(world: World, admin: Browser) -> None:
    turn = Turn(world.prompt()).chat([message("user", "Where is it?")], **failure("Error code: 429"))
    path = stored(world, turn)

    admin.open(f"{admin.base}{path}/test-case")

    assert "Nothing in this session can be checked" in admin.text
    assert "The model's call failed. Error code: 429" in words(admin)
    assert "<textarea" not in admin.page


def test_the_entries_before_and_after_one_follow_the_log_as_it_was_filtered(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    turns = [Turn(prompt_id, number, f"c{number}") for number in range(3)]
    for turn in turns:
        turn.chat([message("user", f"Is it {turn.number}?")], [message("assistant", "Yes.")])
    turns[1].spans[0]["status"] = {"code": 2}
    assert world.send(export(*(turn.spans[0] for turn in turns))).status_code == 200
    newest, failed, oldest = (
        f"/sessions/{entry['id']}" for entry in world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    )

    assert admin.open(f"{admin.base}{newest}?go=next").headers["location"] == admin.base + failed
    assert admin.open(f"{admin.base}{failed}?go=previous").headers["location"] == admin.base + newest
    kept = "?list=status%3Dok"
    assert admin.open(f"{admin.base}{newest}{kept}&go=next").headers["location"] == admin.base + oldest + kept
    assert admin.open(f"{admin.base}{oldest}?go=next").headers["location"] == admin.base + oldest
    assert "This is the last entry of the list." in admin.open(admin.base + oldest).text


def test_the_next_entry_may_be_on_the_next_page_of_the_log(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.web.views.neighbours.PAGE_SIZE", 1)
    prompt_id = world.prompt()
    turns = [Turn(prompt_id, number, f"c{number}").chat([message("user", "Hi")]) for number in range(2)]
    assert world.send(export(*(turn.spans[0] for turn in turns))).status_code == 200
    newest, oldest = (
        f"/sessions/{entry['id']}" for entry in world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    )

    there = admin.open(f"{admin.base}{newest}?go=next").headers["location"]
    assert there.startswith(f"{admin.base}{oldest}?list=cursor")
    assert admin.open(f"{there}&go=previous").headers["location"] == admin.base + newest


def test_a_version_that_the_prompt_does_not_have_is_no_link(world: World, admin: Browser) -> None:
    created = {"name": "Versioned", "value": "Be kind.", "languageModelName": "echo"}
    prompt_id = world.post("/api/v1/prompts", json=created).json["prompt"]["id"]
    own = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    turns = [RecordedTurn("Hi", "Hello", version=own), RecordedTurn("And?", "So.", version="release/7")]
    assert world.send(recorded(prompt_id, "two", turns, start_ns=BEGIN_NS)).status_code == 200
    path = f"/sessions/{world.get(f'/api/v1/prompts/{prompt_id}/logs?type=otel').json['entries'][0]['id']}"

    admin.open(admin.base + path)

    assert re.findall(r'href="[^"]*/versions/([^"]*)"', admin.page) == [own]
    assert f"version {own[:8]}" in words(admin)
    assert "version release/" in words(admin)


def test_the_page_that_a_search_leads_to_reads_only_the_shown_part_of_long_answers(
    world: World, admin: Browser
) -> None:
    def calls(number: int, answer: str) -> int:
        turn = Turn(world.prompt(), number).chat([message("user", "Hello")], [message("assistant", answer)])
        path = f"{admin.base}{stored(world, turn)}?q=zebra"
        return calls_of(lambda: admin.open(path))

    assert calls(1, "a b " * 50_000) < 2 * calls(0, "a b " * 1_000)


def test_all_of_a_long_text_can_be_read_as_it_was_recorded(world: World, admin: Browser) -> None:
    recorded_text = json.dumps([f"<b>{number}</b> é 😀" for number in range(20_000)], ensure_ascii=False)
    assert len(recorded_text) > WHOLE
    turn = Turn(world.prompt(), 0).tool("find", {"n": 1}, recorded_text)
    path = f"{admin.base}{stored(world, turn)}/turns/1/texts/0"

    admin.open(f"{path}-result")
    assert "are shown" in words(admin)
    plain = admin.open(html.unescape(re.search(r'href="([^"]+)">All of it as plain text', admin.page)[1]))  # type: ignore[index]

    assert plain.text == recorded_text
    assert plain.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert plain.headers["X-Content-Type-Options"] == "nosniff"
    admin.open(f"{path}-arguments?raw=true")
    assert json.loads(admin.page) == {"n": 1}


def test_images_of_the_user_are_shown_and_other_files_are_saved(world: World, admin: Browser) -> None:
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(50)).decode()
    page = base64.b64encode(b"<script>alert(1)</script>").decode()
    parts = [
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": png},
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": page},
        {"type": "uri", "modality": "image", "uri": "https://example.org/cat.png"},
    ]
    turn = Turn(world.prompt()).chat([message("user", "What is this?", *parts)], [message("assistant", "A cat.")])
    path = stored(world, turn)

    admin.open(admin.base + path)

    assert re.findall(r'<img src="([^"]*)"', admin.page) == [f"{admin.base}{path}/turns/1/files/0"]
    assert "only its address or id was recorded" in words(admin)
    image = world.client.simulate_get(f"{admin.base}{path}/turns/1/files/0", cookies=admin.cookies)
    assert (image.status_code, image.headers["content-type"]) == (200, "image/png")
    saved = world.client.simulate_get(f"{admin.base}{path}/turns/1/files/1", cookies=admin.cookies)
    assert saved.headers["content-type"] == "application/octet-stream"
    assert saved.headers["content-disposition"].startswith("attachment")
    assert admin.open(f"{admin.base}{path}/turns/1/files/2").status_code == 404


def test_turns_with_errors_lead_to_the_next_one_and_the_user_to_their_sessions(world: World, admin: Browser) -> None:
    prompt_id, refused = world.prompt(), failure("refused")
    turns = [
        Turn(prompt_id, number).chat(
            [message("user", f"Question {number}")],
            [message("assistant", "Yes.")],
            **({"status": refused["status"]} if number in (1, 3) else {}),
        )
        for number in range(5)
    ]
    path = stored(world, *turns)

    admin.open(admin.base + path)

    links = re.findall(r'href="\?turn=(\d)[^"]*" data-next-error[^>]*>([^<]*)<', admin.page)
    assert links == [("2", "Show"), ("4", "Next error")]
