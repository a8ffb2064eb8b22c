"""Models on servers of an organization's own."""

from __future__ import annotations

from sqlalchemy import insert

from app.models.language_models import language_models
from tests.support.world import World


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
