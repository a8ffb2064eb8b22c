"""The batches of instrumentations that write words only to log records give complete sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.ingest.test_log_records import chat, record, send
from tests.integration.ingest.test_recorded_exports import DATA, rewritten
from tests.support import protobuf
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import value_of
from tests.support.world import World

RUNS = sorted(path.name.removesuffix(".logs.json") for path in DATA.glob("logs/*.logs.json"))
TURNS = [
    (
        "Where is order 1042?",
        [
            ("get_order", {"order_id": "1042"}, {"order_id": "1042", "state": "shipped", "city": "Oslo"}),
            "Order 1042 has shipped from Oslo.",
        ],
        {"inputTokens": 19, "outputTokens": 6},
    ),
    (
        "What is the weather there?",
        [("get_weather", {"city": "Oslo"}, {"city": "Oslo", "celsius": 4, "sky": "rain"}), "It rains in Oslo."],
        {"inputTokens": 43, "outputTokens": 4},
    ),
]
TOKENS = {"noo.responses": [{"inputTokens": 8, "outputTokens": 6}, {"inputTokens": 30, "outputTokens": 4}]}


def only_session(world: World, prompt_id: int) -> Any:
    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    return world.get(f"/api/v1/sessions/{entry['id']}").json


def shown(step: Any) -> Any:
    return step["text"] if step["kind"] == "answer" else (step["name"], step["arguments"], step["result"])


def records_in(batch: Any) -> list[Any]:
    return [one for found in batch["resourceLogs"] for logged in found["scopeLogs"] for one in logged["logRecords"]]


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("own_address", [True, False])
@pytest.mark.parametrize("logs_first", [True, False])
@pytest.mark.parametrize("run", RUNS)
def test_a_session_of_log_records_is_complete(world: World, run: str, logs_first: bool, own_address: bool) -> None:
    prompt_id, ids = world.prompt(), dict[str, str]()
    spans, logs = (
        rewritten(json.loads((DATA / "logs" / f"{run}.{kind}.json").read_text()), {}, ids)
        for kind in ("traces", "logs")
    )

    def send_spans() -> None:
        assert world.send_to(prompt_id, protobuf.traces(spans)).content == b""

    def send_records() -> None:
        answer = world.log(records_in(logs), prompt_id if own_address else None)
        assert answer.content == (b"" if own_address else b'{"partialSuccess":{}}')

    for step in (send_records, send_spans) if logs_first else (send_spans, send_records):
        step()

    session = only_session(world, prompt_id)
    assert session["conversationId"] == f"conv-{run}"
    turns = session["turns"]
    expected = [
        (user, steps, TOKENS[run][at] if run in TOKENS else usage) for at, (user, steps, usage) in enumerate(TURNS)
    ]
    assert [(turn["user"], list(map(shown, turn["steps"])), turn["usage"]) for turn in turns] == expected
    assert [turn["warnings"] for turn in turns] == [[], []]


def test_words_that_are_repeated_at_one_time_are_kept_twice(world: World) -> None:
    prompt_id, one = world.prompt(), chat()
    call = {"type": "function", "id": "c1", "function": {"name": "try", "arguments": "{}"}}
    said = [
        ("gen_ai.user.message", {"content": "Again."}),
        ("gen_ai.assistant.message", {"tool_calls": [call]}),
        ("gen_ai.tool.message", {"id": "c1", "content": "No luck."}),
        ("gen_ai.assistant.message", {"content": "No luck."}),
        ("gen_ai.user.message", {"content": "Again."}),
        ("gen_ai.choice", {"index": 0, "message": {"content": "Luck."}}),
    ]
    logged = [record(one, name, {"gen_ai.system": "openai"}, body=value_of(body)) for name, body in said]
    for _ in range(2):
        assert world.log(logged, prompt_id).status_code == 200
    send(world, prompt_id, one)

    [turn] = only_session(world, prompt_id)["turns"]
    assert (turn["user"], [step["text"] for step in turn["steps"]]) == ("Again.", ["Luck."])
    assert world.count("log_records") == len(said)
