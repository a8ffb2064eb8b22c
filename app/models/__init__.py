"""All tables, in one place for Alembic."""

# ruff: noqa: F401

from app.models import (
    api_keys,
    audit_log,
    cases,
    data_policies,
    draft_snapshots,
    language_models,
    organizations,
    prompt_versions,
    prompts,
    rejected_spans,
    replays,
    runs,
    sessions,
    spans,
    turns,
    usage,
    users,
    vendor_credentials,
)
from app.models.base import metadata as metadata
