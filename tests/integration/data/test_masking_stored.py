"""Masked text reaches no table, and a project's retention is set over the API."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from falcon.testing import Result

from app.errors import Unavailable
from app.services.masking.rules import MaskingRules
from tests.support.exports import export, span
from tests.support.readable import keys_with, readable, tables_with
from tests.support.world import World

MASKING = [
    {"kind": "pattern", "value": r"[\w.]+@[\w.]+", "replacement": "[mail]"},
    {"kind": "pointer", "value": "/gen_ai.tool.call.arguments/name", "replacement": "[masked]"},
]


def put(world: World, policy: Any) -> Result:
    return world.client.simulate_put("/api/v1/data-policy", headers=world.headers, json=policy)


def test_what_is_masked_is_in_no_table(world: World) -> None:
    secret = f"ada{world.project_id}@example.org"
    prompt_id = world.prompt()
    assert put(world, {"masking": MASKING}).status_code == 200
    messages = f'[{{"role": "user", "parts": [{{"type": "text", "content": "I am {secret}"}}]}}]'
    attributes = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": secret,
        "gen_ai.input.messages": messages,
    }

    batch = export(span(attributes), scope=f"agent of {secret}")
    assert world.send(batch).json == {"partialSuccess": {}}
    plain = span({"service.prompt.id": prompt_id}, spanId="00f067aa0ba902b7")
    assert world.send(export(plain, scope=f"tool of {secret}")).json == {"partialSuccess": {}}
    assert world.send(export(span({"service.prompt.id": 2**62}, name=f"mail {secret}"))).status_code == 400

    # The name is kept up to its 100th character, which is within the secret.
    cut = f"{'x' * 95}{secret}"
    assert world.send(export(span({"service.prompt.id": 2**62}, name=cut))).status_code == 400
    assert readable(world, "xxx" + secret[:4]) == []

    assert readable(world, secret) == []
    [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    assert entry["preview"] == "I am [mail]"
    assert entry["conversationId"].startswith("masked-")


def test_what_is_masked_is_in_no_id_and_no_unknown_field(world: World) -> None:
    secret = f"eve{world.project_id}@example.org"
    assert put(world, {"masking": MASKING}).status_code == 200
    stored = span({"service.prompt.id": world.prompt()}, traceState=f"to={secret}", note={"by": secret})
    rejected = [span(traceId=f"of {secret}"), span(spanId=secret), span(traceId=f"{'x' * 60}{secret}")]

    assert world.send(export(stored, *rejected)).status_code == 200

    assert (readable(world, secret), readable(world, "xxx" + secret[:4])) == ([], [])
    shown = world.get("/api/v1/rejected-spans").json["rejectedSpans"]
    assert {entry["traceId"] for entry in shown} == {"of [mail]", span()["traceId"], "[masked]"}


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "gzip"}], ids=["plain", "gzip"])
@pytest.mark.parametrize("masks", [True, False])
def test_a_batch_waits_sealed_where_the_project_masks(
    world: World, monkeypatch: pytest.MonkeyPatch, masks: bool, headers: dict[str, str]
) -> None:
    prompt_id, word = world.prompt(), f"word{world.project_id}"
    put(world, {"masking": MASKING if masks else []})
    mailbox, waiting = world.container.mailbox, []
    put_in = mailbox.put

    def look(key: str, ticket: str, *args: Any, **kwargs: Any) -> Any:
        claim = put_in(key, ticket, *args, **kwargs)
        # Compressed it could be read, too: what can't be is no longer what was sent.
        waiting.append(mailbox.read(key, ticket)[0])
        return claim

    monkeypatch.setattr(mailbox, "put", look)
    body = export(span({"service.prompt.id": prompt_id, "note": word}))
    sent = gzip.compress(body) if headers else body

    assert world.send(sent, **{name.replace("-", "_"): value for name, value in headers.items()}).status_code == 200
    assert ([sent] == waiting) is not masks
    assert word.encode() not in waiting[0] or not masks
    assert keys_with(world, word) == []
    assert tables_with(world, word) == ["spans"]


def test_a_batch_is_refused_while_the_rules_can_not_be_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    word = f"word{world.project_id}"
    batch = export(span({"service.prompt.id": world.prompt(), "note": word}))

    def away(_rules: MaskingRules, _project_id: int) -> None:
        raise Unavailable("The database is not available; try again.")

    monkeypatch.setattr(MaskingRules, "of", away)
    assert world.send(batch).status_code == 503
    assert readable(world, word) == []


def test_without_rules_every_byte_is_stored_as_it_came(world: World) -> None:
    word = f"plain{world.project_id}@example.org"
    world.send(export(span({"service.prompt.id": world.prompt(), "note": word})))
    assert "spans" in tables_with(world, word)


def test_a_policy_is_read_as_it_was_set_and_forgotten_as_a_whole(world: World) -> None:
    days = {"spans": 30, "runs": 90, "replays": None, "rejectedSpans": 7}
    kept = {"retentionDays": days, "masking": MASKING}
    assert put(world, kept).json == kept
    assert world.get("/api/v1/data-policy").json == kept
    put(world, {})
    assert world.get("/api/v1/data-policy").json == {"retentionDays": dict.fromkeys(days), "masking": []}


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        ({"retentionDays": {"spans": 0}}, "retentionDays.spans"),
        ({"retentionDays": {"spans": True}}, "retentionDays.spans"),
        ({"retentionDays": {"traces": 1}}, "retentionDays.traces"),
        ({"masking": [{"kind": "pattern", "value": "("}]}, "masking.0.value"),
        ({"masking": [{"kind": "glob", "value": "*"}]}, "masking.0.kind"),
        ({"masking": [{"kind": "pattern", "value": "x"}] * 101}, "masking"),
    ],
)
def test_a_policy_that_can_not_be_used_is_400_naming_the_field(world: World, policy: Any, named: str) -> None:
    answer = put(world, policy)
    assert answer.status_code == 400
    assert named in answer.json["error"]
