"""The costs of traced model calls, on sessions, turns and steps, and their sums by day."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from sqlalchemy import func, select

from app.errors import NotFound
from app.models.audit_log import SYSTEM
from app.models.observed import observed_daily
from app.services.language_models.prices import OwnPrice
from tests.support.exports import export, span
from tests.support.world import World

ANSWER = '[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]'
USAGE = {"gen_ai.usage.input_tokens": 1_000_000, "gen_ai.usage.output_tokens": 100_000}
CACHED = {"gen_ai.usage.cache_read.input_tokens": 400_000, "gen_ai.usage.reasoning.output_tokens": 50_000}
SERVED = {"gen_ai.request.model": "my-deployment", "gen_ai.response.model": "gpt-4o-mini-2024-07-18"}


def chat(prompt_id: int, trace_id: str, **recorded: Any) -> dict[str, Any]:
    attributes = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "azure.ai.openai",
        "gen_ai.output.messages": ANSWER,
    }
    return span(attributes | recorded, traceId=trace_id, spanId=secrets.token_hex(8))


def session_of(world: World, prompt_id: int) -> Any:
    [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    return entry, world.get(f"/api/v1/sessions/{entry['id']}").json


def calls_of(world: World, prompt_id: int) -> list[tuple[Any, ...]]:
    c = observed_daily.c
    sums = (func.sum(c[name]) for name in ("calls", "input_tokens", "cache_read_tokens", "reasoning_tokens"))
    statement = select(c.provider, c.model, *sums).where(c.prompt_id == prompt_id).group_by(c.provider, c.model)
    with world.container.database.read() as connection:
        return [(row[0], row[1], *map(int, row[2:])) for row in connection.execute(statement.order_by(c.model))]


def test_a_session_its_turn_and_its_answer_have_the_cost_of_the_model_that_answered(world: World) -> None:
    prompt_id = world.prompt()
    first_token = {"gen_ai.response.time_to_first_chunk": 0.25}
    call = chat(prompt_id, secrets.token_hex(16), **SERVED, **USAGE, **CACHED, **first_token)
    assert world.send(export(call)).status_code == 200

    entry, session = session_of(world, prompt_id)

    [turn] = session["turns"]
    [step], [shown] = turn["steps"], turn["spans"]
    for told in (session, turn, step, shown):
        assert told["cost"] == pytest.approx({"prompt": 0.12, "completion": 0.06, "total": 0.18})
        assert told["unpricedModels"] == []
        assert told["usage"]["cacheReadTokens"] == 400_000
        assert told["usage"]["reasoningTokens"] == 50_000
        assert (told["durationMs"], told["timeToFirstTokenMs"]) == (1000, 250)
    assert entry["cost"] == pytest.approx(0.18)


SOUND = {"gen_ai.usage.audio.input_tokens": 500_000, "gen_ai.usage.audio.output_tokens": 50_000}


def test_tokens_of_sound_cost_their_own_price_on_the_session_and_in_the_observed_usage(world: World) -> None:
    prompt_id = world.prompt()
    realtime = {"gen_ai.request.model": "gpt-realtime-1.5", "gen_ai.provider.name": "openai"}
    assert world.send(export(chat(prompt_id, secrets.token_hex(16), **realtime, **USAGE, **SOUND))).status_code == 200

    entry, session = session_of(world, prompt_id)

    # Half of the tokens are text at 4 and 16 dollars a million, half are sound at 32 and 64.
    [turn] = session["turns"]
    [step], [shown] = turn["steps"], turn["spans"]
    for told in (session, turn, step, shown):
        assert told["cost"] == pytest.approx({"prompt": 18, "completion": 4, "total": 22})
        assert told["unpricedModels"] == []
        assert told["usage"] == {"inputTokens": 1_000_000, "outputTokens": 100_000}
    assert entry["cost"] == pytest.approx(22)
    assert calls_of(world, prompt_id) == [("openai", "gpt-realtime-1.5", 1, 1_000_000, 0, 0)]


def test_sound_without_a_price_is_not_in_the_cost_until_a_price_of_the_model_is_set(world: World) -> None:
    prompt_id = world.prompt()
    assert world.send(export(chat(prompt_id, secrets.token_hex(16), **SERVED, **USAGE, **SOUND))).status_code == 200

    _, session = session_of(world, prompt_id)
    assert session["cost"] == pytest.approx({"prompt": 0.075, "completion": 0.03, "total": 0.105})
    assert session["unpricedModels"] == [{"provider": "azure.ai.openai", "model": SERVED["gen_ai.response.model"]}]

    price = OwnPrice(model="gpt-4o-mini", prompt_price=10.0, completion_price=20.0)
    world.container.services.prices.put(organization_id=world.organization_id, price=price, actor=SYSTEM)
    _, session = session_of(world, prompt_id)
    assert session["cost"] == pytest.approx({"prompt": 10, "completion": 2, "total": 12})
    assert session["unpricedModels"] == []


def test_a_model_without_a_price_is_named_and_its_calls_are_not_in_the_cost(world: World) -> None:
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    unknown = chat(prompt_id, trace_id, **USAGE, **{"gen_ai.request.model": "gpt-99"})
    assert world.send(export(unknown, chat(prompt_id, trace_id, **SERVED, **USAGE))).status_code == 200

    entry, session = session_of(world, prompt_id)

    for told in (entry, session):
        assert told["unpricedModels"] == [{"provider": "azure.ai.openai", "model": "gpt-99"}]
    assert session["cost"]["total"] == pytest.approx(0.21)


def test_calls_are_summed_by_day_once_however_often_a_batch_is_sent(world: World) -> None:
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    first, second = (chat(prompt_id, trace_id, **SERVED, **USAGE, **CACHED) for _ in range(2))

    for batch in (export(first), export(first, second), export(second)):
        assert world.send(batch).status_code == 200

    assert calls_of(world, prompt_id) == [("azure.ai.openai", "gpt-4o-mini-2024-07-18", 2, 2_000_000, 800_000, 100_000)]


def test_the_sums_of_a_prompt_go_with_it(world: World) -> None:
    prompt_id = world.prompt()
    assert world.send(export(chat(prompt_id, secrets.token_hex(16), **SERVED, **USAGE))).status_code == 200

    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)

    assert calls_of(world, prompt_id) == []


def test_a_price_that_the_organization_sets_holds_for_what_is_stored_already_until_it_is_removed(world: World) -> None:
    prompt_id, prices = world.prompt(), world.container.services.prices
    unknown = {"gen_ai.request.model": f"own-{prompt_id}-2026-01-01"}
    assert world.send(export(chat(prompt_id, secrets.token_hex(16), **unknown, **USAGE, **CACHED))).status_code == 200
    organization: dict[str, Any] = {"organization_id": world.organization_id, "actor": SYSTEM}
    price = OwnPrice(model=f"own-{prompt_id}", prompt_price=2, completion_price=10, cache_read_price=0.5)

    row, added = prices.put(price=price, **organization)

    assert added
    assert row in prices.list(organization_id=world.organization_id)
    assert session_of(world, prompt_id)[1]["cost"] == pytest.approx({"prompt": 1.4, "completion": 1, "total": 2.4})
    prices.remove(price_id=row.id, **organization)
    assert session_of(world, prompt_id)[1]["cost"] is None
    with pytest.raises(NotFound):
        prices.remove(price_id=row.id, **organization)


def test_observed_figures_are_next_to_the_usage_and_never_in_it(world: World) -> None:
    prompt_id, other = world.prompt(), world.prompt()
    unknown = {"gen_ai.request.model": "gpt-99"}
    for prompt, model in ((prompt_id, SERVED), (prompt_id, unknown), (other, SERVED)):
        assert world.send(export(chat(prompt, secrets.token_hex(16), **model, **USAGE, **CACHED))).status_code == 200
    days = {"from": "2018-12-13", "to": "2018-12-13", "promptId": prompt_id}

    def observed(group_by: str) -> Any:
        return world.get("/api/v1/usage/observed", params={**days, "groupBy": group_by}).json

    [of_day], by_model = observed("day,prompt")["rows"], observed("model")["rows"]

    assert (of_day["day"], of_day["promptId"], of_day["calls"]) == ("2018-12-13", prompt_id, 2)
    assert of_day["cost"]["total"] == pytest.approx(0.18)
    assert of_day["unpricedModels"] == [{"provider": "azure.ai.openai", "model": "gpt-99"}]
    assert of_day["tokens"]["prompt"] == 2_000_000
    assert of_day["tokens"]["cacheRead"] == 800_000
    assert {row["model"]["model"]: row["cost"] is None for row in by_model} == {
        "gpt-4o-mini-2024-07-18": False,
        "gpt-99": True,
    }
    assert observed("model")["total"]["calls"] == 2
    assert world.get("/api/v1/usage", params=days).json["rows"] == []
    assert world.get("/api/v1/usage/observed", params={"groupBy": "key"}).status_code == 400
