"""The route table of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from app.api import (
    alert_rules,
    calibrations,
    cases,
    experiments,
    health,
    insight,
    labels,
    language_models,
    model_prices,
    online_checks,
    organization,
    prompts,
    replays,
    runs,
    scores,
    session_filters,
    sessions,
    traces,
    webhooks,
)
from app.api.openapi import ApiDocsPage, OpenApi
from app.api.operation import Limits, Resource, bound
from app.http.route_table import RoutedApp
from app.wiring.container import Container

ID = "{%s:int(min=1, max=9223372036854775807)}"
PROMPT = f"/api/v1/prompts/{ID % 'prompt_id'}"
OTEL_OF_PROMPT = f"/api/public/prompts/{ID % 'prompt_id'}/otel"
VERSION = f"{PROMPT}/versions/{{commit_hash}}"
TEST_CASE = f"/api/v1/test-cases/{ID % 'test_case_id'}"
REPLAY = f"/api/v1/replays/{ID % 'replay_id'}"
CALIBRATION = f"/api/v1/calibrations/{ID % 'calibration_id'}"
EXPERIMENT = f"/api/v1/experiments/{ID % 'experiment_id'}"
RUN = f"/api/v1/runs/{ID % 'run_id'}"
SESSION = "/api/v1/sessions/{session_id}"
PROJECT = f"/api/v1/projects/{ID % 'project_id'}"
CREDENTIAL = "/api/v1/credentials/{vendor}"
WEBHOOK = f"/api/v1/webhooks/{ID % 'webhook_id'}"
DELIVERY = f"{WEBHOOK}/deliveries/{ID % 'delivery_id'}"

ROUTES: tuple[tuple[str, type[Resource]], ...] = (
    ("/health/live", health.Live),
    ("/health/ready", health.Ready),
    ("/metrics", health.MetricsResource),
    ("/api/v1/prompts", prompts.Prompts),
    (PROMPT, prompts.Prompt),
    (f"{PROMPT}/unarchive", prompts.Unarchive),
    (f"{PROMPT}/render", prompts.Render),
    (f"{PROMPT}/preview", prompts.Preview),
    (f"{PROMPT}/commit", prompts.Commit),
    (f"{PROMPT}/versions", prompts.Versions),
    (VERSION, prompts.Version),
    (f"{VERSION}/restore", prompts.Restore),
    (f"{PROMPT}/labels", labels.Labels),
    (f"{PROMPT}/labels/{{label}}", labels.Label),
    (f"{SESSION}/test-cases", cases.SessionTestCases),
    (f"{SESSION}/test-case-proposal", cases.TestCaseProposal),
    (f"{PROMPT}/test-cases", cases.PromptTestCases),
    (f"{PROMPT}/test-cases/import", cases.ImportedTestCases),
    (TEST_CASE, cases.TestCaseResource),
    (f"{TEST_CASE}/copy", cases.TestCaseCopy),
    (f"{TEST_CASE}/export", cases.TestCaseExport),
    (f"{TEST_CASE}/replays", replays.TestCaseReplays),
    (f"{TEST_CASE}/calibrations", calibrations.TestCaseCalibrations),
    (CALIBRATION, calibrations.CalibrationResource),
    (f"{CALIBRATION}/accept", calibrations.AcceptedProposals),
    (f"{PROMPT}/insight", insight.PromptInsight),
    (f"{PROMPT}/insight/comparison", insight.InsightComparison),
    (f"{PROMPT}/experiments", experiments.PromptExperiments),
    (EXPERIMENT, experiments.ExperimentResource),
    (f"{EXPERIMENT}/cancel", experiments.ExperimentCancellation),
    (f"{EXPERIMENT}/events", experiments.ExperimentEvents),
    (f"{PROMPT}/online-checks", online_checks.PromptOnlineChecks),
    (f"/api/v1/online-checks/{ID % 'check_id'}", online_checks.OnlineCheckResource),
    (f"{PROMPT}/replays", replays.PromptReplays),
    (f"{PROMPT}/replay-history", replays.ReplayHistoryResource),
    (f"{PROMPT}/judge-agreement", replays.JudgeAgreementResource),
    (REPLAY, replays.ReplayResource),
    (f"{REPLAY}/cancel", replays.ReplayCancellation),
    (f"{REPLAY}/batch/accept", replays.BatchAcceptance),
    (f"{REPLAY}/steps/{{step}}", replays.ReplayStep),
    (f"{REPLAY}/steps/{{step}}/accept", replays.AcceptedStep),
    ("/api/v1/prompts/run", runs.RunPrompt),
    (RUN, runs.RunResource),
    (f"{RUN}/events", runs.RunEvents),
    ("/api/v1/usage", runs.Usage),
    ("/api/v1/usage/observed", runs.ObservedUsage),
    ("/api/public/otel/v1/traces", traces.Traces),
    ("/api/public/otel/v1/logs", traces.Logs),
    (f"{OTEL_OF_PROMPT}/v1/traces", traces.PromptTraces),
    (f"{OTEL_OF_PROMPT}/v1/logs", traces.PromptOtelLogs),
    (f"{PROMPT}/logs", traces.PromptLogs),
    (f"{PROMPT}/exports/{{kind}}", traces.Exports),
    ("/api/v1/rejected-spans", traces.RejectedSpans),
    ("/api/v1/scores", scores.Scores),
    ("/api/v1/scores/{score_id}", scores.Score),
    ("/api/v1/sessions", sessions.Sessions),
    ("/api/v1/exports/sessions", sessions.SessionExport),
    ("/api/v1/session-filters", session_filters.SessionFilters),
    (f"/api/v1/session-filters/{ID % 'filter_id'}", session_filters.SessionFilter),
    (SESSION, traces.SessionResource),
    ("/api/v1/credentials", language_models.Credentials),
    (CREDENTIAL, language_models.Credential),
    (f"{CREDENTIAL}/check", language_models.CredentialCheck),
    ("/api/v1/models", language_models.Models),
    (f"/api/v1/models/{ID % 'model_id'}", language_models.Model),
    ("/api/v1/model-prices", model_prices.ModelPrices),
    (f"/api/v1/model-prices/{ID % 'price_id'}", model_prices.ModelPrice),
    ("/api/v1/projects", organization.Projects),
    (PROJECT, organization.Project),
    (f"{PROJECT}/api-keys", organization.ProjectApiKeys),
    ("/api/v1/members", organization.Members),
    (f"/api/v1/members/{ID % 'user_id'}", organization.Member),
    ("/api/v1/invitations", organization.Invitations),
    (f"/api/v1/invitations/{ID % 'invitation_id'}", organization.Invitation),
    ("/api/v1/audit-log", organization.AuditLog),
    ("/api/v1/data-policy", organization.DataPolicyResource),
    ("/api/v1/alert-rules", alert_rules.AlertRules),
    (f"/api/v1/alert-rules/{ID % 'rule_id'}", alert_rules.AlertRule),
    ("/api/v1/webhooks", webhooks.Webhooks),
    (WEBHOOK, webhooks.Webhook),
    (f"{WEBHOOK}/secret", webhooks.WebhookSecret),
    (f"{WEBHOOK}/test", webhooks.WebhookTest),
    (f"{WEBHOOK}/deliveries", webhooks.WebhookDeliveries),
    (DELIVERY, webhooks.WebhookDelivery),
    (f"{DELIVERY}/redeliver", webhooks.Redelivery),
    ("/api/v1/api-keys", organization.ApiKeys),
    (f"/api/v1/api-keys/{ID % 'key_id'}", organization.ApiKeyResource),
)


def install(app: RoutedApp, container: Container, docs_page: Callable[[Mapping[str, Any]], str]) -> None:
    """Add the API, `/health`, `/metrics`, the OpenAPI document, and the page that `docs_page` makes of it."""
    settings, openapi = container.settings, OpenApi(app)
    limits: Limits = {
        "json": settings.json_body_bytes,
        "run": settings.run_body_bytes,
        "traces": settings.trace_wire_bytes,
        "import": cases.IMPORT_BYTES,
    }
    resources = {path: resource(container) for path, resource in ROUTES}
    documents = {"/api/openapi.json": openapi, "/api/docs": ApiDocsPage(openapi, docs_page)}
    for path, resource in {**resources, **documents}.items():
        app.add_route(path, resource, adapt=partial(bound, limits=limits))
