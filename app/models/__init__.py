"""All tables, in one place for Alembic."""

from app.models import (
    api_keys,
    language_models,
    organizations,
    prompt_versions,
    prompts,
    rejected_spans,
    runs,
    sessions,
    spans,
    turns,
)
from app.models.base import metadata

__all__ = [
    "api_keys",
    "language_models",
    "metadata",
    "organizations",
    "prompt_versions",
    "prompts",
    "rejected_spans",
    "runs",
    "sessions",
    "spans",
    "turns",
]
