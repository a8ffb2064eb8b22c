"""Evaluations that telemetry reports, in log records or among a span's events, are scores of the span's session."""

from __future__ import annotations

import json
import secrets
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from app.models.queries import new_batch_id
from app.otlp.evaluations import COMMENT_MAX
from app.services.ingest.log_records import WAITS
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import export, pairs_of, span
from tests.support.protobuf import traces
from tests.support.sweeping import remove_waiting_rows
from tests.support.world import World, new_world

RESULT = "gen_ai.evaluation.result"
AT = "1544712660500000000"
RELEVANT = {
    "gen_ai.evaluation.name": "Relevance",
    "gen_ai.evaluation.score.value": 0.75,
    "gen_ai.evaluation.score.label": "relevant",
    "gen_ai.evaluation.explanation": "It answers the question <b>🙂</b>.",
}


def chat(prompt_id: int, *events: dict[str, Any], **fields: Any) -> dict[str, Any]:
    said = {"role": "user", "content": "How warm is it?"}, {"role": "assistant", "content": "18 degrees."}
    attributes = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(said[:1]),
        "gen_ai.output.messages": json.dumps(said[1:]),
    }
    ids = {"traceId": secrets.token_hex(16), "spanId": secrets.token_hex(8)}
    return span(attributes, **ids | fields, events=list(events))


def event(attributes: dict[str, Any] = RELEVANT, at: str = AT) -> dict[str, Any]:
    return {"name": RESULT, "timeUnixNano": at, "attributes": pairs_of(attributes)}


def record(of: dict[str, Any], attributes: dict[str, Any] = RELEVANT, at: str = AT) -> dict[str, Any]:
    named = {"traceId": of["traceId"], "spanId": of["spanId"], "timeUnixNano": at}
    return named | {"eventName": RESULT, "attributes": pairs_of(attributes)}


def session(world: World, prompt_id: int) -> Any:
    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    return world.get(f"/api/v1/sessions/{entry['id']}").json


def scores(world: World, prompt_id: int) -> list[Any]:
    found: list[Any] = session(world, prompt_id)["scores"]
    return found


def relevance(of: dict[str, Any], **fields: Any) -> dict[str, Any]:
    told = {"name": "Relevance", "value": 0.75, "label": "relevant", "comment": "It answers the question <b>🙂</b>."}
    return told | {"source": "otlp", "target": {"traceId": of["traceId"], "spanId": of["spanId"]}} | fields


def send(world: World, prompt_id: int, one: dict[str, Any], *, protobuf: bool) -> None:
    if protobuf:
        assert world.send_to(prompt_id, traces(export(one))).content == b""
    else:
        assert world.send(export(one)).json == {"partialSuccess": {}}


@pytest.mark.parametrize("first", ["span", "record"])
@pytest.mark.parametrize("own_address", [True, False])
def test_a_record_scores_its_span_whichever_comes_first(world: World, first: str, own_address: bool) -> None:
    prompt_id = world.prompt()
    one = chat(prompt_id)
    if first == "span":
        send(world, prompt_id, one, protobuf=own_address)
        assert scores(world, prompt_id) == []
    answer = world.log([record(one)], prompt_id if own_address else None)
    assert (answer.status_code, answer.content) == (200, b"" if own_address else b'{"partialSuccess":{}}')
    if first == "record":
        send(world, prompt_id, one, protobuf=own_address)

    assert scores(world, prompt_id) == [relevance(one)]


@pytest.mark.parametrize("protobuf", [True, False])
def test_a_span_may_carry_its_scores_as_events(world: World, protobuf: bool) -> None:
    prompt_id = world.prompt()
    one = chat(prompt_id, event(), event({"gen_ai.evaluation.name": "toxic", "gen_ai.evaluation.score.label": "no"}))
    send(world, prompt_id, one, protobuf=protobuf)

    toxic = relevance(one, name="toxic", value=None, label="no", comment=None)
    assert sorted(scores(world, prompt_id), key=lambda score: str(score["name"])) == [relevance(one), toxic]


