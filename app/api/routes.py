"""The route table of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from app.api.audit_log import AuditLog
from app.api.cases import (
    IMPORT_BYTES,
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
from app.api.health import Live, MetricsResource, Ready
from app.api.keys import ApiKeyResource, ApiKeys
from app.api.logs import PromptLogs, RejectedSpans
from app.api.members import Invitation, Invitations, Member, Members
from app.api.models import Model, Models
from app.api.openapi import OpenApi
from app.api.operation import Limits, bound
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
        "import": IMPORT_BYTES,
    }
    routes = {
        "/health/live": Live(),
        "/health/ready": Ready(container.services.readiness),
        "/metrics": MetricsResource(container.services.metrics),
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
    accounts, credentials, projects = services.accounts, services.credentials, services.projects
    credential, project = "/api/v1/credentials/{vendor}", f"/api/v1/projects/{ID % 'project_id'}"
    return {
        "/api/v1/credentials": Credentials(credentials),
        credential: Credential(credentials),
        f"{credential}/check": CredentialCheck(credentials, services.models),
        "/api/v1/models": Models(services.models, services.own_models),
        f"/api/v1/models/{ID % 'model_id'}": Model(services.models, services.own_models),
        "/api/v1/projects": Projects(projects),
        project: Project(projects),
        f"{project}/api-keys": ProjectApiKeys(projects, services.keys),
        "/api/v1/members": Members(accounts),
        f"/api/v1/members/{ID % 'user_id'}": Member(accounts),
        "/api/v1/invitations": Invitations(accounts),
        f"/api/v1/invitations/{ID % 'invitation_id'}": Invitation(accounts),
        "/api/v1/audit-log": AuditLog(services.audit),
        "/api/v1/data-policy": DataPolicyResource(services.data_policies),
        "/api/v1/api-keys": ApiKeys(services.keys),
        f"/api/v1/api-keys/{ID % 'key_id'}": ApiKeyResource(services.keys),
    }


def trace_routes(container: Container) -> Routes:
    services = container.services
    traces = Traces(container.batch_delivery)
    return {
        "/api/public/otel/v1/traces": traces,
        f"{PROMPT}/logs": PromptLogs(logs=services.logs),
        f"{PROMPT}/exports/{{kind}}": Exports(services.export),
        "/api/v1/rejected-spans": RejectedSpans(logs=services.logs),
        "/api/v1/sessions/{session_id}": SessionResource(sessions=services.sessions, deletion=services.deletion),
    }


def prompt_routes(container: Container) -> Routes:
    services, base = container.services, container.settings.public_url
    prompts, editor, versions = services.prompts, services.prompt_editor, services.versions
    return {
        "/api/v1/prompts": Prompts(prompts, editor, base),
        PROMPT: Prompt(prompts, editor, base),
        f"{PROMPT}/render": Render(prompts),
        f"{PROMPT}/preview": Preview(editor),
        f"{PROMPT}/commit": Commit(versions),
        f"{PROMPT}/versions": Versions(versions),
        f"{PROMPT}/versions/{{commit_hash}}": Version(versions),
        f"{PROMPT}/versions/{{commit_hash}}/restore": Restore(versions, base),
    }


def run_routes(container: Container) -> Routes:
    runs, follower = container.services.runs, container.run_follower
    run = f"/api/v1/runs/{ID % 'run_id'}"
    return {
        "/api/v1/prompts/run": RunPrompt(runs, container.run_delivery, follower),
        run: RunResource(runs),
        f"{run}/events": RunEvents(runs, follower),
        "/api/v1/usage": Usage(container.services.usage, container.now),
    }


def replay_routes(container: Container) -> Routes:
    replays, delivery = container.services.replays, container.replay_delivery
    cases = container.services.test_cases
    case, replay = f"/api/v1/test-cases/{ID % 'test_case_id'}", f"/api/v1/replays/{ID % 'replay_id'}"
    return {
        "/api/v1/sessions/{session_id}/test-cases": SessionTestCases(cases),
        "/api/v1/sessions/{session_id}/test-case-proposal": TestCaseProposal(cases),
        f"{PROMPT}/test-cases": PromptTestCases(cases),
        f"{PROMPT}/test-cases/import": ImportedTestCases(cases),
        case: TestCaseResource(cases),
        f"{case}/copy": TestCaseCopy(cases),
        f"{case}/export": TestCaseExport(cases),
        f"{case}/replays": TestCaseReplays(replays, delivery),
        f"{PROMPT}/replays": PromptReplays(replays, delivery),
        f"{PROMPT}/replay-history": ReplayHistoryResource(container.services.replay_history),
        replay: ReplayResource(replays),
        f"{replay}/cancel": ReplayCancellation(replays),
        f"{replay}/steps/{{step}}": ReplayStep(replays),
        f"{replay}/steps/{{step}}/accept": AcceptedStep(replays, cases),
    }
