"""What traces record of an instruction: drift from the prompt, and placeholders for what varies between sessions."""

from __future__ import annotations

from typing import Any

import pytest

from app.rendering import matching
from app.rendering.render import Placeholder, PlaceholderValue, to_xml
from app.services.prompts.content import PromptContent
from app.services.sessions import instructions
from app.sessions.types import Turn
from tests.integration.ingest.test_agents import chat, prompt_of, sent
from tests.support.world import World, new_world

TEXT = "You help {name}.\nToday is {day}. Plan: {plan}.\nBe brief and kind."
PEOPLE = [
    {"name": "Anna Smith", "day": "2026-11-25", "plan": "pro"},
    {"name": "Bob", "day": "2026-11-26", "plan": "free"},
    {"name": "Céline", "day": "2026-11-26", "plan": "pro"},
]


@pytest.fixture(autouse=True)
def catalogue(world: World) -> None:
    world.container.services.models.sync_catalogue()


def path(world: World, name: str = "bot") -> str:
    return f"/api/v1/prompts/{prompt_of(world, name)['id']}/recorded-instruction"


def report(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.get(path(world)).json
    return found


def proposals(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = report(world)["placeholderProposals"]
    return found


def later(number: int, instruction: str, **recorded: Any) -> dict[str, Any]:
    """A model call `number` seconds after the first one."""
    span = chat(instruction, **recorded)
    moved = {name: str(int(span[name]) + number * 10**9) for name in ("startTimeUnixNano", "endTimeUnixNano")}
    return span | moved


def send_people(world: World) -> None:
    for number, person in enumerate(PEOPLE):
        assert sent(world, "bot", later(number, TEXT.format(**person))).status_code == 200


def accept(world: World, *choices: dict[str, str], **headers: str) -> Any:
    return world.post(f"{path(world)}/placeholders", json={"accept": list(choices)}, headers=headers)


def test_parts_that_vary_between_sessions_are_proposed_with_their_values(world: World) -> None:
    send_people(world)

    found = report(world)

    assert (found["sessionsRead"], found["sessionsCompared"]) == (3, 3)
    assert found["instruction"] == TEXT.format(**PEOPLE[2])
    proposed = {each["key"]: each for each in found["placeholderProposals"]}
    assert list(proposed) == ["value", "today", "plan"]
    assert proposed["today"]["kind"] == "date"
    assert proposed["today"]["values"] == [
        {"content": "2026-11-26", "sessions": 2},
        {"content": "2026-11-25", "sessions": 1},
    ]
    assert proposed["value"]["before"] == "You help "
    assert prompt_of(world, "bot")["value"] == TEXT.format(**PEOPLE[0])


def test_accepting_rewrites_the_draft_and_earlier_sessions_know_their_values(world: World) -> None:
    send_people(world)
    name, day, plan = proposals(world)

    answer = accept(world, {"id": name["id"], "key": "customer"}, {"id": day["id"]}, {"id": plan["id"]})

    assert answer.status_code == 200, answer.text
    prompt = prompt_of(world, "bot")
    assert prompt["value"] == TEXT.format(name="{{customer}}", day="{{today}}", plan="{{plan}}")
    definitions = {each["key"]: each["values"] for each in prompt["placeholderDefinitions"]}
    assert [value["content"] for value in definitions["customer"]] == ["Anna Smith", "Céline", "Bob"]
    assert [value["isDefault"] for value in definitions["customer"]] == [True, False, False]
    rendered = world.post(f"/api/v1/prompts/{prompt['id']}/render", json={"productive": False}).json
    assert rendered["instruction"] == TEXT.format(**PEOPLE[0])
    cases = []
    for session in world.get("/api/v1/sessions").json["sessions"]:
        case = world.post(f"/api/v1/sessions/{session['id']}/test-cases", json={}).json
        cases.append(case["turns"][0]["placeholders"])
    expected = [{"customer": p["name"], "today": p["day"], "plan": p["plan"]} for p in reversed(PEOPLE)]
    assert cases == expected
    assert (report(world)["differs"], proposals(world)) == (False, [])


def test_accepting_again_adds_values_that_came_later(world: World) -> None:
    send_people(world)
    accept(world, *({"id": each["id"]} for each in proposals(world)))
    sent(world, "bot", later(9, TEXT.format(name="Bob", day="2026-11-27", plan="pro")))

    [proposal] = proposals(world)
    assert (proposal["key"], proposal["isKnown"], report(world)["differs"]) == ("today", True, False)
    assert accept(world, {"id": proposal["id"], "key": "ignored"}).status_code == 200

    definitions = {each["key"]: each["values"] for each in prompt_of(world, "bot")["placeholderDefinitions"]}
    assert sorted(value["content"] for value in definitions["today"]) == ["2026-11-25", "2026-11-26", "2026-11-27"]
    assert proposals(world) == []


def test_what_a_person_has_added_to_the_draft_stays(world: World) -> None:
    send_people(world)
    prompt = prompt_of(world, "bot")
    world.patch(f"/api/v1/prompts/{prompt['id']}", json={"value": prompt["value"] + " Never shout."})

    day = next(each for each in proposals(world) if each["kind"] == "date")
    assert accept(world, {"id": day["id"]}).status_code == 200

    value = prompt_of(world, "bot")["value"]
    assert value == TEXT.format(**PEOPLE[0] | {"day": "{{today}}"}) + " Never shout."


@pytest.mark.parametrize(
    ("choices", "status", "field"),
    [
        ([], 400, "accept"),
        ([{"id": "nothing"}], 409, "nothing"),
        ([{"key": "x"}], 400, "accept.0.id"),
        ([{"id": "x", "key": "a b"}], 400, "accept.0.key"),
        ([{"id": "x"}] * 51, 400, "accept"),
    ],
)
def test_a_choice_that_is_none_is_refused(world: World, choices: list[dict[str, str]], status: int, field: str) -> None:
    send_people(world)

    refused = accept(world, *choices)

    assert (refused.status_code, field in refused.text) == (status, True), refused.text
    assert prompt_of(world, "bot")["placeholderDefinitions"] == []


def test_two_parts_with_other_values_have_no_common_key(world: World) -> None:
    send_people(world)
    name, day, _ = proposals(world)

    refused = accept(world, {"id": name["id"], "key": "same"}, {"id": day["id"], "key": "same"})

    assert (refused.status_code, "same" in refused.text) == (400, True)


def test_an_acceptance_for_another_draft_is_refused(world: World) -> None:
    send_people(world)
    name, *_ = proposals(world)

    refused = accept(world, {"id": name["id"]}, **{"If-Match": '"999"'})

    assert refused.status_code == 412


def test_another_text_of_the_program_shows_since_when_and_becomes_the_draft(world: World) -> None:
    send_people(world)
    accept(world, *({"id": each["id"]} for each in proposals(world)))
    assert report(world)["matches"] == "draft"
    changed = TEXT.replace("Be brief and kind", "Be brief, kind and honest")
    for number in (20, 30):
        sent(world, "bot", later(number, changed.format(**PEOPLE[1])))

    found = report(world)
    assert (found["differs"], found["matches"]) == (True, None)
    second = world.get("/api/v1/sessions").json["sessions"][1]
    assert found["since"] == second["startedAt"]
    answer = world.post(f"{path(world)}/adopt")

    assert answer.status_code == 200, answer.text
    value = prompt_of(world, "bot")["value"]
    assert value == changed.format(name="{{value}}", day="{{today}}", plan="{{plan}}")
    assert (report(world)["differs"], report(world)["since"]) == (False, None)


def test_a_committed_version_matches_what_its_program_still_sends(world: World) -> None:
    sent(world, "bot", chat("Be kind."))
    prompt_id = prompt_of(world, "bot")["id"]
    commit_hash = world.post(f"/api/v1/prompts/{prompt_id}/commit").json["commitHash"]
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be very kind."})

    assert (report(world)["matches"], report(world)["differs"]) == (commit_hash, False)


def test_a_turn_that_names_its_version_is_no_drift(world: World) -> None:
    sent(world, "bot", chat("Be kind."))
    prompt_id = prompt_of(world, "bot")["id"]
    commit_hash = world.post(f"/api/v1/prompts/{prompt_id}/commit").json["commitHash"]
    sent(world, "bot", later(5, "Something else.", **{"service.prompt.version": commit_hash}))

    assert (report(world)["instruction"], report(world)["differs"]) == ("Be kind.", False)


def test_a_prompt_in_xml_compares_what_it_renders_and_adopts_nothing(world: World) -> None:
    made = {"name": "xml", "value": "# Role\nYou help {{who}}.", "commit": False}
    made["placeholders"] = [{"key": "who", "values": [{"name": "a", "content": "Anna"}]}]
    prompt_id = world.post("/api/v1/prompts", json=made).json["prompt"]["id"]
    rendered = world.post(f"/api/v1/prompts/{prompt_id}/render", json={"productive": False}).json["instruction"]

    def send(text: str, number: int) -> dict[str, Any]:
        body = {"resourceSpans": [{"scopeSpans": [{"spans": [later(number, text)]}]}]}
        world.post(f"/api/public/prompts/{prompt_id}/otel/v1/traces", json=body)
        found: dict[str, Any] = world.get(f"/api/v1/prompts/{prompt_id}/recorded-instruction").json
        return found

    assert send(rendered.replace("You help .", "You help Anna & Bob."), 1)["matches"] == "draft"
    assert send("Another.", 2)["differs"] is True
    refused = world.post(f"/api/v1/prompts/{prompt_id}/recorded-instruction/adopt")
    assert (refused.status_code, "RAW" in refused.text) == (400, True)


def test_a_prompt_without_traces_has_nothing_to_adopt(world: World) -> None:
    prompt_id = world.post("/api/v1/prompts", json={"name": "new", "value": "Hi."}).json["prompt"]["id"]
    path = f"/api/v1/prompts/{prompt_id}/recorded-instruction"

    assert world.get(path).json["instruction"] is None
    assert world.post(f"{path}/adopt").status_code == 404


def test_no_project_reads_the_instructions_of_another(world: World) -> None:
    send_people(world)
    stranger = new_world(world.container)

    for answer in (stranger.get(path(world)), stranger.post(f"{path(world)}/adopt")):
        assert answer.status_code == 404


def test_the_sessions_and_bytes_read_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "SESSIONS_MAX", 2)
    send_people(world)
    assert report(world)["sessionsRead"] == 2
    monkeypatch.setattr(instructions, "BYTES_MAX", 10)
    assert report(world)["instruction"] is None


def xml_prompt(world: World, *versions: str) -> int:
    """Return a prompt in XML with committed versions; the newest is the draft, too."""
    body = {"name": "xml", "languageModelName": "gpt-4o-mini", "instructionFormat": "XML", "value": versions[0]}
    prompt_id: int = world.post("/api/v1/prompts", json=body).json["prompt"]["id"]
    for value in versions[1:]:
        assert world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": value}).status_code == 200
        assert world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "m"}).status_code == 201
    return prompt_id