def test_an_evaluation_gives_the_score_that_a_program_would_give(world: World) -> None:
    prompt_id = world.prompt()
    tone = {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.explanation": "größe 🙂"}
    one = chat(prompt_id, event(tone | {"gen_ai.evaluation.score.value": 1}))
    send(world, prompt_id, one, protobuf=False)
    world.log([record(one, tone | {"gen_ai.evaluation.score.label": "kind"}, str(int(AT) + 1))], prompt_id)
    target = {"traceId": one["traceId"], "spanId": one["spanId"]}
    for value in (1, "kind"):
        given = {"name": "tone", "value": value, "comment": "größe 🙂", "target": target}
        assert world.post("/api/v1/scores", json=given).status_code == 201

    kept: dict[str, list[Any]] = {"otlp": [], "api": []}
    for score in sorted(scores(world, prompt_id), key=lambda score: str(score["label"])):
        kept[score["source"]].append([score[name] for name in ("name", "value", "label", "comment", "target")])
    assert len(kept["otlp"]) == 2
    assert kept["otlp"] == kept["api"]


def test_a_score_of_the_same_span_name_and_time_is_stored_once_wherever_it_comes_from(world: World) -> None:
    prompt_id = world.prompt()
    one = chat(prompt_id, event())
    changed = RELEVANT | {"gen_ai.evaluation.score.value": 0.5}
    for _ in range(2):
        send(world, prompt_id, one, protobuf=False)
        world.log([record(one), record(one, changed)])
        world.log([record(one)], prompt_id)
    assert scores(world, prompt_id) == [relevance(one)]

    world.log([record(one, at="1544712660500000001"), record(one, RELEVANT | {"gen_ai.evaluation.name": "Tone"})])
    send(world, prompt_id, chat(prompt_id, event(), traceId=one["traceId"]), protobuf=False)
    assert [score["name"] for score in scores(world, prompt_id)] == ["Relevance", "Tone", "Relevance", "Relevance"]


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({"intValue": "1"}, 1.0),
        ({"doubleValue": 0}, 0.0),
        ({"doubleValue": -0.5}, -0.5),
        ({"doubleValue": "NaN"}, None),
        ({"doubleValue": "-Infinity"}, None),
        ({"boolValue": True}, None),
        ({"stringValue": "0.5"}, None),
        ({"arrayValue": {"values": [{"doubleValue": 1}]}}, None),
    ],
)
@pytest.mark.parametrize("own_address", [True, False])
def test_a_value_that_is_no_finite_number_is_null(
    world: World, value: Any, stored: float | None, own_address: bool
) -> None:
    prompt_id = world.prompt()
    one = chat(prompt_id)
    send(world, prompt_id, one, protobuf=False)
    told = record(one)
    told["attributes"][1]["value"] = value
    assert world.log([told], prompt_id if own_address else None).status_code == 200

    assert [score["value"] for score in scores(world, prompt_id)] == [stored]


def test_long_names_and_comments_are_cut_and_texts_of_any_kind_are_kept(world: World) -> None:
    prompt_id = world.prompt()
    one = chat(prompt_id)
    send(world, prompt_id, one, protobuf=False)
    comment = "</script>\0🙂" * 20_000
    long = {
        "gen_ai.evaluation.name": "é" * 1000,
        "gen_ai.evaluation.score.label": "🙂" * 1000,
        "gen_ai.evaluation.explanation": comment,
    }
    assert world.log([record(one, long)]).status_code == 200

    (found,) = scores(world, prompt_id)
    assert (found["name"], found["label"], found["comment"]) == ("é" * 255, "🙂" * 255, comment[:COMMENT_MAX])


def test_a_record_that_names_no_span_is_no_score(world: World) -> None:
    prompt_id = world.prompt()
    one = chat(prompt_id, event({"gen_ai.evaluation.name": "alone"}), {"name": RESULT, "attributes": None})
    send(world, prompt_id, one, protobuf=False)
    nothing: tuple[dict[str, Any], ...] = ({}, {"gen_ai.evaluation.score.value": 1.0}, {"gen_ai.evaluation.name": "n"})
    assert world.log([record(one, attributes) for attributes in nothing]).json == {"partialSuccess": {}}
    assert world.log([record(one) | {"spanId": ""}]).json == {"partialSuccess": {}}

    assert world.count("scores") == 0


