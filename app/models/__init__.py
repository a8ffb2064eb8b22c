"""All tables, in one place for Alembic."""

from app.models import (
    api_keys,
    language_models,
    organizations,
    prompt_versions,
    prompts,
    runs,
    spans,
)
from app.models.base import metadata

__all__ = [
    "api_keys",
    "language_models",
    "metadata",
    "organizations",
    "prompt_versions",
    "prompts",
    "runs",
    "spans",
]
