"""Models on servers of an organization's own."""

from __future__ import annotations

from sqlalchemy import insert

from app.models.language_models import language_models
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support.deployment import EmbeddedServer, environment, run_to_end
from tests.support.world import World

THOUGHTS, ANSWER = "They ask about `</think>`.", "Write <think> first."


def prompt_of_a_thinking_model(backend: EmbeddedServer, upstream: Upstream, runs: int) -> int:
    """Make a prompt on a server that writes thoughts into the text of its next answers, one for each run."""
    model = {"name": "thinking", "baseUrl": upstream.base_url("CUSTOM_OPENAI_COMPATIBLE")}
    key = run_to_end(["reprise", "keys", "create", "models", "--scope", "admin"], environment(backend.home)).split()[-1]
    made = backend.client(key).post("/api/v1/models", {**model, "promptPrice": 1, "completionPrice": 2})
    assert made.status in (200, 201), made.body
    upstream.script(*[Reply(text=f"<think>\n{THOUGHTS}</think>\n\n{ANSWER}")] * runs)
    prompt = {"name": "Thinking", "value": "Think.", "languageModelName": "thinking"}
    prompt_id: int = backend.client().post("/api/v1/prompts", prompt).json()["prompt"]["id"]
    return prompt_id


def add_own_model(world: World, name: str, base_url: str) -> None:
    """Add a model behind a base URL to the organization. Its prices are 1 and 2 USD per million tokens."""
    values = {
        "organization_id": world.organization_id,
        "vendor": "CUSTOM_OPENAI_COMPATIBLE",
        "name": name,
        "base_url": base_url,
        "prompt_price": 1.0,
        "completion_price": 2.0,
        "context_tokens_max": 8000,
        "completion_tokens_max": 1000,
        "description": "",
        "details": {},
        "created_at": world.container.now(),
        "updated_at": world.container.now(),
    }
    with world.container.database.write() as connection:
        connection.execute(insert(language_models).values(values))
