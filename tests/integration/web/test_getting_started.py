"""Getting started: what its snippets send is answered, by the model that the page names."""

from __future__ import annotations

import ast
import json
import re
from html import unescape
from typing import Any

import pytest

from tests.integration.web.conftest import Browser
from tests.support.world import World

TOOL = {"name": "get_order", "description": "The state of an order.", "parameters": {"type": "object"}}
BY_ECHO = "The built-in model echo, which needs no account at a vendor, answers."
QUESTION = "What can you do?"


def prompt(world: World, model: str) -> int:
    """Return the project's newest prompt, which offers a tool where the model accepts one."""
    world.container.services.models.sync_catalogue()
    body = {"name": "Support", "value": "Be kind.", "languageModelName": model}
    config = {} if model == "echo" else {"languageModelConfig": {"tools": [TOOL]}}
    made = world.post("/api/v1/prompts", json=body | config)
    assert made.status_code == 201, made.text
    return int(made.json["prompt"]["id"])


def sent_by_snippets(admin: Browser) -> list[dict[str, Any]]:
    """The bodies of the runs by curl, Python and JavaScript."""
    admin.open(f"{admin.base}/start")
    page = unescape(admin.page)
    curl, python, javascript = (
        re.search(pattern, page)[1]  # type: ignore[index]
        for pattern in (r"-d '({.*})'", r"json\.dumps\(({.*})\)", r"JSON\.stringify\(({.*})\)")
    )
    return [json.loads(curl), ast.literal_eval(python), json.loads(re.sub(r"(\w+): ", r'"\1": ', javascript))]


@pytest.mark.parametrize(("model", "asked"), [("demo-agent", {"languageModelName": "echo"}), ("echo", {})])
def test_the_snippets_print_an_answer_where_the_model_would_call_a_tool(
    world: World, admin: Browser, model: str, asked: dict[str, str]
) -> None:
    prompt_id = prompt(world, model)

    bodies = sent_by_snippets(admin)

    assert bodies == [{"id": prompt_id, "question": QUESTION, "productive": False} | asked] * 3
    assert BY_ECHO in admin.text
    assert world.post("/api/v1/prompts/run", json=bodies[0]).json["answer"] == QUESTION


def test_the_page_names_the_model_that_answers_where_that_is_not_echo(world: World, admin: Browser) -> None:
    prompt(world, "gpt-4o-mini")
    assert all("languageModelName" not in body for body in sent_by_snippets(admin))
    assert "Paste one of the snippets below. gpt-4o-mini answers." in admin.text


def test_a_disabled_echo_is_not_asked(world: World, admin: Browser) -> None:
    prompt(world, "demo-agent")
    models = world.container.services.models
    echo = next(each for each in models.list(organization_id=world.organization_id) if each.name == "echo")
    models.choose(organization_id=world.organization_id, model_id=echo.id, disabled=True)
    assert all("languageModelName" not in body for body in sent_by_snippets(admin))
    assert "demo-agent answers." in admin.text


def test_the_home_of_a_project_is_getting_started_until_its_first_run_or_trace(world: World, admin: Browser) -> None:
    assert admin.open(admin.base).headers["location"].endswith("/start")

    world.post("/api/v1/prompts/run", json={"id": world.prompt(), "question": "Hi", "productive": False})

    assert admin.open(admin.base).headers["location"].endswith("/overview")
