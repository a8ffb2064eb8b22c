"""The fullest objects of a project: each has as many parts as a limit allows, and where none does, as a user may make.

A share of 1 fills them to their limits, a smaller one to this part of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from app.process.bootstrap import freeze_gc
from app.replay.case_limits import CASE_MATCHERS_MAX, MATCHERS_MAX, STEPS_MAX, TURNS_MAX
from app.schemas.runs import QUESTION_MAX
from app.services.experiments.guard_maps import SENTENCES_MAX
from app.services.prompts.labels import LABELS_MAX
from app.services.replays.frozen import TEST_CASES_PER_START
from app.sessions.turn_texts import TEXT_MAX
from bench.worst import experiments, many, texts
from bench.worst.rows import copy_row
from bench.worst.stage import Size, Stage, stage
from tests.support.full_project import decided
from tests.support.waiting import wait_until

VERSIONS, DRAFTS = 2_000, 200
BATCH_BYTES = 48 * 1024 * 1024
SPANS = 20_000
LARGE_TEXT, LONG_TEXTS = 400_000, 100
CASE_BYTES = 3_500_000
REPLAYS_OF_BATCH, LARGE_OF_BATCH, LARGE_CASES = 500, 8, 20
TOOLS, TOOL_FIELDS = 128, 20
PATIENCE_S = 900
UNFINISHED = ("queued", "running")


@contextmanager
def full_stage(share: float) -> Iterator[Stage]:
    with stage() as made:
        fill(made, Size(share))
        freeze_gc()  # as the servers do once they are built
        yield made


def fill(made: Stage, size: Size, listed: Size | None = None) -> None:
    """Put the ids of the fullest objects into the stage's: `prompt_id` of one that has them all.

    `listed` is the size of what the project and its organization list, where that is another one.
    """
    made.ids |= _prompt(made, size)
    for name, make in SESSIONS.items():
        made.ids |= _session(made, name, make(made.ids["prompt_id"], size))
    for name, document in CASES.items():
        made.ids |= _case(made, name, document(size))
    made.ids |= _long_texts(made, size)
    _batches(made, size)
    made.index()
    many.fill(made, listed or size)
    made.ids |= {"session_id": made.ids["session_many_turns"], "delivery_id": made.newest("webhook_deliveries")}
    made.ids |= {"test_case_id": made.ids["test_case_steps"], "replay_id": made.ids["replay_steps"]}
    made.index()


def _prompt(stage: Stage, size: Size) -> Mapping[str, Any]:
    body = texts.big_prompt(size.factor(100), size.of(300_000))
    prompt_id = stage.made("/api/v1/prompts", body | {"languageModelConfig": {"tools": _tools(size)}})["prompt"]["id"]
    path = f"/api/v1/prompts/{prompt_id}"
    first = stage.world.get(path).json["commitHash"]
    stage.world.patch(path, json={"value": texts.changed(body["value"])})
    stage.made(f"{path}/commit", {"message": "x" * 500})
    database = stage.world.container.database
    hashes: dict[str, Callable[[int], Any]] = {"commit_hash": lambda number: sha256(b"%d" % number).hexdigest()}
    copy_row(
        database, "prompt_versions", stage.newest("prompt_versions"), size.of(VERSIONS), **hashes, value=lambda _: "x"
    )
    for number in range(size.of(LABELS_MAX)):
        moved = stage.world.put(f"{path}/labels/{number:064}", json={"commitHash": first})
        assert moved.status_code == 200, moved.text
    copy_row(database, "label_versions", stage.newest("label_versions"), size.of(VERSIONS), **hashes)
    return {"prompt_id": prompt_id, "commit_hash": first, "label": f"{0:064}"}


def _tools(size: Size) -> list[dict[str, Any]]:
    fields = {f"field_{number}": {"type": "string"} for number in range(TOOL_FIELDS)}
    parameters = {"type": "object", "properties": fields}
    return [{"name": f"tool_{number}", "parameters": parameters} for number in range(size.copies(TOOLS))]


def _many_turns(prompt_id: int, size: Size) -> Iterator[bytes]:
    turns = size.of(texts.TURNS)
    for start in range(0, turns, 1_000):
        yield texts.turns(prompt_id, (prompt_id << 40) + start, min(1_000, turns - start))


def _large_texts(prompt_id: int, size: Size) -> Iterator[bytes]:
    """A turn for each hostile text."""
    length = size.of(LARGE_TEXT)
    for number in range(len(texts.HOSTILE)):
        text = texts.hostile(number, length)
        words = texts.said(text, text, conversation="large")
        yield texts.batch(texts.span(prompt_id, (prompt_id << 40) + 10**9 + number, 1, *words))


def _many_spans(prompt_id: int, size: Size) -> Iterator[bytes]:
    """A turn of many tool calls, each within the one before."""
    called = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "tool_0", "gen_ai.conversation.id": "wide"}
    listed = [texts.attribute(key, value) for key, value in called.items()]
    arguments = [texts.attribute("gen_ai.tool.call.arguments", json.dumps({f"k{n}": n for n in range(8)}))]
    spans = [
        texts.span(prompt_id, (prompt_id << 40) + 2 * 10**9, number, *listed, *arguments, parent=number - 1)
        for number in range(1, size.of(SPANS))
    ]
    yield texts.batch(*spans)


SESSIONS: Mapping[str, Callable[[int, Size], Iterator[bytes]]] = {
    "many_turns": _many_turns,
    "large_texts": _large_texts,
    "many_spans": _many_spans,
}


def _session(stage: Stage, name: str, batches: Iterator[bytes]) -> Mapping[str, Any]:
    for body in batches:
        stage.store(body)
    entries = stage.world.get(f"/api/v1/prompts/{stage.ids['prompt_id']}/logs").json["entries"]
    return {f"session_{name}": next(entry["id"] for entry in entries if entry["type"] == "otel")}


def _long_texts(stage: Stage, size: Size) -> Mapping[str, Any]:
    """Sessions of one turn with as many words as the search reads of each text, and runs of the longest questions."""
    prompt_id = stage.ids["prompt_id"]
    for _ in range(size.copies(LONG_TEXTS) // 10 + 1):
        stage.store(texts.long_turns(prompt_id, 10, size.of(TEXT_MAX)))
    for number in range(len(texts.HOSTILE)):
        question = texts.hostile(number, size.of(QUESTION_MAX) // 4)
        run = stage.world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": question, "productive": False})
        assert run.status_code == 200, run.text
    return {"run_id": int(run.headers["X-Run-Id"])}


def _call(number: int, **fields: Any) -> dict[str, Any]:
    return {"kind": "tool_call", "name": f"tool_{number % 7}", "arguments": {"n": number}, "result": number, **fields}


def _answer(text: str = "It is so.", **check: Any) -> dict[str, Any]:
    return {"kind": "answer", "text": text, "check": {"answer": "meaning", **check}}


def _of_steps(size: Size) -> dict[str, Any]:
    steps = [_call(number) for number in range(size.of(STEPS_MAX - 1))]
    return {"turns": [{"user": "What is it?", "steps": [*steps, _answer()]}]}


def _of_turns(size: Size) -> dict[str, Any]:
    turn = {"user": "What is it?", "steps": [_call(1), _answer()]}
    return {"turns": [turn] * size.of(TURNS_MAX)}


def _of_texts(size: Size) -> dict[str, Any]:
    kinds = len(texts.HOSTILE)
    length = size.of(CASE_BYTES) // kinds // 4
    answers = (texts.hostile(number, length) for number in range(kinds))
    return {"turns": [{"user": text[:1_000], "steps": [_answer(text)]} for text in answers]}


def _of_matchers(size: Size) -> dict[str, Any]:
    keys = [f"key_{number}" for number in range(size.factor(MATCHERS_MAX))]
    matchers = {f"/{key}": "text" for key in keys}
    call = _call(1, arguments=dict.fromkeys(keys, "x" * 300), check={"arguments": matchers})
    return {
        "turns": [{"user": "What is it?", "steps": [call] * size.factor(CASE_MATCHERS_MAX // MATCHERS_MAX - 1)}],
        "tools": {"tool_1": {"arguments": matchers}},
    }


CASES: Mapping[str, Callable[[Size], dict[str, Any]]] = {
    "steps": _of_steps,
    "turns": _of_turns,
    "texts": _of_texts,
    "matchers": _of_matchers,
}


def _case(stage: Stage, name: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    body = {"format": "reprise.test-case/2", "name": name, "testCase": document}
    case = stage.made(f"/api/v1/prompts/{stage.ids['prompt_id']}/test-cases/import", body)
    path = f"/api/v1/test-cases/{case['id']}"
    replay_id = _accepted(stage, f"{path}/replays", {}, "/api/v1/replays/{}")
    return {f"test_case_{name}": case["id"], f"replay_{name}": replay_id}


def _accepted(stage: Stage, path: str, body: Any, location: str) -> int:
    """Start what runs in a worker, and wait for its end."""
    answer = stage.world.post(path, json=body)
    assert answer.status_code == 202, answer.text
    made: int = answer.json["id"]
    path = location.format(made)
    wait_until(lambda: stage.world.get(path).json["status"] not in UNFINISHED, path, timeout_s=PATIENCE_S)
    return made


def _batches(stage: Stage, size: Size) -> None:
    """Many small test cases with an experiment on all, calibrations, and batches of replays: small and large ones."""
    prompt, database = f"/api/v1/prompts/{stage.ids['prompt_id']}", stage.world.container.database
    audit_id = _accepted(stage, f"{prompt}/judge-audits", {"probes": size.copies(40)}, "/api/v1/judge-audits/{}")
    for name in CASES:
        copy_row(database, "replays", stage.ids[f"replay_{name}"], size.copies(LARGE_OF_BATCH))
        copy_row(database, "test_cases", stage.ids[f"test_case_{name}"], size.copies(LARGE_CASES))
    small = stage.made(f"{prompt}/test-cases", {"question": "What is it?", "expectedAnswer": "It is so."})["id"]
    replay_id = _accepted(stage, f"/api/v1/test-cases/{small}/replays", {}, "/api/v1/replays/{}")
    copy_row(database, "replays", replay_id, size.of(REPLAYS_OF_BATCH))
    copy_row(database, "test_cases", small, size.of(TEST_CASES_PER_START - 1))
    calibrations = f"/api/v1/test-cases/{stage.ids['test_case_turns']}/calibrations"
    calibration_id = _accepted(stage, calibrations, {"repeats": 2}, "/api/v1/calibrations/{}")
    small_ids = [case["id"] for case in stage.world.get(f"{prompt}/test-cases").json["testCases"]]
    # Another text than the draft: an experiment uses the results of equal contents again, and would play nothing.
    rules = "".join(f"Never do the {number} of them.\n" for number in range(size.of(SENTENCES_MAX)))
    mapped = {"testCaseIds": [small], "candidate": {"base": "draft", "value": rules}}
    stage.ids |= {
        "audit_id": audit_id,
        "map_id": _accepted(stage, f"{prompt}/guard-maps", mapped, "/api/v1/guard-maps/{}"),
        "schedule_id": stage.made(f"{prompt}/schedules", {"cron": "0 3 * * *"})["id"],
        "suite_id": stage.made(f"{prompt}/suites", {"name": "release", "testCaseIds": small_ids})["id"],
        "finding_id": decided(stage.world, stage.ids["prompt_id"]),
        "calibration_id": calibration_id,
        "replay_small": replay_id,
        "test_case_small": small,
    }
    stage.ids |= experiments.fill(stage, size, small, replay_id)
