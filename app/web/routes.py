"""The route table of the pages."""

from __future__ import annotations

from jinja2 import Environment

from app.http.route_table import RoutedApp
from app.web.admission import Admission
from app.web.assets import Assets
from app.web.cookies import OPENID_PATH, Cookies
from app.web.errors import PageAnswers
from app.web.page import Page, Site
from app.web.views import (
    calibrations,
    case_form,
    cases,
    design,
    experiments,
    findings,
    guard_maps,
    home,
    imports,
    insight,
    instructions,
    judge_audits,
    labels,
    logs,
    manual,
    new_replay,
    online_checks,
    operations,
    overview,
    prompt_editor,
    prompt_tries,
    prompts,
    replays,
    schedules,
    session,
    sessions,
    settings,
    settings_alerts,
    settings_models,
    settings_prices,
    settings_webhooks,
    sign_in,
    suites,
    usage,
)
from app.wiring.container import Container

ID = "{%s:int(min=1, max=9223372036854775807)}"
ID0 = "{%s:int(min=0, max=1000000)}"
PROJECT = f"/projects/{ID % 'project_id'}"
PROMPT = f"{PROJECT}/prompts/{ID % 'prompt_id'}"
SESSION = f"{PROJECT}/sessions/{{session_id}}"
TEST_CASE = f"{PROJECT}/test-cases/{ID % 'test_case_id'}"
GUARD_MAP = f"{PROJECT}/guard-maps/{ID % 'map_id'}"
SUITE = f"{PROJECT}/suites/{ID % 'suite_id'}"
CALIBRATION = f"{PROJECT}/calibrations/{ID % 'calibration_id'}"
EXPERIMENT = f"{PROJECT}/experiments/{ID % 'experiment_id'}"
REPLAY = f"{PROJECT}/replays/{ID % 'replay_id'}"
SETTINGS = f"{PROJECT}/settings"

