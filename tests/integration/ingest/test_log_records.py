"""The messages of a model call may come as log records: each is joined to its span, whichever comes first."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection
from datetime import timedelta
from typing import Any

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from sqlalchemy import text

from app.errors import Unavailable
from app.models.queries import new_batch_id
from app.models.span_bodies import SpanKey
from app.otlp import codex as of_codex
from app.services.ingest.log_records import WAITS
from app.services.ingest.openings import OpeningService
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import export, pairs_of, span, value_of
from tests.support.protobuf import traces
from tests.support.readable import readable
from tests.support.sweeping import remove_waiting_rows
from tests.support.world import World, new_world

DETAILS = "gen_ai.client.inference.operation.details"
ASKED = [{"role": "user", "parts": [{"type": "text", "content": "How warm is it?"}]}]
ANSWERED = [{"role": "assistant", "parts": [{"type": "text", "content": "It is 18 degrees."}]}]


def record(of: dict[str, Any], name: str = DETAILS, attributes: Any = None, **fields: Any) -> dict[str, Any]:
    """A record of the span `of`."""
    said = {"gen_ai.input.messages": ASKED, "gen_ai.output.messages": ANSWERED} if attributes is None else attributes
    named = {"traceId": of["traceId"], "spanId": of["spanId"], "timeUnixNano": "1544712660000000001"}
    return named | {"eventName": name, "attributes": pairs_of(said)} | fields


def chat(**attributes: Any) -> dict[str, Any]:
    """A model call without its words, and without a prompt."""
    found = span(
        {"gen_ai.operation.name": "chat", **attributes}, traceId=secrets.token_hex(16), spanId=secrets.token_hex(8)
    )
    return found | {"attributes": found["attributes"][1:]}


def turn(world: World, prompt_id: int) -> Any:
    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    (found,) = world.get(f"/api/v1/sessions/{entry['id']}").json["turns"]
    return found


def said(world: World, prompt_id: int) -> tuple[Any, list[str]]:
    found = turn(world, prompt_id)
    return found["user"], [step["text"] for step in found["steps"]]


def send(world: World, prompt_id: int, one: dict[str, Any]) -> None:
    assert world.send_to(prompt_id, traces(export(one))).content == b""


@pytest.mark.parametrize("first", ["span", "record"])
@pytest.mark.parametrize("own_address", [True, False])
def test_a_record_fills_what_its_span_lacks_whichever_comes_first(world: World, first: str, own_address: bool) -> None:
    prompt_id, one = world.prompt(), chat()
    if first == "span":
        send(world, prompt_id, one)
        assert said(world, prompt_id) == (None, [])
    answer = world.log([record(one)], prompt_id if own_address else None)
    assert answer.status_code == 200, answer.text
    assert answer.content == (b"" if own_address else b'{"partialSuccess":{}}')
    if first == "record":
        assert world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"] == []
        send(world, prompt_id, one)

    assert said(world, prompt_id) == ("How warm is it?", ["It is 18 degrees."])
    assert turn(world, prompt_id)["warnings"] == []


def previews(world: World, prompt_id: int, **query: str) -> list[Any]:
    entries = world.get(f"/api/v1/prompts/{prompt_id}/logs", params=query).json["entries"]
    return [entry["preview"] for entry in entries]


@pytest.mark.parametrize("first", ["span", "record"])
@pytest.mark.parametrize("own_address", [True, False])
def test_words_of_records_are_previewed_in_the_log_and_found_there(world: World, first: str, own_address: bool) -> None:
    prompt_id, one = world.prompt(), chat()
    if first == "span":
        send(world, prompt_id, one)
        assert previews(world, prompt_id) == [None]
    world.log([record(one)], prompt_id if own_address else None)
    if first == "record":
        send(world, prompt_id, one)

    assert previews(world, prompt_id) == ["How warm is it?"]
    assert previews(world, prompt_id, search="HOW WARM") == ["How warm is it?"]
    assert previews(world, prompt_id, search="How cold") == []


@pytest.mark.parametrize("first", ["span", "record"])
def test_the_earliest_question_of_a_turn_is_previewed_whether_a_span_or_a_record_has_it(
    world: World, first: str
) -> None:
    prompt_id, early = world.prompt(), chat()
    said = {"gen_ai.input.messages": json.dumps([{"role": "user", "content": "And tomorrow?"}])}
    later = chat(**said) | {"traceId": early["traceId"], "startTimeUnixNano": "1544712660900000000"}
    if first == "record":
        world.log([record(early), record(later)], prompt_id)
    assert world.send_to(prompt_id, traces(export(early, later))).content == b""
    if first == "span":
        assert previews(world, prompt_id) == ["And tomorrow?"]
        world.log([record(early), record(later)], prompt_id)

    assert previews(world, prompt_id) == ["How warm is it?"]


def test_a_preview_that_was_not_written_before_its_process_died_is_when_the_batch_comes_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id, one = world.prompt(), chat()
    send(world, prompt_id, one)
    with monkeypatch.context() as dying:
        dying.setattr(OpeningService, "add", unavailable)
        assert world.log([record(one)], prompt_id).status_code == 503
    assert previews(world, prompt_id) == [None]

    world.log([record(one)], prompt_id)
    assert previews(world, prompt_id) == ["How warm is it?"]


@pytest.mark.parametrize("first", ["span", "record"])
def test_a_span_and_its_record_that_are_stored_at_once_have_a_preview(
    world: World, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id, one = world.prompt(), chat()
    add = OpeningService.add
    stored = iter([False, True])

    def after_both(service: OpeningService, project_id: int, keys: Collection[SpanKey], *, agent: str) -> None:
        """The first to be stored waits until the other is, which stops waiting before it looks for words."""
        if next(stored):
            return
        store("record" if first == "span" else "span")
        add(service, project_id, keys, agent=agent)

    def store(signal: str) -> None:
        send(world, prompt_id, one) if signal == "span" else world.log([record(one)], prompt_id)

    monkeypatch.setattr(OpeningService, "add", after_both)
    store(first)

    assert previews(world, prompt_id) == ["How warm is it?"]


def unavailable(*_: object, **_options: object) -> None:
    raise Unavailable("The database is away.")


def test_a_test_case_is_made_from_the_words_of_records(world: World) -> None:
    prompt_id, one = world.prompt(), chat()
    send(world, prompt_id, one)
    world.log([record(one)], prompt_id)
    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    made = world.post(f"/api/v1/sessions/{entry['id']}/test-cases", json={})

    (of_case,) = made.json["turns"]
    assert (made.status_code, of_case["user"]) == (201, "How warm is it?")
    assert [step["text"] for step in of_case["steps"]] == ["It is 18 degrees."]


def test_messages_as_json_text_and_in_the_body_are_read_as_well(world: World) -> None:
    for attributes, body in (
        ({"gen_ai.input.messages": json.dumps(ASKED), "gen_ai.output.messages": json.dumps(ANSWERED)}, None),
        ({}, {"gen_ai.input.messages": ASKED, "gen_ai.output.messages": ANSWERED}),
    ):
        prompt_id, one = world.prompt(), chat()
        send(world, prompt_id, one)
        fields = {} if body is None else {"body": value_of(body)}
        assert world.log([record(one, attributes=attributes, **fields)], prompt_id).status_code == 200
        assert said(world, prompt_id) == ("How warm is it?", ["It is 18 degrees."])


def test_a_record_for_each_message_is_read_in_the_order_of_their_times(world: World) -> None:
    prompt_id, one = world.prompt(), chat()
    events = [
        ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "18."}}),
        ("gen_ai.user.message", {"content": "How warm is it?"}),
        ("gen_ai.system.message", {"content": "Be brief."}),
    ]
    logged = [
        record(one, name, {"gen_ai.system": "openai"}, body=value_of(body), timeUnixNano=str(10**18 - place))
        for place, (name, body) in enumerate(events)
    ]
    assert world.log(logged, prompt_id).status_code == 200
    send(world, prompt_id, one)

    assert said(world, prompt_id) == ("How warm is it?", ["18."])


def test_the_event_may_be_named_by_an_attribute(world: World) -> None:
    prompt_id, one = world.prompt(), chat()
    send(world, prompt_id, one)
    named = {"event.name": "gen_ai.user.message", "content": "Hm?"}
    world.log([record(one, attributes=named, eventName="")], prompt_id)

    assert said(world, prompt_id)[0] == "Hm?"


def test_the_words_of_the_span_count_before_those_of_records(world: World) -> None:
    prompt_id = world.prompt()
    own = chat(**{"gen_ai.input.messages": json.dumps([{"role": "user", "content": "My own."}])})
    send(world, prompt_id, own)
    world.log([record(own)], prompt_id)

    assert said(world, prompt_id) == ("My own.", ["It is 18 degrees."])


def test_a_record_sent_again_is_stored_once(world: World) -> None:
    prompt_id, one = world.prompt(), chat()
    for _ in range(2):
        assert world.log([record(one)], prompt_id).status_code == 200
        assert world.log([record(one)]).status_code == 200
    assert world.count("log_records") == 1


@EMBEDDED_CONTAINER
def test_other_records_are_ignored_without_an_error(world: World) -> None:
    one = chat()
    others = [
        record(one, "app.started"),
        record(one, "gen_ai.evaluation.result", {"gen_ai.evaluation.name": "relevance"}),
        {"body": {"stringValue": "A line of a log."}},
        {},
        record(one, eventName=None),
        {name: value for name, value in record(one).items() if name != "spanId"},
    ]
    for prompt_id in (None, world.prompt()):
        answer = world.log([{k: v for k, v in other.items() if v is not None} for other in others], prompt_id)
        assert (answer.status_code, answer.content) == (200, b"" if prompt_id else b'{"partialSuccess":{}}')
    assert world.count("log_records") == 0


BAD: list[tuple[str, Any]] = [
    *(("traceId", bad) for bad in ("00", 0, False, [], {})),
    *(("spanId", bad) for bad in ("zz", 0)),
    *(("attributes", bad) for bad in ({"a": 1}, {}, "", 0, False)),
]


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(("field", "bad"), BAD)
def test_malformed_records_are_rejected_and_the_others_stored(world: World, field: str, bad: Any) -> None:
    one = chat()
    answer = world.log([record(one), record(one) | {field: bad}])

    partial = answer.json["partialSuccess"]
    assert (answer.status_code, partial["rejectedLogRecords"]) == (200, "1")
    assert partial["errorMessage"].startswith(f"1 log record rejected: {field} must be")
    assert world.count("log_records") == 1


@EMBEDDED_CONTAINER
def test_a_batch_of_only_malformed_records_is_400(world: World) -> None:
    bad = [record(chat()) | {"spanId": "0" * 16} for _ in range(2)]
    answer = world.log(bad)
    assert (answer.status_code, answer.json["code"]) == (400, 3)
    assert "2 log records rejected" in answer.json["error"]

    answer = world.log(bad, world.prompt())
    assert (answer.status_code, Status.FromString(answer.content).code) == (400, 3)


@EMBEDDED_CONTAINER
def test_a_malformed_record_of_protobuf_is_reported_in_protobuf(world: World) -> None:
    one = chat()
    answer = world.log([record(one), record(one, traceId="0" * 32)], world.prompt())

    partial = ExportLogsServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, partial.rejected_log_records) == (200, 1)


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("body", [b"[]", b"{", b'{"resourceLogs": 5}', b'{"resourceSpans": []}', b"[" * 100_000])
def test_what_is_no_export_is_400(world: World, body: bytes) -> None:
    answer = world.post("/api/public/otel/v1/logs", body=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json["code"]) == (400, 3)


@EMBEDDED_CONTAINER
def test_only_the_record_that_nests_too_deeply_is_rejected(world: World) -> None:
    deep = b'{"arrayValue":{"values":[' * 300 + b"]}}" * 300
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record(chat()), record(chat())]}]}]}).encode()
    at = body.rindex(b'"attributes": [') + len(b'"attributes": [')
    body = body[:at] + b'{"key": "a", "value": ' + deep + b"}, " + body[at:]
    answer = world.post("/api/public/otel/v1/logs", body=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json["partialSuccess"]["rejectedLogRecords"]) == (200, "1")


def test_records_join_no_span_of_another_project(world: World) -> None:
    stranger, prompt_id, one = new_world(world.container), world.prompt(), chat()
    send(world, prompt_id, one)
    assert stranger.log([record(one)]).status_code == 200
    assert stranger.log([record(one)], prompt_id).status_code == 404

    assert said(world, prompt_id) == (None, [])


def test_masked_records_are_stored_masked(world: World) -> None:
    assert world.put("/api/v1/data-policy", json={"masking": [{"kind": "pattern", "value": "warm"}]}).status_code == 200
    prompt_id, one = world.prompt(), chat()
    send(world, prompt_id, one)
    world.log([record(one)], prompt_id)

    assert said(world, prompt_id)[0] == "How [masked] is it?"
    with world.container.database.read() as connection:
        bodies = connection.execute(
            text("SELECT body FROM log_records WHERE project_id = :id"), {"id": world.project_id}
        ).scalars()
        assert all(b"warm" not in bytes(body) for body in bodies)


def test_records_go_with_their_session_and_those_of_others_stay(world: World) -> None:
    prompt_id, one, other = world.prompt(), chat(), chat()
    for each in (one, other):
        send(world, prompt_id, each)
        world.log([record(each)], prompt_id)
    entry = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"][0]
    assert world.delete(f"/api/v1/sessions/{entry['id']}").status_code == 204

    assert world.count("log_records") == 1
    assert said(world, prompt_id) == ("How warm is it?", ["It is 18 degrees."])


def test_records_go_with_their_prompt_and_project_spans_or_not(world: World) -> None:
    prompt_id, joined, lone, unnamed = world.prompt(), chat(), chat(), chat()
    send(world, prompt_id, joined)
    world.log([record(joined)])
    world.log([record(lone)], prompt_id)
    world.log([record(unnamed)])
    assert world.count("log_records") == 3

    deletion = world.container.services.deletion
    deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
    assert world.count("log_records") == 1
    deletion.erase_project(project_id=world.project_id)
    assert world.count("log_records") == 0


def test_a_record_waits_a_week_for_its_span(world: World) -> None:
    prompt_id, joined, lone, young = world.prompt(), chat(), chat(), chat()
    send(world, prompt_id, joined)
    for one in (joined, lone):
        world.log([record(one)], prompt_id)
    past = new_batch_id(world.container.now() - WAITS - timedelta(minutes=1))
    with world.container.database.write() as connection:
        connection.execute(
            text("UPDATE log_records SET waiting_since = :past WHERE project_id = :id"),
            {"past": past, "id": world.project_id},
        )
    world.log([record(young)], prompt_id)
    remove_waiting_rows(world)

    assert world.count("log_records") == 2
    assert said(world, prompt_id) == ("How warm is it?", ["It is 18 degrees."])
    send(world, prompt_id, young)
    entries = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    assert len(entries) == 2


def test_a_policy_of_fewer_days_holds_for_records_that_wait(world: World) -> None:
    assert world.put("/api/v1/data-policy", json={"retentionDays": {"spans": 1}}).status_code == 200
    world.log([record(chat())])
    past = new_batch_id(world.container.now() - timedelta(days=2))
    with world.container.database.write() as connection:
        connection.execute(
            text("UPDATE log_records SET waiting_since = :past WHERE project_id = :id"),
            {"past": past, "id": world.project_id},
        )
    world.log([record(chat())])
    world.container.services.retention.apply()

    assert world.count("log_records") == 1


def codex(conversation: str, *texts: str) -> dict[str, Any]:
    """Records of questions to Codex, with names that are lines of its code, as it sends them."""
    named = {"event.name": "codex.user_prompt", "conversation.id": conversation}
    records = [
        {"timeUnixNano": str(1544712660000000000 + n), "attributes": pairs_of(named | {"prompt": text})}
        for n, text in enumerate(texts)
    ]
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}


def test_records_of_codex_that_are_sent_again_are_duplicates_and_later_ones_join_their_conversation(
    world: World,
) -> None:
    prompt_id, conversation = world.prompt(), secrets.token_hex(8)
    path = f"/api/public/prompts/{prompt_id}/otel/v1/logs"

    for texts in (["Which files?"], ["Which files?"], ["Which files?", "Remove it."]):
        assert world.post(path, json=codex(conversation, *texts)).status_code == 200

    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    session = world.get(f"/api/v1/sessions/{entry['id']}").json
    assert session["conversationId"] == conversation
    assert [turn["user"] for turn in session["turns"]] == ["Which files?", "Remove it."]


def test_records_of_codex_make_the_prompt_of_a_new_agent(world: World) -> None:
    name = f"codex-{secrets.token_hex(4)}"

    assert world.post(f"/api/public/agents/{name}/otel/v1/logs", json=codex(name, "Hi")).status_code == 200

    (agent,) = [agent for agent in world.get("/api/v1/agents").json["agents"] if agent["name"] == name]
    (entry,) = world.get(f"/api/v1/prompts/{agent['promptId']}/logs").json["entries"]
    assert entry["conversationId"] == name


def test_records_of_codex_at_the_address_without_a_prompt_are_rejected_with_the_reason(world: World) -> None:
    answer = world.post("/api/public/otel/v1/logs", json=codex(secrets.token_hex(8), "Hi"))

    assert answer.status_code == 400
    assert "service.prompt.id" in answer.text


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"kind": "pattern", "value": "warm"}, "How [masked] is it?"),
        ({"kind": "pointer", "value": "/prompt"}, "[masked]"),
        ({"kind": "pointer", "value": "/gen_ai.input.messages/*/content"}, "[masked]"),
    ],
    ids=["pattern", "attribute of the record", "attribute of the span"],
)
def test_words_in_records_of_codex_are_masked(world: World, rule: dict[str, Any], words: str) -> None:
    assert world.put("/api/v1/data-policy", json={"masking": [rule]}).status_code == 200
    prompt_id, secret = world.prompt(), f"warm{world.project_id}"

    asked = f"How {secret} is it?" if rule["kind"] == "pointer" else "How warm is it?"
    world.post(f"/api/public/prompts/{prompt_id}/otel/v1/logs", json=codex(secrets.token_hex(8), asked))

    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    assert world.get(f"/api/v1/sessions/{entry['id']}").json["turns"][0]["user"] == words
    assert readable(world, secret) == []


def test_records_of_codex_become_spans_in_pieces_up_to_a_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_codex, "RECORDS_MAX", 5)
    monkeypatch.setattr(of_codex, "_PIECE", 1000)
    prompt_id, conversation = world.prompt(), secrets.token_hex(8)
    path = f"/api/public/prompts/{prompt_id}/otel/v1/logs"
    texts = [f"Question {number}" for number in range(6)]

    assert world.post(path, json=codex(conversation, *texts[:5])).json == {"partialSuccess": {}}
    refused = world.post(path, json=codex(conversation, *texts))

    assert refused.status_code == 413
    assert "first 5 records of coding agents" in refused.json["error"]
    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    session = world.get(f"/api/v1/sessions/{entry['id']}").json
    assert [turn["user"] for turn in session["turns"]] == texts[:5]


def test_a_record_of_codex_that_nests_deeper_than_json_is_written_is_left_out(world: World) -> None:
    prompt_id = world.prompt()
    batch = codex(secrets.token_hex(8), "Hi", "Hello")
    deep: dict[str, Any] = {"stringValue": "x"}
    for _ in range(200):
        deep = {"arrayValue": {"values": [deep]}}
    batch["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["attributes"].append({"key": "deep", "value": deep})

    path, headers = f"/api/public/prompts/{prompt_id}/otel/v1/logs", {"Content-Type": "application/json"}

    assert world.post(path, body=json.dumps(batch), headers=headers).status_code == 200

    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    assert [turn["user"] for turn in world.get(f"/api/v1/sessions/{entry['id']}").json["turns"]] == ["Hello"]