def send_instructions(world: World, prompt_id: int, *texts: str) -> None:
    spans = [later(number, text) for number, text in enumerate(texts)]
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    assert world.post(f"/api/public/prompts/{prompt_id}/otel/v1/traces", json=body).status_code == 200


def test_a_content_is_rendered_once_for_all_instructions_that_it_is_compared_with(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = [f"# Role\nVersion {number}\n" for number in range(4)]
    prompt_id = xml_prompt(world, *versions)
    send_instructions(world, prompt_id, *(f"Instruction {number}" for number in range(8)))
    rendered, to_xml = list[str](), matching.to_xml
    monkeypatch.setattr(matching, "to_xml", lambda text: (rendered.append(text), to_xml(text))[1])
    read = f"/api/v1/prompts/{prompt_id}/recorded-instruction"

    found = world.get(read).json
    assert (found["sessionsRead"], found["matches"], found["differs"]) == (8, None, True)
    # The draft, and each version.
    assert len(rendered) == 5

    monkeypatch.setattr(instructions, "COMPARED_MAX", 3 * len(versions[0]))
    rendered.clear()
    assert world.get(read).json["differs"] is True
    assert len(rendered) <= 3


def test_a_prompt_is_rendered_once_for_the_turns_of_a_session(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    content = PromptContent(
        prompt_id=1,
        name="p",
        commit_hash=None,
        value="# Role\nHelp {{who}}.",
        instruction_format="XML",
        model=None,  # type: ignore[arg-type] # it is not read
        config={},
        placeholders=(Placeholder("who", (PlaceholderValue("a", "Anna"), PlaceholderValue("b", "Bob"))),),
    )
    text = to_xml(content.value)
    turns = [
        Turn("t", 0, 1, "?", (), instruction=text.replace("{{who}}", ("Anna", "Bob", f"{n}")[n % 3])) for n in range(30)
    ]
    rendered = list[str]()
    monkeypatch.setattr(matching, "to_xml", lambda text: (rendered.append(text), to_xml(text))[1])

    selected = [turn.placeholders for turn in instructions.with_selections(turns, content)]
    assert selected == [{"who": "a"}, {"who": "b"}, None] * 10
    assert len(rendered) == 1

    monkeypatch.setattr(instructions, "COMPARED_MAX", len(content.value) + 10)
    selected = [turn.placeholders for turn in instructions.with_selections(turns, content)]
    assert (selected[0], selected[-3:]) == ({"who": "a"}, [{"who": "a"}, {"who": "b"}, None])
    monkeypatch.setattr(instructions, "COMPARED_MAX", 3)
    assert [turn.placeholders for turn in instructions.with_selections(turns, content)] == [None] * 30
