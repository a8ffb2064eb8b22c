"""Prompts that the server renders as both of its clients do."""

from __future__ import annotations

from typing import Any

import pytest

from app.rendering.render import Placeholder, PlaceholderValue, render
from tests.support.deployment import EmbeddedServer
from tests.support.http_client import Answer, Client
from tests.support.vectors import VECTORS, about, results

PROMPTS = "/api/v1/prompts"


@pytest.fixture
def api(backend: EmbeddedServer) -> Client:
    return backend.client()


def created(api: Client, vector: dict[str, Any]) -> Answer:
    """The answer to the request for a prompt of this vector."""
    prompt = {"name": "n", "value": vector["text"], "instructionFormat": vector["format"]}
    return api.post(PROMPTS, prompt | {"placeholders": vector["definitions"]})


@pytest.mark.parametrize("vector", [each for each in VECTORS if each["stored"]], ids=about)
def test_a_prompt_is_rendered_over_http(api: Client, vector: dict[str, Any]) -> None:
    prompt_id = created(api, vector).json()["prompt"]["id"]

    answer = api.post(f"{PROMPTS}/{prompt_id}/render", {"placeholders": vector["selections"]}).json()

    used = answer["placeholders"]
    resolved = list(used["resolved"].items())
    assert [answer["instruction"], resolved, used["ignored"], used["undefinedKeys"]] == results(vector)


@pytest.mark.parametrize("vector", [each for each in VECTORS if not each["stored"]], ids=about)
def test_a_prompt_that_the_api_refuses_is_rendered_all_the_same(api: Client, vector: dict[str, Any]) -> None:
    definitions = [
        Placeholder(
            each["key"],
            tuple(PlaceholderValue(value["name"], value["content"], value["isDefault"]) for value in each["values"]),
        )
        for each in vector["definitions"]
    ]

    made = render(vector["text"], vector["format"], definitions, vector["selections"])

    assert created(api, vector).status == 400
    assert [made.instruction, list(made.resolved.items()), made.ignored, made.undefined] == results(vector)