ROUTES: tuple[tuple[str, type[Page]], ...] = (
    ("/", home.Home),
    ("/sign-in", sign_in.SignIn),
    ("/sign-in/link", sign_in.SignInLink),
    (OPENID_PATH, sign_in.OpenIdSignIn),
    (f"{OPENID_PATH}/return", sign_in.OpenIdReturn),
    ("/sign-out", sign_in.SignOut),
    ("/join/{token}", sign_in.Join),
    ("/account", sign_in.Account),
    ("/design", design.DesignPage),
    ("/docs", manual.Documents),
    ("/docs/{name}", manual.DocumentView),
    (f"/prompts/{ID % 'prompt_id'}", home.PromptLink),
    (PROJECT, home.ProjectHome),
    (f"{PROJECT}/overview", overview.OverviewPage),
    (f"{PROJECT}/start", home.GettingStarted),
    (f"{PROJECT}/prompts", prompts.PromptsPage),
    (f"{PROJECT}/prompts/new", prompts.NewPromptPage),
    (f"{PROJECT}/prompts/archived", prompts.ArchivedPrompts),
    (PROMPT, home.PromptHome),
    (f"{PROMPT}/edit", prompt_editor.PromptEditorView),
    (f"{PROMPT}/preview", prompt_editor.PromptPreview),
    (f"{PROMPT}/instruction", instructions.InstructionPage),
    (f"{PROMPT}/archive", prompts.Archive),
    (f"{PROMPT}/unarchive", prompts.UnarchivePage),
    (f"{PROMPT}/versions", prompts.VersionsPage),
    (f"{PROMPT}/versions/{{commit_hash}}", prompts.VersionPage),
    (f"{PROMPT}/versions/{{commit_hash}}/restore", prompts.RestorePage),
    (f"{PROMPT}/compare", prompts.Compare),
    (f"{PROMPT}/insight", insight.PromptInsightPage),
    (f"{PROMPT}/labels", labels.MoveLabel),
    (f"{PROMPT}/labels/{{label}}/delete", labels.DeleteLabel),
    (f"{PROMPT}/logs", logs.PromptLogsPage),
    (f"{PROMPT}/exports/{{kind}}", logs.ExportPage),
    (f"{PROMPT}/import", imports.ImportPage),
    (f"{PROMPT}/test-cases", cases.TestCasesPage),
    (f"{PROMPT}/test-cases/new", cases.WriteTestCase),
    (f"{SESSION}/test-case", case_form.SessionTestCase),
    (TEST_CASE, case_form.TestCaseView),
    (f"{TEST_CASE}/replay", new_replay.ReplayTestCase),
    (f"{TEST_CASE}/copy", cases.CopyTestCase),
    (f"{TEST_CASE}/delete", cases.DeleteTestCase),
    (f"{TEST_CASE}/calibrate", calibrations.CalibrateTestCase),
    (CALIBRATION, calibrations.CalibrationPage),
    (f"{PROMPT}/online-checks", online_checks.OnlineChecks),
    (f"{PROJECT}/online-checks/{ID % 'check_id'}", online_checks.OnlineCheckView),
    (f"{PROJECT}/online-checks/{ID % 'check_id'}/remove", online_checks.RemoveOnlineCheck),
    (f"{PROMPT}/experiments", experiments.Experiments),
    (f"{PROMPT}/experiments/new", experiments.NewExperimentPage),
    (EXPERIMENT, experiments.ExperimentPage),
    (f"{PROMPT}/schedules", schedules.SchedulesPage),
    (f"{PROJECT}/schedules/{ID % 'schedule_id'}", schedules.SchedulePage),
    (f"{PROJECT}/schedules/{ID % 'schedule_id'}/reference", schedules.NewReference),
    (f"{PROJECT}/schedules/{ID % 'schedule_id'}/delete", schedules.DeleteSchedule),
    (f"{PROMPT}/guard-maps", guard_maps.GuardMapsPage),
    (GUARD_MAP, guard_maps.GuardMapPage),
    (f"{GUARD_MAP}/cancel", guard_maps.CancelGuardMap),
    (f"{PROMPT}/suites", suites.SuitesPage),
    (f"{PROMPT}/suites/proposal", suites.SuiteProposalPage),
    (SUITE, suites.SuitePage),
    (f"{SUITE}/delete", suites.DeleteSuite),
    (f"{PROMPT}/findings", findings.FindingsPage),
    (f"{PROMPT}/findings/{{finding_id}}", findings.FindingPage),
    (f"{SESSION}/annotation", findings.AnnotateSession),
    (f"{PROMPT}/judge-audits", judge_audits.JudgeAuditsPage),
    (f"{PROJECT}/judge-audits/{ID % 'audit_id'}", judge_audits.JudgeAuditPage),
    (f"{EXPERIMENT}/cancel", experiments.CancelExperiment),
    (REPLAY, replays.ReplayPage),
    (f"{REPLAY}/batch", replays.BatchView),
    (f"{REPLAY}/batch/accept", replays.AcceptBatch),
    (f"{REPLAY}/cancel", replays.CancelReplay),
    (f"{REPLAY}/steps/{ID0 % 'step'}/verdict", replays.JudgeStep),
    (f"{REPLAY}/steps/{ID0 % 'step'}/accept", replays.AcceptStep),
    (f"{PROJECT}/runs/{ID % 'run_id'}", logs.RunView),
    (f"{PROJECT}/runs/{ID % 'run_id'}/events", prompt_tries.RunEventsPage),
    (f"{PROJECT}/runs/{ID % 'run_id'}/cancel", logs.CancelRun),
    (SESSION, session.SessionView),
    (f"{SESSION}/rating", session.RateSession),
    (f"{SESSION}/rating/remove", session.RemoveRating),
    (f"{SESSION}/turns/{ID % 'turn'}/texts/{{text}}", session.TurnTextPage),
    (f"{SESSION}/turns/{ID % 'turn'}/files/{ID0 % 'file'}", session.TurnFile),
    (f"{SESSION}/spans/{{span_id}}", session.SpanPage),
    (f"{SESSION}/spans/{{span_id}}/attributes/{ID0 % 'attribute'}", session.SpanAttribute),
    (f"{PROJECT}/sessions", sessions.SessionsPage),
    (f"{PROJECT}/sessions.csv", sessions.SessionsCsv),
    (f"{PROJECT}/sessions.jsonl", sessions.SessionsJsonLines),
    (f"{PROJECT}/session-filters/{ID % 'filter_id'}/delete", sessions.DeleteSessionFilter),
    (f"{PROJECT}/rejected-spans", logs.RejectedSpansPage),
    (f"{PROJECT}/usage", usage.UsageView),
    (f"{PROJECT}/usage.csv", usage.UsageCsv),
    (f"{PROJECT}/operations", operations.OperationsView),
    (f"{SETTINGS}/keys", settings.Keys),
    (f"{SETTINGS}/keys/{ID % 'key_id'}/revoke", settings.RevokeKey),
    (f"{SETTINGS}/members", settings.MembersPage),
    (f"{SETTINGS}/members/{ID % 'user_id'}", settings.MemberPage),
    (f"{SETTINGS}/members/{ID % 'user_id'}/remove", settings.RemoveMember),
    (f"{SETTINGS}/invitations/{ID % 'invitation_id'}/withdraw", settings.WithdrawInvitation),
    (f"{SETTINGS}/models", settings_models.ModelsPage),
    (f"{SETTINGS}/models/{ID % 'model_id'}", settings_models.ModelPage),
    (f"{SETTINGS}/models/{ID % 'model_id'}/remove", settings_models.RemoveModel),
    (f"{SETTINGS}/models/prices", settings_prices.ModelPricesPage),
    (f"{SETTINGS}/models/prices/{ID % 'price_id'}/remove", settings_prices.RemovePrice),
    (f"{SETTINGS}/credentials", settings_models.CredentialsPage),
    (f"{SETTINGS}/credentials/{{vendor}}/check", settings_models.CheckCredential),
    (f"{SETTINGS}/credentials/{{vendor}}/clear", settings_models.ClearCredential),
    (f"{SETTINGS}/alerts", settings_alerts.Alerts),
    (f"{SETTINGS}/alerts/{ID % 'rule_id'}", settings_alerts.AlertView),
    (f"{SETTINGS}/alerts/{ID % 'rule_id'}/remove", settings_alerts.RemoveAlert),
    (f"{SETTINGS}/webhooks", settings_webhooks.WebhooksPage),
    (f"{SETTINGS}/webhooks/{ID % 'webhook_id'}", settings_webhooks.WebhookView),
    (f"{SETTINGS}/webhooks/{ID % 'webhook_id'}/secret", settings_webhooks.RotateWebhookSecret),
    (f"{SETTINGS}/webhooks/{ID % 'webhook_id'}/remove", settings_webhooks.RemoveWebhook),
    (f"{SETTINGS}/data", settings.DataPolicySettings),
    (f"{SETTINGS}/project", settings.ProjectSettings),
    (f"{SETTINGS}/audit", settings.Audit),
)


def install(app: RoutedApp, container: Container, assets: Assets, templates: Environment) -> None:
    """Add the pages, their static files and the middleware that admits viewers."""
    services, settings = container.services, container.settings
    cookies = Cookies(settings.public_url)
    app.add_middleware(
        [
            PageAnswers(templates),
            Admission(
                sign_ins=services.sign_ins,
                projects=services.projects,
                limiter=container.page_limiter,
                cookies=cookies,
                form_bytes=settings.json_body_bytes,
                files_bytes=settings.run_body_bytes,
            ),
        ]
    )
    site = Site(container, templates, cookies)
    app.add_route("/static/{name}", assets)
    for path, page in ROUTES:
        app.add_route(path, page(site))
