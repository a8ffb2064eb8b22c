"""Three masking rules once made 12 MB of 11 characters: no rule may make more of a text than was sent."""

from __future__ import annotations

from typing import Any

import pytest
from falcon.testing import Result
from sqlalchemy import text

from app.models import data_policies
from app.models.data_policies import DataPolicy
from app.services.masking import rules as masking
from tests.support.exports import export, span
from tests.support.readable import readable
from tests.support.world import World

LONG = "a" * 100
SECRET = "4111111111111111"


def put(world: World, *rules: dict[str, Any]) -> Result:
    return world.put("/api/v1/data-policy", json={"masking": list(rules)})


def stored_before(world: World, *rules: dict[str, Any]) -> None:
    """Rules as they could once be set."""
    with world.container.database.write() as connection:
        policy = DataPolicy(masking=[{"kind": "pattern", "replacement": "[masked]"} | rule for rule in rules])
        data_policies.put_policy(connection, project_id=world.project_id, policy=policy)


def stored_bytes(world: World) -> int:
    with world.container.database.read() as connection:
        statement = text("SELECT MAX(LENGTH(body)) FROM spans WHERE project_id = :id")
        return int(connection.execute(statement, {"id": world.project_id}).scalar_one())


def test_three_rules_that_match_the_empty_text_are_refused(world: World) -> None:
    rule = {"kind": "pattern", "value": "a*", "replacement": LONG}
    answer = put(world, {"kind": "pattern", "value": "b"}, rule, rule)

    assert answer.status_code == 400
    assert answer.json["error"].startswith("masking.1.value: matches the empty text")


def test_rules_that_were_stored_before_make_no_megabytes_and_stop_no_ingest(world: World) -> None:
    stored_before(world, *[{"value": "a*", "replacement": LONG}] * 3, {"value": r"\d{16}"})
    sent = export(span({"service.prompt.id": world.prompt(), "app.note": "abcabcabcab", "app.card": SECRET}))

    assert world.send(sent).json == {"partialSuccess": {}}
    assert stored_bytes(world) < len(sent) + 1024 * 1024 + 100
    assert readable(world, SECRET) == []


def test_a_span_that_its_rules_would_multiply_is_stored_masked_whole(world: World) -> None:
    rules = [{"kind": "pattern", "value": r"\d", "replacement": "9" * 100}] * 4
    assert put(world, *rules).status_code == 200
    sent = export(span({"service.prompt.id": world.prompt(), "app.cards": f"{SECRET} " * 5_000}))

    assert world.send(sent).json == {"partialSuccess": {}}
    assert stored_bytes(world) < len(sent) + 1024 * 1024
    assert readable(world, SECRET) == []


@pytest.mark.parametrize(("name", "numbers"), [("Ada", 0), ("chat", 1_000)], ids=["without a name", "longer numbers"])
def test_only_a_span_that_its_rules_make_too_large_to_store_is_rejected(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, numbers: int
) -> None:
    monkeypatch.setattr(masking, "SPAN_BYTES_MAX", 10_000)
    assert put(world, {"kind": "pattern", "value": "Ada", "replacement": ""}).status_code == 200
    prompt_id = world.prompt()
    good = span({"service.prompt.id": prompt_id}, spanId="b" * 16)
    many = ",".join(["1e15"] * numbers + ['"Ada"'])
    bad = span({"service.prompt.id": prompt_id, "app.numbers": f"[{many}]"}, name=name)

    assert world.send(export(good, bad)).json["partialSuccess"]["rejectedSpans"] == "1"
    assert world.count("spans") == 1


def test_a_run_that_its_rules_would_multiply_is_kept_masked_whole(world: World) -> None:
    rules = [{"kind": "pattern", "value": r"\d", "replacement": "9" * 100}] * 4
    assert put(world, *rules).status_code == 200
    asked = {"id": world.prompt(), "productive": False, "question": SECRET, "placeholders": {SECRET: "x"}}
    answer = world.post("/api/v1/prompts/run", json=asked)

    assert answer.status_code == 200
    assert answer.json["answer"] == SECRET
    assert readable(world, SECRET) == []
    [entry] = world.get(f"/api/v1/prompts/{asked['id']}/logs").json["entries"]
    assert len(entry["preview"]) < 2 * 1024 * 1024
