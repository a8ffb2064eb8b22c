"""Pages over long texts: their work and what they show are bounded."""

from __future__ import annotations

import pytest

from tests.integration.web.conftest import Browser
from tests.support.operations import calls_of
from tests.support.world import World


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a" * 490_000, "b" + "a" * 489_000),
        ("a\n" * 245_000, "b\n" * 245_000),
        ("lorem ipsum " * 40_000, "ipsum lorem " * 40_000),
        ("\n".join(map(str, range(70_000))), "\n".join(map(str, reversed(range(70_000))))),
    ],
    ids=["one word", "many lines", "one line of words", "lines in reverse"],
)
def test_comparing_two_prompts_of_490_kb_costs_no_more_than_reading_them(
    world: World, admin: Browser, old: str, new: str
) -> None:
    prompt_id = world.post("/api/v1/prompts", json={"name": "Long", "value": old}).json["prompt"]["id"]
    committed = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": new})
    path = f"{admin.base}/prompts/{prompt_id}/compare?from={committed}"

    assert calls_of(lambda: admin.open(path), at_most=2_000_000) <= 2_000_000
    assert admin.page.count("<tr class=") <= 2_001
