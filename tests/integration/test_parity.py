"""The UI can do nothing that the API can't: each form of the pages has an address of the API that does the same."""

from __future__ import annotations

from app.web.page import Page
from app.web.routes import ROUTES
from tests.support.api_routes import api_routes
from tests.support.world import World

PROMPT, CASE, REPLAY = "/api/v1/prompts/{prompt_id}", "/api/v1/test-cases/{test_case_id}", "/api/v1/replays/{replay_id}"
WEBHOOK = "/api/v1/webhooks/{webhook_id}"
# What a page's form does, by the page: the API's routes for it.
SAME: dict[str, set[str]] = {
    "NewPromptPage": {"POST /api/v1/prompts"},
    "PromptEditorView": {f"PATCH {PROMPT}", f"POST {PROMPT}/commit", "POST /api/v1/prompts/run"},
    "InstructionPage": {f"POST {PROMPT}/recorded-instruction/{do}" for do in ("adopt", "placeholders")},
    "PromptPreview": {f"POST {PROMPT}/preview"},
    "Archive": {f"DELETE {PROMPT}"},
    "UnarchivePage": {f"POST {PROMPT}/unarchive"},
    "RestorePage": {f"POST {PROMPT}/versions/{{commit_hash}}/restore"},
    "MoveLabel": {f"PUT {PROMPT}/labels/{{label}}"},
    "DeleteLabel": {f"DELETE {PROMPT}/labels/{{label}}"},
    "TestCasesPage": {f"POST {PROMPT}/replays"},
    "WriteTestCase": {f"POST {PROMPT}/test-cases"},
    "ImportPage": {
        f"POST {PROMPT}/test-cases/import",
        "POST /api/public/prompts/{prompt_id}/otel/v1/traces",
    },
    "RateSession": {"POST /api/v1/scores"},
    "RemoveRating": {"DELETE /api/v1/scores/{score_id}"},
    "SessionTestCase": {"POST /api/v1/sessions/{session_id}/test-cases"},
    "TestCaseView": {f"PATCH {CASE}"},
    "ReplayTestCase": {f"POST {CASE}/replays"},
    "CopyTestCase": {f"POST {CASE}/copy"},
    "DeleteTestCase": {f"DELETE {CASE}"},
    "CalibrateTestCase": {f"POST {CASE}/calibrations"},
    "CalibrationPage": {"POST /api/v1/calibrations/{calibration_id}/accept"},
    "OnlineChecks": {f"POST {PROMPT}/online-checks"},
    "OnlineCheckView": {"PATCH /api/v1/online-checks/{check_id}"},
    "RemoveOnlineCheck": {"DELETE /api/v1/online-checks/{check_id}"},
    "SchedulesPage": {f"POST {PROMPT}/schedules"},
    "SchedulePage": {"PATCH /api/v1/schedules/{schedule_id}"},
    "NewReference": {"DELETE /api/v1/schedules/{schedule_id}/reference"},
    "DeleteSchedule": {"DELETE /api/v1/schedules/{schedule_id}"},
    "SuiteProposalPage": {f"POST {PROMPT}/suite-acceptances"},
    "SuitePage": {"POST /api/v1/suites/{suite_id}/calibrations"},
    "FindingPage": {f"PATCH {PROMPT}/findings/{{finding_id}}"},
    "AnnotateSession": {"POST /api/v1/scores"},
    "GuardMapsPage": {f"POST {PROMPT}/guard-maps"},
    "GuardMapPage": {"POST /api/v1/guard-maps/{map_id}/test-cases"},
    "CancelGuardMap": {"POST /api/v1/guard-maps/{map_id}/cancel"},
    "DeleteSuite": {"DELETE /api/v1/suites/{suite_id}"},
    "JudgeAuditsPage": {f"POST {PROMPT}/judge-audits"},
    "NewExperimentPage": {f"POST {PROMPT}/experiments"},
    "CancelExperiment": {"POST /api/v1/experiments/{experiment_id}/cancel"},
    "CancelReplay": {f"POST {REPLAY}/cancel"},
    "CancelRun": {"POST /api/v1/runs/{run_id}/cancel"},
    "AcceptBatch": {f"POST {REPLAY}/batch/accept"},
    "JudgeStep": {f"PATCH {REPLAY}/steps/{{step}}"},
    "AcceptStep": {f"POST {REPLAY}/steps/{{step}}/accept"},
    "GettingStarted": {"POST /api/v1/api-keys"},
    "Keys": {"POST /api/v1/api-keys"},
    "RevokeKey": {"DELETE /api/v1/api-keys/{key_id}"},
    "MembersPage": {"POST /api/v1/invitations"},
    "MemberPage": {"PATCH /api/v1/members/{user_id}"},
    "RemoveMember": {"DELETE /api/v1/members/{user_id}"},
    "WithdrawInvitation": {"DELETE /api/v1/invitations/{invitation_id}"},
    "ModelsPage": {"POST /api/v1/models"},
    "ModelPage": {"PATCH /api/v1/models/{model_id}"},
    "RemoveModel": {"DELETE /api/v1/models/{model_id}"},
    "ModelPricesPage": {"POST /api/v1/model-prices"},
    "RemovePrice": {"DELETE /api/v1/model-prices/{price_id}"},
    "CredentialsPage": {"PUT /api/v1/credentials/{vendor}"},
    "CheckCredential": {"POST /api/v1/credentials/{vendor}/check"},
    "ClearCredential": {"DELETE /api/v1/credentials/{vendor}"},
    "SessionsPage": {"POST /api/v1/session-filters"},
    "DeleteSessionFilter": {"DELETE /api/v1/session-filters/{filter_id}"},
    "Alerts": {"POST /api/v1/alert-rules"},
    "AlertView": {"PATCH /api/v1/alert-rules/{rule_id}"},
    "RemoveAlert": {"DELETE /api/v1/alert-rules/{rule_id}"},
    "WebhooksPage": {"POST /api/v1/webhooks"},
    "WebhookView": {f"PATCH {WEBHOOK}", f"POST {WEBHOOK}/test", f"POST {WEBHOOK}/deliveries/{{delivery_id}}/redeliver"},
    "RotateWebhookSecret": {f"POST {WEBHOOK}/secret"},
    "RemoveWebhook": {f"DELETE {WEBHOOK}"},
    "DataPolicySettings": {"PUT /api/v1/data-policy"},
    "ProjectSettings": {"PATCH /api/v1/projects/{project_id}", "POST /api/v1/projects"},
}
# What a page shows, where that is not what another route of the same resource answers.
SHOWN: dict[str, set[str]] = {
    "SessionTestCase": {"GET /api/v1/sessions/{session_id}/test-case-proposal"},
    "GuardMapPage": {"GET /api/v1/guard-maps/{map_id}/sessions"},
    "VersionsPage": {f"GET {PROMPT}/labels"},
    "InstructionPage": {f"GET {PROMPT}/recorded-instruction"},
    "PromptInsightPage": {f"GET {PROMPT}/insight", f"GET {PROMPT}/insight/comparison"},
    "PromptLogsPage": {f"GET {PROMPT}/logs"},
    "ExportPage": {f"GET {PROMPT}/exports/{{kind}}"},
    "RunView": {"GET /api/v1/runs/{run_id}"},
    "RunEventsPage": {"GET /api/v1/runs/{run_id}/events"},
    "RejectedSpansPage": {"GET /api/v1/rejected-spans"},
    "UsageCsv": {"GET /api/v1/usage"},
    "UsageView": {"GET /api/v1/usage/observed"},
    "MembersPage": {"GET /api/v1/members", "GET /api/v1/invitations"},
    "ModelsPage": {"GET /api/v1/models"},
    "ModelPricesPage": {"GET /api/v1/model-prices"},
    "CredentialsPage": {"GET /api/v1/credentials"},
    "ProjectSettings": {"GET /api/v1/projects"},
    "WebhookView": {f"GET {WEBHOOK}/deliveries"},
    "SessionsPage": {"GET /api/v1/session-filters"},
    "Alerts": {"GET /api/v1/alert-rules"},
    "Audit": {"GET /api/v1/audit-log"},
}
# A person's own: who they are and how they prove it. Keys are no persons.
OF_A_PERSON = {"SignIn", "SignInLink", "SignOut", "Join", "Account"}


def forms() -> dict[str, type[Page]]:
    return {page.__name__: page for _, page in ROUTES if hasattr(page, "on_post")}


def test_every_form_has_its_route() -> None:
    missing = forms().keys() - SAME.keys() - OF_A_PERSON
    assert missing == set(), "name the API's route for these, after making it"
    assert SAME.keys() | OF_A_PERSON == forms().keys()


def test_the_routes_are_there(world: World) -> None:
    routes = {str(route) for route in api_routes(world.client.app)}
    named = set().union(*SAME.values(), *SHOWN.values())
    assert named - routes == set()
    assert SHOWN.keys() <= {page.__name__ for _, page in ROUTES}
