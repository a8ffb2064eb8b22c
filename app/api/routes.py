"""The route table of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from app.api import (
    agents,
    alert_rules,
    calibrations,
    cases,
    experiments,
    findings,
    guard_maps,
    health,
    insight,
    judge_audits,
    labels,
    language_models,
    model_prices,
    online_checks,
    organization,
    programs,
    prompts,
    replays,
    runs,
    schedules,
    scores,
    session_filters,
    sessions,
    suites,
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
JUDGE_AUDIT = f"/api/v1/judge-audits/{ID % 'audit_id'}"
CALIBRATION = f"/api/v1/calibrations/{ID % 'calibration_id'}"
GUARD_MAP = f"/api/v1/guard-maps/{ID % 'map_id'}"
SCHEDULE = f"/api/v1/schedules/{ID % 'schedule_id'}"
SUITE = f"/api/v1/suites/{ID % 'suite_id'}"
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
    ("/api/v1/prompts", prompts.PromptsResource),
    (PROMPT, prompts.PromptResource),
    (f"{PROMPT}/unarchive", prompts.UnarchiveResource),
    (f"{PROMPT}/render", prompts.Render),
    (f"{PROMPT}/preview", prompts.PreviewResource),
    (f"{PROMPT}/commit", prompts.Commit),
    (f"{PROMPT}/versions", prompts.VersionsResource),
    (VERSION, prompts.VersionResource),
    (f"{VERSION}/restore", prompts.RestoreResource),
    (f"{PROMPT}/labels", labels.Labels),
    (f"{PROMPT}/labels/{{label}}", labels.LabelResource),
    (f"{SESSION}/test-cases", cases.SessionTestCases),
    (f"{SESSION}/test-case-proposal", cases.TestCaseProposalResource),
    (f"{PROMPT}/test-cases", cases.PromptTestCases),
    (f"{PROMPT}/test-cases/import", cases.ImportedTestCases),
    (TEST_CASE, cases.TestCaseResource),
    (f"{TEST_CASE}/copy", cases.TestCaseCopy),
    (f"{TEST_CASE}/export", cases.TestCaseExportResource),
    (f"{TEST_CASE}/replays", replays.TestCaseReplays),
    (f"{TEST_CASE}/calibrations", calibrations.TestCaseCalibrations),
    (CALIBRATION, calibrations.CalibrationResource),
    (f"{CALIBRATION}/accept", calibrations.AcceptedProposals),
    (f"{CALIBRATION}/cancel", calibrations.CalibrationCancellation),
    (f"{PROMPT}/insight", insight.PromptInsightResource),
    (f"{PROMPT}/insight/comparison", insight.InsightComparisonResource),
    (f"{PROMPT}/experiments", experiments.PromptExperiments),
    (f"{PROMPT}/experiments/forecast", experiments.ExperimentForecasts),
    (EXPERIMENT, experiments.ExperimentResource),
    (f"{EXPERIMENT}/cancel", experiments.ExperimentCancellation),
    (f"{EXPERIMENT}/events", experiments.ExperimentEvents),
    (f"{EXPERIMENT}/program-replays", experiments.ProgramReplays),
    (f"{PROMPT}/guard-maps", guard_maps.PromptGuardMaps),
    (f"{PROMPT}/guard-maps/forecast", guard_maps.GuardMapForecasts),
    (GUARD_MAP, guard_maps.GuardMapResource),
    (f"{GUARD_MAP}/cancel", guard_maps.GuardMapCancellation),
    (f"{GUARD_MAP}/sessions", guard_maps.GuardMapSessions),
    (f"{GUARD_MAP}/test-cases", guard_maps.GuardMapCases),
    (f"{PROMPT}/schedules", schedules.PromptSchedules),
    (SCHEDULE, schedules.ScheduleResource),
    (f"{SCHEDULE}/runs", schedules.ScheduleRuns),
    (f"{SCHEDULE}/reference", schedules.ScheduleReference),
    (f"{PROMPT}/suite-proposals", suites.SuiteProposals),
    (f"{PROMPT}/suite-acceptances", suites.SuiteAcceptances),
    (f"{PROMPT}/suites", suites.PromptSuites),
    (SUITE, suites.SuiteResource),
    (f"{SUITE}/test-cases", suites.SuiteCases),
    (f"{SUITE}/test-cases/{ID % 'test_case_id'}", suites.SuiteCaseResource),
    (f"{SUITE}/calibrations", suites.SuiteCalibrations),
    (f"{SUITE}/coverage", suites.SuiteCoverageResource),
    (f"{PROMPT}/findings", findings.PromptFindings),
    (f"{PROMPT}/findings/{{finding_id}}", findings.FindingResource),
    (f"{PROMPT}/judge-audits", judge_audits.PromptJudgeAudits),
    (JUDGE_AUDIT, judge_audits.JudgeAuditResource),
    (f"{JUDGE_AUDIT}/cancel", judge_audits.JudgeAuditCancellation),
    (f"{PROMPT}/online-checks", online_checks.PromptOnlineChecks),
    (f"/api/v1/online-checks/{ID % 'check_id'}", online_checks.OnlineCheckResource),
    (f"{PROMPT}/replays", replays.PromptReplays),
    (f"{PROMPT}/replay-history", replays.ReplayHistoryResource),
    (f"{PROMPT}/judge-agreement", replays.JudgeAgreementResource),
    (REPLAY, replays.ReplayResource),
    (f"{REPLAY}/cancel", replays.ReplayCancellation),
    (f"{REPLAY}/turns", programs.ReplayTurns),
    (f"{REPLAY}/turns/{{turn:int(min=0, max=999999)}}/answer", programs.ReplayTurnAnswer),
    *programs.ENDPOINT_ROUTES,
    (f"{REPLAY}/batch/accept", replays.BatchAcceptance),
    (f"{REPLAY}/steps/{{step}}", replays.ReplayStep),
    (f"{REPLAY}/steps/{{step}}/accept", replays.AcceptedStep),
    ("/api/v1/prompts/run", runs.RunPrompt),
    (RUN, runs.RunResource),
    (f"{RUN}/events", runs.RunEventsResource),
    (f"{RUN}/cancel", runs.RunCancellation),
    ("/api/v1/usage", runs.UsageResource),
    ("/api/v1/usage/observed", runs.ObservedUsageResource),
    ("/api/public/otel/v1/traces", traces.Traces),
    ("/api/public/otel/v1/logs", traces.Logs),
    (f"{OTEL_OF_PROMPT}/v1/traces", traces.PromptTraces),
    (f"{OTEL_OF_PROMPT}/v1/logs", traces.PromptOtelLogs),
    ("/api/public/agents/{agent}/otel/v1/traces", traces.AgentTraces),
    ("/api/public/agents/{agent}/otel/v1/logs", traces.AgentLogs),
    ("/api/v1/agents", agents.AgentsResource),
    (f"{PROMPT}/recorded-instruction", agents.RecordedInstructionResource),
    (f"{PROMPT}/recorded-instruction/adopt", agents.InstructionAdoption),
    (f"{PROMPT}/recorded-instruction/placeholders", agents.PlaceholderAcceptance),
    (f"{PROMPT}/logs", traces.PromptLogsResource),
    (f"{PROMPT}/exports/{{kind}}", traces.Exports),
    ("/api/v1/rejected-spans", traces.RejectedSpansResource),
    ("/api/v1/scores", scores.Scores),
    ("/api/v1/scores/{score_id}", scores.ScoreResource),
    ("/api/v1/sessions", sessions.SessionsResource),
    ("/api/v1/exports/sessions", sessions.SessionExport),
    ("/api/v1/session-filters", session_filters.SessionFilters),
    (f"/api/v1/session-filters/{ID % 'filter_id'}", session_filters.SessionFilterResource),
    (SESSION, traces.SessionResource),
    ("/api/v1/credentials", language_models.CredentialsResource),
    (CREDENTIAL, language_models.CredentialResource),
    (f"{CREDENTIAL}/check", language_models.CredentialCheck),
    ("/api/v1/models", language_models.ModelsResource),
    (f"/api/v1/models/{ID % 'model_id'}", language_models.ModelResource),
    ("/api/v1/model-prices", model_prices.ModelPricesResource),
    (f"/api/v1/model-prices/{ID % 'price_id'}", model_prices.ModelPriceResource),
    ("/api/v1/projects", organization.Projects),
    (PROJECT, organization.ProjectResource),
    (f"{PROJECT}/api-keys", organization.ProjectApiKeys),
    ("/api/v1/members", organization.MembersResource),
    (f"/api/v1/members/{ID % 'user_id'}", organization.MemberResource),
    ("/api/v1/invitations", organization.Invitations),
    (f"/api/v1/invitations/{ID % 'invitation_id'}", organization.InvitationResource),
    ("/api/v1/audit-log", organization.AuditLog),
    ("/api/v1/data-policy", organization.DataPolicyResource),
    ("/api/v1/alert-rules", alert_rules.AlertRules),
    (f"/api/v1/alert-rules/{ID % 'rule_id'}", alert_rules.AlertRuleResource),
    ("/api/v1/webhooks", webhooks.WebhooksResource),
    (WEBHOOK, webhooks.WebhookResource),
    (f"{WEBHOOK}/secret", webhooks.WebhookSecret),
    (f"{WEBHOOK}/test", webhooks.WebhookTest),
    (f"{WEBHOOK}/deliveries", webhooks.WebhookDeliveries),
    (DELIVERY, webhooks.WebhookDeliveryResource),
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
