"""Agents that send traces by their name: the first trace makes the prompt of the agent, with all that it records."""

from __future__ import annotations

import gzip
import json
import secrets
from threading import Barrier, Thread
from typing import Any
from unittest import mock

import pytest
from falcon.testing import Result
from sqlalchemy import Connection

from app.models import agents as agent_rows
from app.models.agents import AGENT_NAME_MAX
from app.services.ingest import service
from app.services.ingest.batch import Receipt
from app.services.prompts import adoption, agent_splits
from tests.support import protobuf
from tests.support.exports import export, pairs_of, span
from tests.support.world import World, new_world

PARAMETERS = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
TOOLS = [
    {"type": "function", "name": "get_order", "description": "Reads an order.", "parameters": PARAMETERS},
    {"type": "function", "name": "a name with blanks", "parameters": PARAMETERS},
]


def chat(instruction: str = "You help the customers of a shop.", **recorded: Any) -> dict[str, Any]:
    """A model call as the conventions of OpenTelemetry record it; it names no prompt."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.request.temperature": 0.2,
        "gen_ai.request.max_tokens": 300,
        "gen_ai.request.top_p": 7,
        "gen_ai.tool.definitions": json.dumps(TOOLS),
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": instruction}]),
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": "Where is A-1?"}]}]
        ),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": "On its way."}], "finish_reason": "stop"}]
        ),
    }
    wanted = {name: value for name, value in (attributes | recorded).items() if value is not None}
    return span(traceId=secrets.token_hex(16), spanId=secrets.token_hex(8), attributes=pairs_of(wanted))


def sent(world: World, name: str, *spans: dict[str, Any], headers: dict[str, str] | None = None) -> Result:
    path = f"/api/public/agents/{name}/otel/v1/traces"
    return world.post(path, body=export(*spans), headers={"Content-Type": "application/json"} | (headers or {}))


def prompt_of(world: World, name: str) -> dict[str, Any]:
    [agent] = [agent for agent in world.get("/api/v1/agents").json["agents"] if agent["name"] == name]
    path = f"/api/v1/prompts/{agent['promptId']}"
    found: dict[str, Any] = world.get(path, params={"productive": "false"}).json
    return found


def sessions_of(world: World, prompt_id: int) -> list[Any]:
    entries: list[Any] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    return entries


@pytest.fixture(autouse=True)
def catalogue(world: World) -> None:
    world.container.services.models.sync_catalogue()


def test_a_name_is_all_that_an_agent_needs_for_a_prompt_and_a_session(world: World) -> None:
    answer = sent(world, "shop-support", chat())

    assert (answer.status_code, answer.json) == (200, {"partialSuccess": {}})
    prompt = prompt_of(world, "shop-support")
    assert (prompt["name"], prompt["value"]) == ("shop-support", "You help the customers of a shop.")
    assert prompt["languageModel"]["name"] == "gpt-4o-mini"
    config = prompt["languageModelConfig"]
    assert (config["temperature"], config["max_tokens"], config.get("top_p")) == (0.2, 300, None)
    assert [(tool["name"], tool["parameters"]) for tool in config["tools"]] == [("get_order", PARAMETERS)]
    assert prompt["instructionFormat"] == "RAW"
    [session] = sessions_of(world, prompt["id"])
    case = world.post(f"/api/v1/sessions/{session['id']}/test-cases", json={})
    assert case.status_code == 201, case.text


def test_later_traces_join_and_change_nothing(world: World) -> None:
    sent(world, "bot", chat())
    sent(world, "bot", chat("Another instruction."))

    prompt = prompt_of(world, "bot")
    assert prompt["value"] == "You help the customers of a shop."
    assert len(sessions_of(world, prompt["id"])) == 2


def test_a_prompt_waits_for_the_first_trace_with_an_instruction(world: World) -> None:
    tool = span(
        traceId=secrets.token_hex(16),
        attributes=pairs_of({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_order"}),
    )
    sent(world, "bot", tool)
    assert (prompt_of(world, "bot")["value"], world.get("/api/v1/agents").json["agents"][0]["adoptedAt"]) == ("", None)

    message = [{"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}]
    sent(world, "bot", chat(**{"gen_ai.system_instructions": None, "gen_ai.input.messages": json.dumps(message)}))

    assert prompt_of(world, "bot")["value"] == "Be kind."
    assert world.get("/api/v1/agents").json["agents"][0]["adoptedAt"] is not None


def test_what_a_person_has_written_stays(world: World) -> None:
    sent(world, "bot", chat(**{"gen_ai.system_instructions": None}))
    prompt_id = prompt_of(world, "bot")["id"]
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Mine."})

    sent(world, "bot", chat())

    assert prompt_of(world, "bot")["value"] == "Mine."
    assert len(sessions_of(world, prompt_id)) == 2


def test_an_unknown_model_leaves_the_default_and_the_instruction_comes_all_the_same(world: World) -> None:
    sent(world, "bot", chat(**{"gen_ai.request.model": "our-own-model"}))

    prompt = prompt_of(world, "bot")
    assert prompt["value"] == "You help the customers of a shop."
    assert prompt["languageModel"]["name"] != "our-own-model"
    assert [tool["name"] for tool in prompt["languageModelConfig"]["tools"]] == ["get_order"]


def test_protobuf_and_log_records_have_addresses_too(world: World) -> None:
    path = "/api/public/agents/bot/otel/v1"
    headers = {"Content-Type": "application/x-protobuf"}
    answer = world.post(f"{path}/traces", body=protobuf.traces(export(chat())), headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-protobuf")
    assert prompt_of(world, "bot")["value"] == "You help the customers of a shop."

    assert world.post(f"{path}/logs", json={"resourceLogs": []}).status_code == 200
    assert world.post("/api/public/agents/other/otel/v1/logs", json={"resourceLogs": []}).status_code == 200
    assert [agent["name"] for agent in world.get("/api/v1/agents").json["agents"]] == ["bot"]


@pytest.mark.parametrize("name", ["a b", "ä", "a%00b", "x" * (AGENT_NAME_MAX + 1), "a%2Fb", "%3Cb%3E", ".", ".."])
def test_a_name_has_few_characters_and_a_wrong_one_makes_nothing(world: World, name: str) -> None:
    assert sent(world, name, chat()).status_code in (400, 404)

    assert world.get("/api/v1/agents").json["agents"] == []


def test_a_key_that_may_not_write_makes_no_prompt_but_sends_to_one_that_is_there(world: World) -> None:
    key = world.post("/api/v1/api-keys", json={"name": "i", "scopes": ["ingest"]}).json["key"]
    only_ingest = {"Authorization": f"Bearer {key}"}

    refused = sent(world, "bot", chat(), headers=only_ingest)
    assert refused.status_code == 403
    assert "write" in refused.text
    sent(world, "bot", chat())
    assert sent(world, "bot", chat(), headers=only_ingest).status_code == 200


@pytest.mark.parametrize("scopes", [["ingest"], ["ingest", "write"]])
def test_a_web_process_does_not_decode_a_large_batch_for_a_name_without_an_agent(
    world: World, monkeypatch: pytest.MonkeyPatch, scopes: list[str]
) -> None:
    key = world.post("/api/v1/api-keys", json={"name": "i", "scopes": scopes}).json["key"]
    decode = mock.Mock()
    monkeypatch.setattr(service, "decode_batch", decode)
    monkeypatch.setattr(
        type(world.container.batch_delivery), "deliver", lambda *_: Receipt("unavailable", message="not decoded")
    )
    body = gzip.compress(export(*[chat() for _ in range(200)], chat("x" * service.LOOKED_AT)))

    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Authorization": f"Bearer {key}"}
    answer = world.post("/api/public/agents/large/otel/v1/traces", body=body, headers=headers)

    assert answer.status_code == (503 if "write" in scopes else 403)
    assert not decode.called


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"resourceSpans": []}', 200),
        (export(span(traceId="short")), 400),
        (gzip.compress(b"{}", mtime=0)[:9], 400),
    ],
)
def test_a_batch_of_which_nothing_can_be_stored_makes_no_prompt(world: World, body: bytes, status: int) -> None:
    headers = {"Content-Type": "application/json"}
    if body.startswith(b"\x1f"):
        headers["Content-Encoding"] = "gzip"

    answer = world.post("/api/public/agents/bot/otel/v1/traces", body=body, headers=headers)

    assert (answer.status_code, world.get("/api/v1/agents").json["agents"]) == (status, [])


def test_projects_have_agents_of_the_same_name(world: World) -> None:
    other = new_world(world.container)
    other.container.services.models.sync_catalogue()
    sent(world, "bot", chat("Ours."))
    sent(other, "bot", chat("Theirs."))

    assert (prompt_of(world, "bot")["value"], prompt_of(other, "bot")["value"]) == ("Ours.", "Theirs.")


def test_first_batches_at_once_make_one_prompt(world: World) -> None:
    together, answers = Barrier(6), list[int]()

    def send() -> None:
        together.wait()
        answers.append(sent(world, "bot", chat()).status_code)

    threads = [Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    prompt = prompt_of(world, "bot")
    assert (answers, prompt["value"]) == ([200] * 6, "You help the customers of a shop.")
    named = [listed for listed in world.get("/api/v1/prompts").json["prompts"] if listed["name"] == "bot"]
    assert len(named) == 1
    assert len(sessions_of(world, prompt["id"])) == 6


def test_an_erased_prompt_makes_room_for_a_new_one(world: World) -> None:
    sent(world, "bot", chat())
    first = prompt_of(world, "bot")["id"]
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=first)
    assert world.get("/api/v1/agents").json["agents"] == []

    sent(world, "bot", chat("New."))

    prompt = prompt_of(world, "bot")
    assert (prompt["id"] != first, prompt["value"]) == (True, "New.")


def test_an_instruction_that_the_api_would_refuse_fills_no_draft(world: World) -> None:
    sent(world, "bot", chat("x" * (adoption.INSTRUCTION_MAX + 1)))
    assert prompt_of(world, "bot")["value"] == ""

    sent(world, "bot", chat("x" * adoption.INSTRUCTION_MAX))
    prompt = prompt_of(world, "bot")

    assert len(prompt["value"]) == adoption.INSTRUCTION_MAX
    assert world.patch(f"/api/v1/prompts/{prompt['id']}", json={"value": prompt["value"]}).status_code == 200


def test_a_project_has_a_bounded_number_of_agents(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adoption, "AGENTS_MAX", 1)
    sent(world, "one", chat())

    refused = sent(world, "two", chat())

    assert (refused.status_code, "1 agents" in refused.text) == (400, True)
    assert sent(world, "one", chat()).status_code == 200


@pytest.mark.parametrize("text", ["x" * 600_000, "{{x}} \x00 \ud83d 😀 </script>", "a\u0301" * 100_000])
def test_whatever_an_instruction_holds_its_batch_is_stored(world: World, text: str) -> None:
    assert sent(world, "bot", chat(text)).status_code == 200

    assert len(sessions_of(world, prompt_of(world, "bot")["id"])) == 1


@pytest.mark.parametrize("first", ["spans", "records"])
def test_an_instruction_in_log_records_fills_the_prompt_whichever_comes_first(world: World, first: str) -> None:
    said = ("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages")
    whole = chat()
    recorded = [pair for pair in whole["attributes"] if pair["key"] in said]
    bare = whole | {"attributes": [pair for pair in whole["attributes"] if pair["key"] not in said]}
    record = {
        "traceId": whole["traceId"],
        "spanId": whole["spanId"],
        "timeUnixNano": whole["startTimeUnixNano"],
        "eventName": "gen_ai.client.inference.operation.details",
        "attributes": recorded,
    }
    batch = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}

    def log() -> None:
        assert world.post("/api/public/agents/bot/otel/v1/logs", json=batch).status_code == 200

    if first == "records":
        log()
        assert prompt_of(world, "bot")["value"] == ""
    assert sent(world, "bot", bare).status_code == 200
    if first == "spans":
        assert prompt_of(world, "bot")["value"] == ""
        log()

    prompt = prompt_of(world, "bot")
    assert prompt["value"] == "You help the customers of a shop."
    assert [tool["name"] for tool in prompt["languageModelConfig"]["tools"]] == ["get_order"]


def of_agents(*named: tuple[str | None, str | None]) -> list[dict[str, Any]]:
    """A trace: for each agent a span that names it, and within it a model call with an instruction."""
    trace_id, spans = secrets.token_hex(16), []
    for name, instruction in named:
        agent = span(
            traceId=trace_id,
            spanId=secrets.token_hex(8),
            attributes=pairs_of(
                {"gen_ai.operation.name": "invoke_agent"} | ({"gen_ai.agent.name": name} if name else {})
            ),
        )
        recorded = {} if instruction else {"gen_ai.system_instructions": None}
        call = chat(instruction or "", **recorded) | {"traceId": trace_id, "parentSpanId": agent["spanId"]}
        spans += [agent, call]
    return spans


def split(world: World, *spans: dict[str, Any], by: str = "agents", headers: dict[str, str] | None = None) -> Result:
    sent_headers = {"Content-Type": "application/json"} | (headers or {})
    path = "/api/public/agents/team/otel/v1/traces"
    return world.post(path, body=export(*spans), headers=sent_headers, params={"split": by})


def test_agents_of_one_trace_get_a_prompt_each_if_they_have_an_instruction(world: World) -> None:
    spans = of_agents((None, "You route."), ("Refund Agent", "You refund."), ("silent", None))

    assert split(world, *spans).status_code == 200

    agents = {agent["name"]: agent["promptId"] for agent in world.get("/api/v1/agents").json["agents"]}
    assert sorted(agents) == ["Refund-Agent", "team"]
    assert prompt_of(world, "Refund-Agent")["value"] == "You refund."
    assert prompt_of(world, "team")["value"] == "You route."
    [refund], [team] = sessions_of(world, agents["Refund-Agent"]), sessions_of(world, agents["team"])
    counts = [len(world.get(f"/api/v1/sessions/{one['id']}").json["turns"][0]["spans"]) for one in (refund, team)]
    assert counts == [2, 4]
    # What is sent again is stored once.
    assert split(world, *spans).status_code == 200
    assert len(sessions_of(world, agents["Refund-Agent"])) == 1


def test_without_the_scope_write_only_known_agents_are_split(world: World) -> None:
    split(world, *of_agents((None, "You route."), ("known", "You know.")))
    key = world.post("/api/v1/api-keys", json={"name": "i", "scopes": ["ingest"]}).json["key"]

    answer = split(
        world, *of_agents(("known", "You know."), ("new", "You are new.")), headers={"Authorization": f"Bearer {key}"}
    )

    assert answer.status_code == 200
    assert [agent["name"] for agent in world.get("/api/v1/agents").json["agents"]] == ["known", "team"]
    assert len(sessions_of(world, prompt_of(world, "known")["id"])) == 2


def test_another_way_to_split_is_refused_and_without_any_nothing_is_split(world: World) -> None:
    refused = split(world, *of_agents(("a", "You.")), by="names")
    assert (refused.status_code, "split" in refused.text) == (400, True)

    sent(world, "team", *of_agents((None, "You route."), ("a", "You.")))

    assert [agent["name"] for agent in world.get("/api/v1/agents").json["agents"]] == ["team"]


def test_the_agents_of_a_project_and_of_a_batch_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_splits, "AGENTS_OF_BATCH", 2)
    split(world, *of_agents((None, "You."), *((f"a{number}", f"You are {number}.") for number in range(5))))
    assert [agent["name"] for agent in world.get("/api/v1/agents").json["agents"]] == ["a0", "a1", "team"]

    monkeypatch.setattr(adoption, "AGENTS_MAX", 3)
    assert split(world, *of_agents(("b", "You are b."))).status_code == 200
    assert len(world.get("/api/v1/agents").json["agents"]) == 3
    assert len(sessions_of(world, prompt_of(world, "team")["id"])) == 2


def test_a_batch_asks_once_whether_a_full_project_has_room_and_the_next_one_asks_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    split(world, *of_agents((None, "You route."), ("z", "You are known.")))
    monkeypatch.setattr(adoption, "AGENTS_MAX", 2)
    asked, count_agents = list[int](), agent_rows.count_agents

    def counting(connection: Connection, *, project_id: int) -> int:
        asked.append(project_id)
        return count_agents(connection, project_id=project_id)

    monkeypatch.setattr(agent_rows, "count_agents", counting)
    spans = of_agents((None, "You route."), *((f"a{n}", f"You are {n}.") for n in range(5)), ("z", "You are known."))

    assert split(world, *spans).status_code == 200
    assert len(asked) == 1
    # A known agent after the refused ones keeps its spans.
    assert len(sessions_of(world, prompt_of(world, "z")["id"])) == 2

    monkeypatch.setattr(adoption, "AGENTS_MAX", 3)
    assert split(world, *of_agents((None, "You route."), ("a", "You are new."))).status_code == 200
    assert [agent["name"] for agent in world.get("/api/v1/agents").json["agents"]] == ["a", "team", "z"]


LARGE = {"type": "object", "properties": {f"p{n}": {} for n in range(300)}}


@pytest.mark.parametrize(
    "tools",
    [
        pytest.param([{"name": "a"}] * 5_000, id="many"),
        pytest.param([{"name": f"a{n}", "parameters": LARGE} for n in range(100)], id="large"),
    ],
)
def test_more_tools_than_a_prompt_may_have_keep_no_process_busy_that_stores_spans(
    world: World, monkeypatch: pytest.MonkeyPatch, tools: list[Any]
) -> None:
    checked: list[Any] = []
    accepted = adoption.AdoptionService._accepted

    def counted(service: adoption.AdoptionService, config: dict[str, Any]) -> dict[str, Any]:
        checked.append(config)
        return accepted(service, config)

    monkeypatch.setattr(adoption.AdoptionService, "_accepted", counted)

    assert sent(world, "busy", chat(**{"gen_ai.tool.definitions": json.dumps(tools)})).status_code == 200

    prompt = prompt_of(world, "busy")
    assert (prompt["value"], prompt["languageModelConfig"]["tools"]) == ("You help the customers of a shop.", [])
    assert 0 < len(checked) < 10
