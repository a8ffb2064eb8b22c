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
from app.api.health import Live, Ready
from app.api.keys import ApiKeyResource, ApiKeys
from app.api.logs import PromptLogs, RejectedSpans
from app.api.members import Invitation, Invitations, Member, Members
from app.api.metrics import MetricsResource
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
        "/health/ready": Ready(readiness=container.services.readiness),
        "/metrics": MetricsResource(metrics=container.services.metrics),
        **prompt_routes(container),
        **replay_routes(container),
        **run_routes(container),
        **trace_routes(container),
        **organization_routes(container),
        "/api/openapi.json": openapi,
        "/api/docs": ApiDocsPage(openapi=openapi, page=docs_page),
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
    traces = Traces(delivery=container.batch_delivery, wire_bytes=container.settings.trace_wire_bytes)
    return {
        "/api/public/otel/v1/traces": traces,
        f"{PROMPT}/logs": PromptLogs(logs=services.logs),
        f"{PROMPT}/exports/{{kind}}": Exports(exports=services.export),
        "/api/v1/rejected-spans": RejectedSpans(logs=services.logs),
        "/api/v1/sessions/{session_id}": SessionResource(sessions=services.sessions, deletion=services.deletion),
    }


def prompt_routes(container: Container) -> Routes:
    services, base, limit = container.services, container.settings.public_url, container.settings.json_body_bytes
    prompts, editor, versions = services.prompts, services.prompt_editor, services.versions
    return {
        "/api/v1/prompts": Prompts(prompts=prompts, editor=editor, base=base, body_bytes=limit),
        PROMPT: Prompt(prompts=prompts, editor=editor, base=base, body_bytes=limit),
        f"{PROMPT}/render": Render(prompts=prompts, body_bytes=limit),
        f"{PROMPT}/preview": Preview(editor=editor, body_bytes=limit),
        f"{PROMPT}/commit": Commit(versions=versions, body_bytes=limit),
        f"{PROMPT}/versions": Versions(versions=versions),
        f"{PROMPT}/versions/{{commit_hash}}": Version(versions=versions),
        f"{PROMPT}/versions/{{commit_hash}}/restore": Restore(versions=versions, base=base),
    }


def run_routes(container: Container) -> Routes:
    runs, follower = container.services.runs, container.run_follower
    limit = container.settings.run_body_bytes
    run = f"/api/v1/runs/{ID % 'run_id'}"
    return {
        "/api/v1/prompts/run": RunPrompt(
            runs=runs, delivery=container.run_delivery, follower=follower, body_bytes=limit
        ),
        run: RunResource(runs=runs),
        f"{run}/events": RunEvents(runs=runs, follower=follower),
        "/api/v1/usage": Usage(usage=container.services.usage, now=container.now),
    }


def replay_routes(container: Container) -> Routes:
    replays, delivery = container.services.replays, container.replay_delivery
    limit = container.settings.json_body_bytes
    cases: dict[str, Any] = {"cases": container.services.test_cases, "body_bytes": limit}
    starting: dict[str, Any] = {"replays": replays, "delivery": delivery, "body_bytes": limit}
    case, replay = f"/api/v1/test-cases/{ID % 'test_case_id'}", f"/api/v1/replays/{ID % 'replay_id'}"
    return {
        "/api/v1/sessions/{session_id}/test-cases": SessionTestCases(**cases),
        "/api/v1/sessions/{session_id}/test-case-proposal": TestCaseProposal(**cases),
        f"{PROMPT}/test-cases": PromptTestCases(**cases),
        f"{PROMPT}/test-cases/import": ImportedTestCases(**cases),
        case: TestCaseResource(**cases),
        f"{case}/copy": TestCaseCopy(**cases),
        f"{case}/export": TestCaseExport(**cases),
        f"{case}/replays": TestCaseReplays(**starting),
        f"{PROMPT}/replays": PromptReplays(**starting),
        f"{PROMPT}/replay-history": ReplayHistoryResource(history=container.services.replay_history),
        replay: ReplayResource(replays=replays),
        f"{replay}/cancel": ReplayCancellation(replays=replays),
        f"{replay}/steps/{{step}}": ReplayStep(replays=replays, body_bytes=limit),
        f"{replay}/steps/{{step}}/accept": AcceptedStep(replays=replays, cases=cases["cases"]),
    }
