"""All tables, in one place for Alembic."""

# ruff: noqa: F401

from app.models import (
    alert_rules,
    api_keys,
    audit_log,
    calibrations,
    case_snapshots,
    cases,
    data_policies,
    experiment_replays,
    experiments,
    idempotency_keys,
    insight,
    known_verdicts,
    labels,
    language_models,
    log_records,
    model_prices,
    observed,
    organizations,
    prompt_versions,
    prompts,
    replays,
    runs,
    scores,
    search,
    session_filters,
    sessions,
    spans,
    turns,
    usage,
    users,
    webhook_deliveries,
    webhooks,
)
from app.models.base import metadata as metadata
