"""Lists, logs, filters, observed usage, insight and the session show the same sums of what SDKs exported."""

from __future__ import annotations

import copy
import json
import random
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.ingest.test_recorded_exports import rewritten
from tests.support import protobuf
from tests.support.exports import pairs_of
from tests.support.world import World

DATA = Path(__file__).parents[2] / "data" / "otlp"
FILES = sorted(path.name for path in DATA.glob("*.json") if path.name != "expected.json")
FILES_AT_ONCE = 6
DAYS = "from=2025-12-01&to=2026-11-30"


def groups_of(batch: dict[str, Any]) -> list[dict[str, Any]]:
    """A group for each span of an export, with the scope of the span."""
    groups = [group for resource in batch["resourceSpans"] for group in resource["scopeSpans"]]
    return [{"scope": group.get("scope", {}), "spans": [span]} for group in groups for span in group["spans"]]


def copy_of(group: dict[str, Any]) -> dict[str, Any]:
    """The same call as another library records it, within the first one's span."""
    span = copy.deepcopy(group["spans"][0])
    return {
        "scope": {"name": "another library"},
        "spans": [span | {"spanId": secrets.token_hex(8), "parentSpanId": span["spanId"]}],
    }


def batches_of(chance: random.Random, groups: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The spans in any order and in batches of any size, some of them twice."""
    sent = [*groups, *chance.sample(groups, len(groups) // 4)]
    chance.shuffle(sent)
    while sent:
        size = chance.randint(1, 40)
        taken, sent = sent[:size], sent[size:]
        yield {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": taken}]}


def send(world: World, chance: random.Random, prompt_id: int) -> None:
    ids, traces = {4242: prompt_id, 4243: prompt_id}, dict[str, str]()
    files = [json.loads((DATA / name).read_text()) for name in chance.sample(FILES, FILES_AT_ONCE)]
    groups = [group for batch in files for group in groups_of(rewritten(batch, ids, traces))]
    for group in groups:
        named = {pair["key"] for pair in group["spans"][0].get("attributes", ())}
        if "service.prompt.id" not in named:
            group["spans"][0].setdefault("attributes", []).extend(pairs_of({"service.prompt.id": prompt_id}))
    groups += map(copy_of, chance.sample(groups, len(groups) // 3))
    for batch in batches_of(chance, groups):
        is_json = chance.random() < 0.5
        answer = world.send(batch) if is_json else world.send_to(prompt_id, protobuf.traces(batch))
        assert answer.status_code == 200, answer.text


def tokens(usage: dict[str, int]) -> tuple[int, int]:
    return usage["inputTokens"], usage["outputTokens"]


@pytest.mark.parametrize("seed", range(2))
def test_all_places_show_the_same_sums(world: World, seed: int) -> None:
    prompt_id = world.prompt()
    send(world, random.Random(seed), prompt_id)
    world.container.services.insight_counter.count(world.project_id)

    rows = world.get(f"/api/v1/sessions?promptId={prompt_id}&limit=200&include=all").json["sessions"]
    log = world.get(f"/api/v1/prompts/{prompt_id}/logs?limit=200&include=all").json["entries"]
    shown = [world.get(f"/api/v1/sessions/{row['id']}").json for row in rows]
    observed = world.get(f"/api/v1/usage/observed?promptId={prompt_id}&{DAYS}").json["total"]
    groups = world.get(f"/api/v1/prompts/{prompt_id}/insight?{DAYS}").json["groups"]

    assert len(rows) >= FILES_AT_ONCE // 2
    by_id = {entry["id"]: entry for entry in log}
    for row, session in zip(rows, shown, strict=True):
        entry = by_id[row["id"]]
        assert tokens(row["usage"]) == tokens(entry["usage"]) == tokens(session["usage"])
        assert row["turns"] == entry["turns"] == len(session["turns"])
        assert row["errors"] == entry["errors"]
        tools = [step for turn in session["turns"] for step in turn["steps"] if step.get("source") == "span"]
        assert row["toolCalls"] == len(tools)
        whole = session["cost"] and session["cost"]["total"]
        assert [row["cost"], entry["cost"]] == pytest.approx([whole, whole])
    both = tuple(map(sum, zip(*(tokens(row["usage"]) for row in rows), strict=True)))
    costs = sum(row["cost"] or 0 for row in rows)
    assert (observed["tokens"]["prompt"], observed["tokens"]["completion"]) == both
    assert (observed["cost"] or {"total": 0})["total"] == pytest.approx(costs)
    assert tuple(sum(g["sessions"][name] for g in groups) for name in ("inputTokens", "outputTokens")) == both
    assert sum(group["sessions"]["cost"] for group in groups) == pytest.approx(costs)
    check_filters(world, prompt_id, rows)


def check_filters(world: World, prompt_id: int, rows: list[dict[str, Any]]) -> None:
    """Sessions are found by exactly the sums that they show."""
    for row in rows[:5]:
        spent, turns = sum(tokens(row["usage"])), row["turns"]
        exact = f"minTokens={spent}&maxTokens={spent}&minTurns={turns}&maxTurns={turns}"
        exact += f"&errors={'true' if row['errors'] else 'false'}&include=all&limit=200"
        listed = world.get(f"/api/v1/sessions?promptId={prompt_id}&{exact}").json["sessions"]
        same = [other for other in rows if (sum(tokens(other["usage"])), other["turns"]) == (spent, turns)]
        assert [one["id"] for one in listed] == [
            one["id"] for one in same if bool(one["errors"]) == bool(row["errors"])
        ]
