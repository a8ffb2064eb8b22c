"""The route table of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from app.api import cases, health, language_models, organization, prompts, replays, runs, traces
from app.api.openapi import ApiDocsPage, OpenApi
from app.api.operation import Limits, bound
from app.container import Container
from app.http.route_table import RoutedApp

Routes = dict[str, object]
ID = "{%s:int(min=1, max=9223372036854775807)}"
PROMPT = f"/api/v1/prompts/{ID % 'prompt_id'}"


def install(app: RoutedApp, container: Container, docs_page: Callable[[Mapping[str, Any]], str]) -> None:
    """Add the API, with `/health`, `/metrics` and the document of it all, which `docs_page` makes a page of."""
    settings, openapi = container.settings, OpenApi(app)
    limits: Limits = {
        "json": settings.json_body_bytes,
        "run": settings.run_body_bytes,
        "traces": settings.trace_wire_bytes,
        "import": cases.IMPORT_BYTES,
    }
    routes = {
        "/health/live": health.Live(),
        "/health/ready": health.Ready(container.services.readiness),
        "/metrics": health.MetricsResource(container.services.metrics),
        **prompt_routes(container),
        **replay_routes(container),
        **run_routes(container),
        **trace_routes(container),
        **organization_routes(container),
        "/api/openapi.json": openapi,
        "/api/docs": ApiDocsPage(openapi, docs_page),
    }
    for path, resource in routes.items():
        app.add_route(path, resource, adapt=partial(bound, limits=limits))


def organization_routes(container: Container) -> Routes:
    services = container.services
    credential, project = "/api/v1/credentials/{vendor}", f"/api/v1/projects/{ID % 'project_id'}"
    return {
        "/api/v1/credentials": language_models.Credentials(services.credentials),
        credential: language_models.Credential(services.credentials),
        f"{credential}/check": language_models.CredentialCheck(services.credentials, services.models),
        "/api/v1/models": language_models.Models(services.models, services.own_models),
        f"/api/v1/models/{ID % 'model_id'}": language_models.Model(services.models, services.own_models),
        "/api/v1/projects": organization.Projects(services.projects),
        project: organization.Project(services.projects),
        f"{project}/api-keys": organization.ProjectApiKeys(services.projects, services.keys),
        "/api/v1/members": organization.Members(services.accounts),
        f"/api/v1/members/{ID % 'user_id'}": organization.Member(services.accounts),
        "/api/v1/invitations": organization.Invitations(services.accounts),
        f"/api/v1/invitations/{ID % 'invitation_id'}": organization.Invitation(services.accounts),
        "/api/v1/audit-log": organization.AuditLog(services.audit),
        "/api/v1/data-policy": organization.DataPolicyResource(services.data_policies),
        "/api/v1/api-keys": organization.ApiKeys(services.keys),
        f"/api/v1/api-keys/{ID % 'key_id'}": organization.ApiKeyResource(services.keys),
    }


def trace_routes(container: Container) -> Routes:
    services = container.services
    return {
        "/api/public/otel/v1/traces": traces.Traces(container.batch_delivery),
        f"{PROMPT}/logs": traces.PromptLogs(services.logs),
        f"{PROMPT}/exports/{{kind}}": traces.Exports(services.export),
        "/api/v1/rejected-spans": traces.RejectedSpans(services.logs),
        "/api/v1/sessions/{session_id}": traces.SessionResource(services.sessions, services.deletion),
    }


def prompt_routes(container: Container) -> Routes:
    services, base = container.services, container.settings.public_url
    return {
        "/api/v1/prompts": prompts.Prompts(services.prompts, services.prompt_editor, base),
        PROMPT: prompts.Prompt(services.prompts, services.prompt_editor, base),
        f"{PROMPT}/render": prompts.Render(services.prompts),
        f"{PROMPT}/preview": prompts.Preview(services.prompt_editor),
        f"{PROMPT}/commit": prompts.Commit(services.versions),
        f"{PROMPT}/versions": prompts.Versions(services.versions),
        f"{PROMPT}/versions/{{commit_hash}}": prompts.Version(services.versions),
        f"{PROMPT}/versions/{{commit_hash}}/restore": prompts.Restore(services.versions, base),
    }


def run_routes(container: Container) -> Routes:
    services, follower = container.services, container.run_follower
    run = f"/api/v1/runs/{ID % 'run_id'}"
    return {
        "/api/v1/prompts/run": runs.RunPrompt(services.runs, container.run_delivery, follower),
        run: runs.RunResource(services.runs),
        f"{run}/events": runs.RunEvents(services.runs, follower),
        "/api/v1/usage": runs.Usage(services.usage, container.now),
    }


def replay_routes(container: Container) -> Routes:
    services, delivery = container.services, container.replay_delivery
    case, replay = f"/api/v1/test-cases/{ID % 'test_case_id'}", f"/api/v1/replays/{ID % 'replay_id'}"
    return {
        "/api/v1/sessions/{session_id}/test-cases": cases.SessionTestCases(services.test_cases),
        "/api/v1/sessions/{session_id}/test-case-proposal": cases.TestCaseProposal(services.test_cases),
        f"{PROMPT}/test-cases": cases.PromptTestCases(services.test_cases),
        f"{PROMPT}/test-cases/import": cases.ImportedTestCases(services.test_cases),
        case: cases.TestCaseResource(services.test_cases),
        f"{case}/copy": cases.TestCaseCopy(services.test_cases),
        f"{case}/export": cases.TestCaseExport(services.test_cases),
        f"{case}/replays": replays.TestCaseReplays(services.replays, delivery),
        f"{PROMPT}/replays": replays.PromptReplays(services.replays, delivery),
        f"{PROMPT}/replay-history": replays.ReplayHistoryResource(services.replay_history),
        replay: replays.ReplayResource(services.replays),
        f"{replay}/cancel": replays.ReplayCancellation(services.replays),
        f"{replay}/steps/{{step}}": replays.ReplayStep(services.replays),
        f"{replay}/steps/{{step}}/accept": replays.AcceptedStep(services.replays, services.test_cases),
    }
