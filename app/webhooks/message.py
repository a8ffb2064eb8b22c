"""Requests that deliver events to webhooks, as plain JSON or for Slack, with the signatures of Standard Webhooks."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

import orjson

from app.timestamps import iso

SECRET_PREFIX, SECRET_BYTES = "whsec_", 32
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """An event: its `id` is the same in each attempt, `when` is the time of the event."""

    id: str
    event: str
    when: datetime
    data: Data


def new_secret() -> str:
    """Return 32 random bytes in Base64, after the prefix of webhook secrets."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def body_of(message: WebhookMessage, form: Literal["json", "slack"], *, base_url: str) -> bytes:
    """Return the body. Links begin with `base_url`; if it is "", there are no links."""
    link = base_url + _path(message.data) if base_url else ""
    if form == "slack":
        return orjson.dumps({"text": _slack_text(message, link)})
    linked = {**message.data, "url": link} if link else message.data
    return orjson.dumps({"type": message.event, "timestamp": iso(message.when), "data": linked})


def headers_of(message_id: str, body: bytes, signing: Sequence[str], now: datetime) -> dict[str, str]:
    """Return the headers of an attempt, with one signature for each secret of `signing`."""
    timestamp = str(int(now.timestamp()))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    return {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{_signature(secret, signed)}" for secret in signing),
    }


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return base64.b64encode(hmac.digest(key, signed, sha256)).decode()


def _path(data: Data) -> str:
    """Return the path of the page about the event."""
    project = f"/projects/{data['projectId']}"
    if "scheduleId" in data:
        return f"{project}/schedules/{data['scheduleId']}"
    if "experimentId" in data:
        return f"{project}/experiments/{data['experimentId']}"
    if "guardMapId" in data:
        return f"{project}/guard-maps/{data['guardMapId']}"
    if "findingIds" in data:
        return f"{project}/prompts/{data['promptId']}/findings"
    if "rejected" in data:
        return f"{project}/rejected-spans"
    if data.get("metric") == "errorShare":
        return f"{project}/sessions?errors=true"
    if data.get("metric") == "uncoveredShare" and "promptId" in data:
        return f"{project}/prompts/{data['promptId']}/suites"
    if "metric" in data:
        return f"{project}/usage"
    return f"{project}/prompts/{data['promptId']}/versions" if "promptId" in data else project


def _slack_text(message: WebhookMessage, link: str) -> str:
    text = _TEXTS.get(message.event, _test)(message.data)
    return _escaped(text) + (f" <{link}|Open in Reprise>" if link else "")


def _escaped(text: str) -> str:
    """Escape the characters of Slack's markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _committed(data: Data) -> str:
    author = f" by {data['author']}" if data["author"] else ""
    message = f": {data['message']}" if data["message"] else "."
    return f"Version {data['commitHash'][:8]} of {data['promptName']} was committed{author}{message}"


def _moved(data: Data) -> str:
    split = data["split"]
    shared = f", and {split['share']:.0%} of the keys get {split['commitHash'][:8]}" if split else ""
    return f"The label {data['label']} of {data['promptName']} points to version {data['commitHash'][:8]}{shared}."


def _finished(data: Data) -> str:
    what = f"The guard map {data['guardMapId']}" if "guardMapId" in data else f"Experiment {data['experimentId']}"
    reason = f" {data['reason']}" if data["reason"] else ""
    return f"{what} of {data['promptName']} ended: {data['outcome']}.{reason}"


def _drifted(data: Data) -> str:
    cases = f"{data['dropped']} test case{'' if data['dropped'] == 1 else 's'}"
    return f"The version of {data['promptName']} is the same, and {cases} passed less often than in the reference."


def _fell(data: Data) -> str:
    suite = f"the suite {data['suite']}" if data["suite"] else "all suites"
    share, least = f"{data['share']:.0%}", f"{data['minCoverage']:.0%}"
    return f"For {data['promptName']}, {suite} represented {share} of the last 7 days' sessions, below {least}."


def _opened(data: Data) -> str:
    return f"{data['promptName']} has {_findings(data, 'new finding')}: what went wrong in its sessions."


def _reopened(data: Data) -> str:
    return f"{data['promptName']} has {_findings(data, 'solved finding')} with new sessions."


def _findings(data: Data, name: str) -> str:
    return f"{data['findings']} {name}{'' if data['findings'] == 1 else 's'}"


def _rejected(data: Data) -> str:
    causes = ", ".join(f"{cause['count']} for {cause['code']}" for cause in data["causes"])
    return f"Spans were rejected: {data['rejected']}, of which {causes}."


def _alert(data: Data) -> str:
    """Return "The cost of runs and replays of Support, $5 in the last 60 minutes, is above $3.", or is no longer."""
    unit, name = _METRICS[data["metric"]]
    subject = data.get("promptName") or "the project"
    value = "unknown, as there are too few sessions" if data["value"] is None else unit.format(data["value"])
    above = "is above" if data["value"] is not None and data["value"] > data["threshold"] else "is no longer above"
    window = f"in the last {data['windowMinutes']} minutes"
    return f"The {name} of {subject}, {value} {window}, {above} {unit.format(data['threshold'])}."


_METRICS = {
    "errorShare": ("{:.0%}", "share of sessions with errors"),
    "uncoveredShare": ("{:.0%}", "share of sessions without a test"),
    "observedCost": ("${:,.2f}", "cost of traced model calls"),
    "cost": ("${:,.2f}", "cost of runs and replays"),
}


def _test(_data: Data) -> str:
    return "This is a test: the webhook works."


_TEXTS: Mapping[str, Callable[[Data], str]] = {
    "version.committed": _committed,
    "label.moved": _moved,
    "experiment.finished": _finished,
    "guard_map.finished": _finished,
    "model.drifted": _drifted,
    "coverage.fell": _fell,
    "finding.opened": _opened,
    "finding.reopened": _reopened,
    "spans.rejected": _rejected,
    "alert.started": _alert,
    "alert.ended": _alert,
}