def test_scores_join_no_span_of_another_project(world: World) -> None:
    stranger, prompt_id = new_world(world.container), world.prompt()
    one = chat(prompt_id)
    send(world, prompt_id, one, protobuf=False)
    assert stranger.log([record(one)]).status_code == 200
    assert stranger.log([record(one)], prompt_id).status_code == 404

    assert scores(world, prompt_id) == []


def test_a_trace_of_two_prompts_shows_each_prompt_the_scores_of_its_spans(world: World) -> None:
    mine, yours = world.prompt(), world.prompt()
    one = chat(mine)
    other = chat(yours, traceId=one["traceId"])
    assert world.send(export(one, other)).status_code == 200
    world.log([record(one), record(other)])

    assert (scores(world, mine), scores(world, yours)) == ([relevance(one)], [relevance(other)])


def test_masked_scores_are_stored_masked(world: World) -> None:
    masking = {"masking": [{"kind": "pattern", "value": "question"}]}
    assert world.put("/api/v1/data-policy", json=masking).status_code == 200
    prompt_id = world.prompt()
    one, other = chat(prompt_id, event()), chat(prompt_id)
    for each in (one, other):
        send(world, prompt_id, each, protobuf=False)
    world.log([record(other)], prompt_id)

    with world.container.database.read() as connection:
        found = connection.execute(
            text("SELECT comment FROM scores WHERE project_id = :id"), {"id": world.project_id}
        ).scalars()
        assert list(found) == ["It answers the [masked] <b>🙂</b>."] * 2


def test_scores_go_with_their_session_and_those_of_others_stay(world: World) -> None:
    prompt_id = world.prompt()
    one, other = chat(prompt_id, event()), chat(prompt_id, event())
    for each in (one, other):
        send(world, prompt_id, each, protobuf=False)
    newest = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"][0]["id"]
    assert world.delete(f"/api/v1/sessions/{newest}").status_code == 204

    assert world.count("scores") == 1
    assert len(scores(world, prompt_id)) == 1


def test_scores_go_with_their_prompt_and_project_spans_or_not(world: World) -> None:
    prompt_id = world.prompt()
    joined, lone, unnamed = chat(prompt_id, event()), chat(prompt_id), chat(prompt_id)
    send(world, prompt_id, joined, protobuf=False)
    world.log([record(lone)], prompt_id)
    world.log([record(unnamed)])
    assert world.count("scores") == 3

    deletion = world.container.services.deletion
    deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
    assert world.count("scores") == 1
    deletion.erase_project(project_id=world.project_id)
    assert world.count("scores") == 0


@pytest.mark.parametrize("by", ["clock", "policy"])
def test_a_score_waits_for_its_span_as_long_as_a_record_does(world: World, by: str) -> None:
    days = WAITS if by == "clock" else timedelta(1)
    assert world.put("/api/v1/data-policy", json={"retentionDays": {"spans": 1}}).status_code == 200
    prompt_id = world.prompt()
    joined, lone, young = chat(prompt_id), chat(prompt_id), chat(prompt_id)
    send(world, prompt_id, joined, protobuf=False)
    world.log([record(joined), record(lone)])
    past = new_batch_id(world.container.now() - days - timedelta(minutes=1))
    with world.container.database.write() as connection:
        connection.execute(
            text("UPDATE scores SET waiting_since = :past WHERE project_id = :id"),
            {"past": past, "id": world.project_id},
        )
    world.log([record(young)])
    if by == "clock":
        remove_waiting_rows(world)
    else:
        world.container.services.retention.apply()

    assert world.count("scores") == 2
    assert scores(world, prompt_id) == [relevance(joined)]


def test_an_export_of_sessions_has_their_scores(world: World) -> None:
    prompt_id = world.prompt()
    one = chat(prompt_id, event())
    send(world, prompt_id, one, protobuf=False)

    (line,) = world.get(f"/api/v1/prompts/{prompt_id}/exports/sessions").text.splitlines()
    assert json.loads(line)["scores"] == [relevance(one)]
