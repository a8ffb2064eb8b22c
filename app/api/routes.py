"""The route table of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.api.audit_log import AuditLog
from app.api.cases import (
    ImportedTestCases,
    PromptTestCases,
    SessionTestCases,
    TestCaseCopy,
    TestCaseExport,
    TestCaseProposal,
    TestCaseResource,
)
from app.api.credentials import Credential, CredentialCheck, Credentials
from app.api.data_policy import DataPolicyResource
from app.api.docs import ApiDocsPage
from app.api.exports import Exports
from app.api.health import Live, Ready
from app.api.keys import ApiKeyResource, ApiKeys
from app.api.logs import PromptLogs, RejectedSpans
from app.api.members import Invitation, Invitations, Member, Members
from app.api.metrics import MetricsResource
from app.api.models import Model, Models
from app.api.openapi import OpenApi
from app.api.projects import Project, ProjectApiKeys, Projects
from app.api.prompts import Preview, Prompt, Prompts, Render
from app.api.replays import (
    AcceptedStep,
    PromptReplays,
    ReplayCancellation,
    ReplayHistoryResource,
    ReplayResource,
    ReplayStep,
    TestCaseReplays,
)
from app.api.runs import RunEvents, RunPrompt, RunResource
from app.api.sessions import SessionResource
from app.api.traces import Traces
from app.api.usage import Usage
from app.api.versions import Commit, Restore, Version, Versions
from app.container import Container
from app.http.route_table import RoutedApp

ID = "{%s:int(min=1, max=9223372036854775807)}"


def install(app: RoutedApp, container: Container, docs_page: Callable[[Mapping[str, Any]], str]) -> None:
    """Add the API, with `/health`, `/metrics` and the document of it all, which `docs_page` makes a page of."""
    settings, services = container.settings, container.services
    app.add_route("/health/live", Live())
    app.add_route("/health/ready", Ready(readiness=services.readiness))
    app.add_route("/metrics", MetricsResource(metrics=services.metrics))
    add_prompt_routes(app, container)
    add_replay_routes(app, container)
    add_run_routes(app, container)
    add_trace_routes(app, container)
    add_organization_routes(app, container)
    policy = DataPolicyResource(policies=services.data_policies, body_bytes=settings.json_body_bytes)
    app.add_route("/api/v1/data-policy", policy)
    app.add_route("/api/v1/api-keys", ApiKeys(keys=services.keys, body_bytes=settings.json_body_bytes))
    app.add_route(f"/api/v1/api-keys/{ID % 'key_id'}", ApiKeyResource(keys=services.keys))
    openapi = OpenApi(app)
    app.add_route("/api/openapi.json", openapi)
    app.add_route("/api/docs", ApiDocsPage(openapi=openapi, page=docs_page))


def add_organization_routes(app: RoutedApp, container: Container) -> None:
    services, limit = container.services, container.settings.json_body_bytes
    credential, project = "/api/v1/credentials/{vendor}", f"/api/v1/projects/{ID % 'project_id'}"
    models: dict[str, Any] = {"models": services.models, "own_models": services.own_models, "body_bytes": limit}
    people: dict[str, Any] = {"accounts": services.accounts, "body_bytes": limit}
    keys = ProjectApiKeys(projects=services.projects, keys=services.keys, body_bytes=limit)
    app.add_route("/api/v1/credentials", Credentials(credentials=services.credentials))
    app.add_route(credential, Credential(credentials=services.credentials, body_bytes=limit))
    app.add_route(f"{credential}/check", CredentialCheck(credentials=services.credentials, models=services.models))
    app.add_route("/api/v1/models", Models(**models))
    app.add_route(f"/api/v1/models/{ID % 'model_id'}", Model(**models))
    app.add_route("/api/v1/projects", Projects(projects=services.projects, body_bytes=limit))
    app.add_route(project, Project(projects=services.projects, body_bytes=limit))
    app.add_route(f"{project}/api-keys", keys)
    app.add_route("/api/v1/members", Members(**people))
    app.add_route(f"/api/v1/members/{ID % 'user_id'}", Member(**people))
    app.add_route("/api/v1/invitations", Invitations(**people))
    app.add_route(f"/api/v1/invitations/{ID % 'invitation_id'}", Invitation(**people))
    app.add_route("/api/v1/audit-log", AuditLog(audit=services.audit))


def add_trace_routes(app: RoutedApp, container: Container) -> None:
    services = container.services
    traces = Traces(delivery=container.batch_delivery, wire_bytes=container.settings.trace_wire_bytes)
    app.add_route("/api/public/otel/v1/traces", traces)
    app.add_route(f"/api/v1/prompts/{ID % 'prompt_id'}/logs", PromptLogs(logs=services.logs))
    app.add_route(f"/api/v1/prompts/{ID % 'prompt_id'}/exports/{{kind}}", Exports(exports=services.export))
    app.add_route("/api/v1/rejected-spans", RejectedSpans(logs=services.logs))
    app.add_route(
        "/api/v1/sessions/{session_id}", SessionResource(sessions=services.sessions, deletion=services.deletion)
    )


def add_prompt_routes(app: RoutedApp, container: Container) -> None:
    services, base, limit = container.services, container.settings.public_url, container.settings.json_body_bytes
    prompts, editor, versions = services.prompts, services.prompt_editor, services.versions
    prompt = f"/api/v1/prompts/{ID % 'prompt_id'}"
    app.add_route("/api/v1/prompts", Prompts(prompts=prompts, editor=editor, base=base, body_bytes=limit))
    app.add_route(prompt, Prompt(prompts=prompts, editor=editor, base=base, body_bytes=limit))
    app.add_route(f"{prompt}/render", Render(prompts=prompts, body_bytes=limit))
    app.add_route(f"{prompt}/preview", Preview(editor=editor, body_bytes=limit))
    app.add_route(f"{prompt}/commit", Commit(versions=versions, body_bytes=limit))
    app.add_route(f"{prompt}/versions", Versions(versions=versions))
    app.add_route(f"{prompt}/versions/{{commit_hash}}", Version(versions=versions))
    app.add_route(f"{prompt}/versions/{{commit_hash}}/restore", Restore(versions=versions, base=base))


def add_run_routes(app: RoutedApp, container: Container) -> None:
    runs, follower = container.services.runs, container.run_follower
    limit = container.settings.run_body_bytes
    prompt_run = RunPrompt(runs=runs, delivery=container.run_delivery, follower=follower, body_bytes=limit)
    run = f"/api/v1/runs/{ID % 'run_id'}"
    app.add_route("/api/v1/prompts/run", prompt_run)
    app.add_route(run, RunResource(runs=runs))
    app.add_route(f"{run}/events", RunEvents(runs=runs, follower=follower))
    app.add_route("/api/v1/usage", Usage(usage=container.services.usage, now=container.now))


def add_replay_routes(app: RoutedApp, container: Container) -> None:
    replays, delivery = container.services.replays, container.replay_delivery
    limit = container.settings.json_body_bytes
    cases: dict[str, Any] = {"cases": container.services.test_cases, "body_bytes": limit}
    starting: dict[str, Any] = {"replays": replays, "delivery": delivery, "body_bytes": limit}
    prompt, case = f"/api/v1/prompts/{ID % 'prompt_id'}", f"/api/v1/test-cases/{ID % 'test_case_id'}"
    replay = f"/api/v1/replays/{ID % 'replay_id'}"
    app.add_route("/api/v1/sessions/{session_id}/test-cases", SessionTestCases(**cases))
    app.add_route("/api/v1/sessions/{session_id}/test-case-proposal", TestCaseProposal(**cases))
    app.add_route(f"{prompt}/test-cases", PromptTestCases(**cases))
    app.add_route(f"{prompt}/test-cases/import", ImportedTestCases(**cases))
    app.add_route(case, TestCaseResource(**cases))
    app.add_route(f"{case}/copy", TestCaseCopy(**cases))
    app.add_route(f"{case}/export", TestCaseExport(**cases))
    app.add_route(f"{case}/replays", TestCaseReplays(**starting))
    app.add_route(f"{prompt}/replays", PromptReplays(**starting))
    app.add_route(f"{prompt}/replay-history", ReplayHistoryResource(history=container.services.replay_history))
    app.add_route(replay, ReplayResource(replays=replays))
    app.add_route(f"{replay}/cancel", ReplayCancellation(replays=replays))
    app.add_route(f"{replay}/steps/{{step}}", ReplayStep(replays=replays, body_bytes=limit))
    app.add_route(f"{replay}/steps/{{step}}/accept", AcceptedStep(replays=replays, cases=cases["cases"]))
