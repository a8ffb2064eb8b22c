"""Prices for models in traces, over the API and on the page."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from app.models.organizations import Role
from app.timestamps import utc_now
from tests.integration.web.conftest import Browser
from tests.support.exports import export, span
from tests.support.world import World, new_world

PATH = "/api/v1/model-prices"
PRICE = {"model": "acme-large", "promptPrice": 2, "completionPrice": 10, "cacheReadPrice": 0.5}
FORM = {"model": "acme-large", "provider": "acme", "promptPrice": "2", "completionPrice": "1,000.5"}


def send_call(world: World, model: str, *, provider: str = "acme") -> int:
    """Send a call of a million tokens, of today; returns the prompt."""
    prompt_id, start = world.prompt(), int(utc_now().timestamp()) * 10**9
    attributes = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": 1_000_000,
        "gen_ai.usage.output_tokens": 100_000,
    }
    ids = {"traceId": secrets.token_hex(16), "spanId": secrets.token_hex(8)}
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 10**9)}
    assert world.send(export(span(attributes, **ids, **times))).status_code == 200
    return prompt_id


def unpriced(world: World) -> list[str]:
    return [model["model"] for model in world.get(PATH).json["unpricedModels"]]


def cost_of(world: World, prompt_id: int) -> Any:
    [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    return entry["cost"]


def test_a_model_without_a_price_is_listed_until_it_gets_one(world: World) -> None:
    prompt_id = send_call(world, "acme-large-2026-01-31")
    send_call(world, "gpt-4o-mini", provider="openai")
    assert world.get(PATH).json == {
        "modelPrices": [],
        "unpricedModels": [
            {
                "provider": "acme",
                "model": "acme-large-2026-01-31",
                "calls": 1,
                "promptTokens": 1_000_000,
                "completionTokens": 100_000,
            }
        ],
    }

    made = world.post(PATH, json=PRICE)

    assert (made.status_code, made.headers["Location"]) == (201, f"{PATH}/{made.json['id']}")
    assert (made.json["provider"], made.json["cacheReadPrice"], made.json["reasoningPrice"]) == ("", 0.5, None)
    assert world.get(PATH).json == {"modelPrices": [made.json], "unpricedModels": []}
    assert world.get(f"{PATH}/{made.json['id']}").json == made.json
    assert cost_of(world, prompt_id) == pytest.approx(3)


def test_a_price_is_changed_and_removed_and_the_audit_log_has_both(world: World) -> None:
    send_call(world, "acme-large")
    made = world.post(PATH, json=PRICE).json

    changed = world.post(PATH, json=PRICE | {"promptPrice": 0})
    assert (changed.status_code, changed.json["id"], changed.json["promptPrice"]) == (200, made["id"], 0)
    assert world.delete(f"{PATH}/{made['id']}").status_code == 204

    assert world.delete(f"{PATH}/{made['id']}").status_code == world.get(f"{PATH}/{made['id']}").status_code == 404
    assert unpriced(world) == ["acme-large"]
    entries = [entry for entry in world.get("/api/v1/audit-log").json["entries"] if entry["action"].startswith("price")]
    assert [(entry["action"], entry["subject"]) for entry in entries] == [
        ("price.removed", "acme-large"), ("price.set", "acme-large"), ("price.set", "acme-large")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"promptPrice": -1},
        {"promptPrice": None},
        {"completionPrice": 1e7},
        {"model": " "},
        {"model": "!?"},
        {"model": "x" * 256},
        {"provider": "x" * 65},
        {"price": 1},
    ],
)
def test_what_is_no_price_is_refused(world: World, wrong: dict[str, Any]) -> None:
    assert world.post(PATH, json=PRICE | wrong).status_code == 400
    assert world.get(PATH).json["modelPrices"] == []


def test_prices_and_models_of_other_organizations_are_not_there(world: World) -> None:
    send_call(world, "acme-large")
    stranger = new_world(world.container)
    stranger.post(PATH, json=PRICE)

    assert unpriced(world) == ["acme-large"]
    assert stranger.get(PATH).json["unpricedModels"] == []


def test_the_page_leads_from_a_model_without_a_price_to_its_form(world: World, admin: Browser) -> None:
    prompt_id, path = send_call(world, "acme/<large>"), f"{admin.base}/settings/models/prices"
    admin.open(f"{admin.base}/settings/models")
    assert "1 model without one" in admin.text
    admin.open(path)
    assert "Without a price" in admin.text
    link = urlencode({"model": "acme/<large>", "provider": "acme"}, safe="/")
    assert f'href="{path}?{link.replace("&", "&amp;")}#set"' in admin.page

    admin.open(f"{path}?{link}")
    assert 'value="acme/&lt;large&gt;"' in admin.page
    sent = admin.send(path, **FORM | {"model": "acme/<large>", "completionPrice": "10"})

    assert (sent.status_code, sent.headers["location"]) == (303, f"{path}#main")
    admin.open(path)
    assert "Without a price" not in admin.text
    assert "Prices set by hand" in admin.text
    assert cost_of(world, prompt_id) == pytest.approx(3)


def test_the_page_changes_and_removes_a_price(world: World, admin: Browser) -> None:
    path = f"{admin.base}/settings/models/prices"
    price_id = world.post(PATH, json=PRICE | {"provider": "acme"}).json["id"]

    admin.open(f"{path}?price={price_id}")
    assert 'value="0.5"' in admin.page
    assert admin.send(path, **FORM).status_code == 303
    changed = world.get(f"{PATH}/{price_id}").json
    assert (changed["completionPrice"], changed["cacheReadPrice"]) == (1000.5, None)

    admin.open(f"{path}/{price_id}/remove")
    assert "Remove the price of acme-large?" in admin.text
    assert admin.send(f"{path}/{price_id}/remove").status_code == 303
    assert world.get(PATH).json["modelPrices"] == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"promptPrice": "cheap"}, "Input: Must be a number."),
        ({"completionPrice": ""}, "completionPrice"),
        ({"promptPrice": "inf"}, "promptPrice"),
        ({"model": "?"}, "Must have a letter or a digit."),
    ],
)
def test_the_form_is_shown_again_with_what_was_sent(
    world: World, admin: Browser, wrong: dict[str, str], said: str
) -> None:
    path = f"{admin.base}/settings/models/prices"
    admin.open(path)

    answer = admin.send(path, **FORM | wrong)

    assert answer.status_code == 400
    assert said in admin.text
    assert 'value="acme"' in admin.page
    assert world.get(PATH).json["modelPrices"] == []


def test_a_session_without_a_price_leads_those_who_may_set_it_to_the_form(
    world: World, admin: Browser, member_of: Callable[..., Browser]
) -> None:
    prompt_id = send_call(world, "acme-large")
    [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    path = f"{admin.base}/sessions/{entry['id']}"
    form = f"{admin.base}/settings/models/prices?model=acme-large&amp;provider=acme#set"

    admin.open(path)
    assert f'<a href="{form}">Set its price</a>' in admin.page
    editor = member_of(Role.MEMBER)
    editor.open(path)
    assert "no price for acme-large" in editor.text
    assert "Set its price" not in editor.text
    world.post(PATH, json=PRICE)
    admin.open(path)
    assert "Set its price" not in admin.text


def test_the_usage_page_shows_what_traces_used_next_to_the_usage(world: World, admin: Browser) -> None:
    prompt_id = send_call(world, "gpt-4o-mini", provider="openai")
    send_call(world, "<b>acme</b>")

    page = admin.open(f"{admin.base}/usage?by=model")

    said = " ".join(admin.text.split())
    assert "Nothing was used in this time" in said
    assert "2 model calls that your own programs made, $0.21 at current prices." in said
    assert "The cost lacks the calls of 1 model without a price" in said
    assert "&lt;b&gt;acme&lt;/b&gt;" in page.text
    assert f'/prompts/{prompt_id}"' in admin.open(f"{admin.base}/usage").text
