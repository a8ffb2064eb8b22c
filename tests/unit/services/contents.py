"""A prompt's content, for tests that care about a part of it."""

from datetime import UTC, datetime
from typing import Any

from app.models.language_models import LanguageModel
from app.services.prompts.content import PromptContent

THEN = datetime(2026, 1, 2, tzinfo=UTC)
MODEL = LanguageModel(
    id=1,
    organization_id=0,
    vendor="OPENAI",
    name="m",
    base_url="",
    prompt_price=1.0,
    completion_price=2.0,
    context_tokens_max=1000,
    completion_tokens_max=100,
    description="",
    details={"temperature": [0.0, 1.5]},
    retired=False,
    created_at=THEN,
    updated_at=THEN,
)


def content(**changed: Any) -> PromptContent:
    said: dict[str, Any] = {
        "prompt_id": 1,
        "name": "n",
        "commit_hash": None,
        "value": "v",
        "instruction_format": "XML",
        "model": MODEL,
        "config": {},
        "placeholders": (),
    }
    return PromptContent(**said | changed)
