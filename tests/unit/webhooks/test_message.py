"""The bodies that webhooks get, and their signatures."""

from datetime import UTC, datetime

import orjson
import pytest

from app.webhooks.message import WebhookMessage, body_of, headers_of, new_secret

WHEN = datetime(2026, 11, 22, 18, 0, tzinfo=UTC)
HASH = "4f53a0c1" * 8
PROMPT = {"projectId": 3, "promptId": 7, "promptName": "Support"}
COMMITTED = PROMPT | {"commitHash": HASH, "message": "Be <kind> & brief", "author": "Ada"}
REJECTED = {"projectId": 3, "rejected": 5, "causes": [{"code": "no_prompt_id", "count": 5}]}


def message(event: str, data: dict[str, object]) -> WebhookMessage:
    return WebhookMessage("msg_1", event, WHEN, data)


def slack(event: str, data: dict[str, object], base_url: str = "") -> str:
    text: str = orjson.loads(body_of(message(event, data), "slack", base_url=base_url))["text"]
    return text


def test_the_body_has_type_timestamp_and_data_with_a_link() -> None:
    body = orjson.loads(body_of(message("version.committed", COMMITTED), "json", base_url="https://r.example"))
    assert body == {
        "type": "version.committed",
        "timestamp": "2026-11-22T18:00:00.000Z",
        "data": COMMITTED | {"url": "https://r.example/projects/3/prompts/7/versions"},
    }


def test_without_a_public_address_there_is_no_link() -> None:
    assert orjson.loads(body_of(message("version.committed", COMMITTED), "json", base_url=""))["data"] == COMMITTED


def test_what_people_wrote_is_no_markup_in_slack() -> None:
    text = slack("version.committed", COMMITTED)
    assert text == "Version 4f53a0c1 of Support was committed by Ada: Be &lt;kind&gt; &amp; brief"


@pytest.mark.parametrize(
    ("event", "data", "text", "path"),
    [
        (
            "label.moved",
            PROMPT | {"label": "production", "commitHash": HASH, "split": {"commitHash": HASH, "share": 0.1}},
            "The label production of Support points to version 4f53a0c1, and 10% of the keys get 4f53a0c1.",
            "/projects/3/prompts/7/versions",
        ),
        (
            "experiment.finished",
            PROMPT | {"experimentId": 9, "outcome": "passed", "reason": None},
            "Experiment 9 of Support ended: passed.",
            "/projects/3/experiments/9",
        ),
        (
            "guard_map.finished",
            PROMPT | {"guardMapId": 9, "outcome": "finished", "reason": None},
            "The guard map 9 of Support ended: finished.",
            "/projects/3/guard-maps/9",
        ),
        (
            "model.drifted",
            PROMPT | {"scheduleId": 4, "experimentId": 9, "dropped": 2},
            "The version of Support is the same, and 2 test cases passed less often than in the reference.",
            "/projects/3/schedules/4",
        ),
        (
            "coverage.fell",
            PROMPT | {"scheduleId": 4, "suite": "release", "share": 0.714, "minCoverage": 0.8},
            "For Support, the suite release represented 71% of the last 7 days' sessions, below 80%.",
            "/projects/3/schedules/4",
        ),
        (
            "coverage.fell",
            PROMPT | {"scheduleId": 4, "suite": None, "share": 0.0, "minCoverage": 0.8},
            "For Support, all suites represented 0% of the last 7 days' sessions, below 80%.",
            "/projects/3/schedules/4",
        ),
        (
            "finding.opened",
            PROMPT | {"findings": 2, "findingIds": ["a", "b"]},
            "Support has 2 new findings: what went wrong in its sessions.",
            "/projects/3/prompts/7/findings",
        ),
        (
            "finding.reopened",
            PROMPT | {"findings": 1, "findingIds": ["a"]},
            "Support has 1 solved finding with new sessions.",
            "/projects/3/prompts/7/findings",
        ),
        (
            "spans.rejected",
            REJECTED,
            "Spans were rejected: 5, of which 5 for no_prompt_id.",
            "/projects/3/rejected-spans",
        ),
        ("webhook.test", {"projectId": 3}, "This is a test: the webhook works.", "/projects/3"),
    ],
)
def test_each_event_is_a_sentence_with_a_link_in_slack(
    event: str, data: dict[str, object], text: str, path: str
) -> None:
    assert slack(event, data, "https://r.example") == f"{text} <https://r.example{path}|Open in Reprise>"


def test_the_signature_is_that_of_the_standards_example() -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    when = datetime.fromtimestamp(1614265330, UTC)
    headers = headers_of("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', [secret], when)
    assert headers["webhook-timestamp"] == "1614265330"
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_each_secret_signs() -> None:
    signatures = headers_of("msg_1", b"{}", [new_secret(), new_secret()], WHEN)["webhook-signature"].split(" ")
    assert len(set(signatures)) == 2


def test_an_alert_names_what_is_above_and_what_has_recovered() -> None:
    alert = {"projectId": 3, "alertRuleId": 1, "metric": "errorShare", "threshold": 0.1, "windowMinutes": 60}
    started, ended = alert | {"value": 0.25}, alert | {"value": None}
    assert slack("alert.started", started) == (
        "The share of sessions with errors of the project, 25% in the last 60 minutes, is above 10%."
    )
    assert slack("alert.ended", ended).endswith("too few sessions in the last 60 minutes, is no longer above 10%.")
    assert slack("alert.started", started, "https://r.example").endswith(
        " <https://r.example/projects/3/sessions?errors=true|Open in Reprise>"
    )
