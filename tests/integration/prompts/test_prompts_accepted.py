"""What a model's vendor would refuse in every request is refused where the model or its configuration is chosen."""

from typing import Any

import pytest

from tests.integration.runs.asking import prompt, run
from tests.support.backends import SQLITE_CONTAINER
from tests.support.world import World

pytestmark = SQLITE_CONTAINER

BOTH = {"temperature": 0.2, "top_p": 0.9}
CLAUDE = "claude-haiku-4-5"


def create(world: World, **fields: Any) -> Any:
    return world.post("/api/v1/prompts", json={"name": "P", "value": "v", **fields})


@pytest.mark.parametrize("model", [CLAUDE, "claude-sonnet-4-6"])
def test_temperature_with_top_p_is_refused_wherever_a_model_is_chosen(world: World, model: str) -> None:
    message = f"languageModelConfig.top_p: {model} accepts either temperature or top_p."
    free = prompt(world, model="gpt-4o-mini", languageModelConfig=BOTH)
    path = f"/api/v1/prompts/{free}"
    answers = [
        create(world, languageModelName=model, languageModelConfig=BOTH),
        create(world, languageModelName="gpt-4o-mini", languageModelConfig=BOTH, fallbackModelName=model),
        world.patch(path, json={"languageModelName": model}),
        world.patch(path, json={"fallbackModelName": model}),
        world.patch(f"/api/v1/prompts/{prompt(world, model=model)}", json={"languageModelConfig": BOTH}),
        run(world, free, languageModelName=model),
    ]

    assert [(answer.status_code, answer.json["error"]) for answer in answers] == [(400, message)] * len(answers)
    assert create(world, languageModelName=model, languageModelConfig={"top_p": 0.9}).status_code == 201
    assert create(world, languageModelName=model, languageModelConfig={"temperature": 0.2}).status_code == 201


@pytest.mark.parametrize(
    ("model", "config", "key"),
    [
        ("claude-opus-5-5", {"top_p": 0.9}, "top_p"),
        (CLAUDE, {"seed": 7}, "seed"),
        (CLAUDE, {"stop": [" "]}, "stop.0"),
        (CLAUDE, {"reasoning_effort": "high", "temperature": 0.2}, "temperature"),
        ("gpt-4o", {"reasoning_effort": "low"}, "reasoning_effort"),
        ("gpt-5-mini", {"reasoning_effort": "none"}, "reasoning_effort"),
        ("gpt-5-mini", {"stop": ["a"]}, "stop"),
        ("gpt-4o", {"stop": list("abcde")}, "stop"),
        ("gpt-4o", {"tools": [{"name": "a.b"}]}, "tools.0.name"),
        ("gemini-2.5-flash", {"seed": 2**40}, "seed"),
        ("gemini-2.5-flash", {"tools": [{"name": "a", "strict": True}, {"name": "b"}]}, "tools.0.strict"),
        ("gemini-2.5-pro", {"reasoning_effort": "none"}, "reasoning_effort"),
        ("deepseek-flash", {"reasoning_effort": "minimal"}, "reasoning_effort"),
    ],
)
def test_what_no_request_can_have_is_400_by_its_key(world: World, model: str, config: dict[str, Any], key: str) -> None:
    answer = create(world, languageModelName=model, languageModelConfig=config)

    assert answer.status_code == 400, answer.text
    assert answer.json["error"].startswith(f"languageModelConfig.{key}: ")
