"""Prompts to run and requests to send, for the tests of runs."""

from tests.support.world import World


def prompt(world: World, value: str = "Be helpful.", model: str = "echo", **fields) -> int:
    """A committed prompt."""
    body = {"name": "P", "value": value, "languageModelName": model, "instructionFormat": "RAW", **fields}
    created = world.post("/api/v1/prompts", json=body)
    assert created.status_code == 201, created.text
    return created.json["prompt"]["id"]


def run(world: World, prompt_id: int, question: str = "Where is order 7?", headers=None, **fields):
    return world.post(
        "/api/v1/prompts/run", json={"id": prompt_id, "question": question, **fields}, headers=headers or {}
    )


def record(world: World, answer) -> dict:
    """The full record of the run that an answer belongs to."""
    return world.get(f"/api/v1/runs/{answer.headers['X-Run-Id']}").json
