"""Limits of numbers also hold for requests at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.world import World

AT_ONCE, MOST = 12, 3
RULE = {"metric": "errorShare", "threshold": 0.4, "windowMinutes": 60}
CHECK = {"name": "polite", "kind": "contains", "value": "please"}
PRICE = {"promptPrice": 1, "completionPrice": 1}


@pytest.mark.parametrize(
    ("limit", "path", "body", "name"),
    [
        ("app.services.scores.online_checks.CHECKS_MAX", "/api/v1/prompts/{prompt_id}/online-checks", CHECK, "name"),
        ("app.services.webhooks.alerts.RULES_MAX", "/api/v1/alert-rules", RULE, None),
        ("app.services.language_models.prices.PRICES_MAX", "/api/v1/model-prices", PRICE, "model"),
    ],
)
def test_requests_at_once_make_no_more_than_the_limit(
    world: World, monkeypatch: pytest.MonkeyPatch, limit: str, path: str, body: dict[str, Any], name: str | None
) -> None:
    monkeypatch.setattr(limit, MOST)
    address = path.format(prompt_id=world.prompt())

    def make(number: int) -> int:
        named = {name: f"n{number}"} if name else {}
        return world.post(address, json=body | named).status_code

    with ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = list(pool.map(make, range(AT_ONCE)))

    assert sorted(statuses) == [201] * MOST + [400] * (AT_ONCE - MOST)
