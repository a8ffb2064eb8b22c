"""All tables, in one place for Alembic."""

from app.models import (
    api_keys,
    idempotency_keys,
    language_models,
    organizations,
    prompt_versions,
    prompts,
    rejected_spans,
    run_file_chunks,
    runs,
    sessions,
    spans,
    turns,
    vendor_credentials,
)
from app.models.base import metadata

__all__ = [
    "api_keys",
    "idempotency_keys",
    "language_models",
    "metadata",
    "organizations",
    "prompt_versions",
    "prompts",
    "rejected_spans",
    "run_file_chunks",
    "runs",
    "sessions",
    "spans",
    "turns",
    "vendor_credentials",
]
