"""POST /api/v1/prompts/run, GET /api/v1/runs/{id} with its /events and /cancel, GET /api/v1/usage and its /observed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import falcon
import orjson

from app.api.operation import ApiCall, ApiReply, Resource, operation
from app.errors import Invalid
from app.http.event_stream import EVENT_STREAM
from app.http.run_events import last_seen, send_run_events
from app.models.api_keys import ApiKey
from app.models.runs import RunRow
from app.schemas import runs as schemas
from app.schemas import usage as usage_schemas
from app.schemas.base import load
from app.services.runs import Idempotency, StartedRun
from app.services.runs.outcome import raise_failure
from app.wiring.container import Container

KEY_MAX = 255
CSV = "text/csv"
_REQUEST = schemas.RunRequest()


class RunPrompt(Resource, POST="run"):
    """Answers with the model's whole answer, with events while it is written, or with the accepted run (202)."""

    waits = frozenset({"POST"})

    @operation(
        "Run a prompt",
        body=schemas.RunRequest,
        limit="run",
        headers=("Idempotency-Key", "Prefer", "Last-Event-ID"),
        answers={200: schemas.RunAnswer, 202: schemas.Run},
        answer_headers=("X-Run-Id",),
        errors=(404, 409, 502, 504),
        texts=(EVENT_STREAM,),
    )
    def on_post(self, key: ApiKey, call: ApiCall) -> RunRow | ApiReply | None:
        req, resp = call.req, call.resp
        started = self._start(key, call)
        resp.set_header("X-Run-Id", str(started.run_id))
        self.container.run_delivery.send(started)
        if _prefers_async(req):
            resp.location = f"/api/v1/runs/{started.run_id}"
            resp.set_header("Preference-Applied", "respond-async")
            return ApiReply(202, self.services.runs.get(project_id=started.project_id, run_id=started.run_id))
        if wants_events(req):
            # Last-Event-ID belongs to another run if this request begins a new run.
            _send_events(self.container, key, call, started.run_id, last_seen(req) if started.joined else None)
            return None
        row = self.container.run_delivery.finished(started)
        raise_failure(row)
        return row

    def _start(self, key: ApiKey, call: ApiCall) -> StartedRun:
        """Read the body and start the run.

        This is a separate method, so that no frame keeps the files in memory while a caller waits. Decoded files are
        smaller than the body, so the body's limit bounds both.
        """
        body = call.read_json()
        return self.services.runs.start(
            replace(load(_REQUEST, body), stream=wants_events(call.req)),
            project_id=key.project_id,
            api_key_id=key.id,
            idempotency=_idempotency(call.req, key.id, body),
            epoch=call.epoch,
        )


class RunResource(Resource, GET="read"):
    @operation("One run with all details", answers={200: schemas.Run})
    def on_get(self, key: ApiKey, run_id: int) -> RunRow:
        return self.services.runs.get(project_id=key.project_id, run_id=run_id)


class RunCancellation(Resource, POST="run"):
    """Keys that may start runs may cancel them. The answer is 202 until the run's worker has stopped the model."""

    @operation(
        "Cancel a run",
        answers={200: schemas.Run, 202: schemas.Run},
        location="/api/v1/runs/{id}",
        errors=(409,),
    )
    def on_post(self, key: ApiKey, run_id: int) -> RunRow | ApiReply:
        row = self.services.runs.cancel(project_id=key.project_id, run_id=run_id)
        return row if row.finished else ApiReply(202, row)


class RunEventsResource(Resource, GET="read"):
    """The events of a run that an earlier request started."""

    waits = frozenset({"GET"})

    @operation(
        "The events of a run, from the beginning or after the last received event",
        headers=("Last-Event-ID",),
        answers={200: None, 204: None},
        texts=(EVENT_STREAM,),
        answer_headers=("X-Run-Id",),
    )
    def on_get(self, key: ApiKey, call: ApiCall, run_id: int) -> None:
        row = self.services.runs.get(project_id=key.project_id, run_id=run_id)
        call.resp.set_header("X-Run-Id", str(row.id))
        _send_events(self.container, key, call, row.id, last_seen(call.req))


def _prefers_async(req: falcon.Request) -> bool:
    """Return whether the header asks for 202 (RFC 7240): commas separate preferences, and case is ignored."""
    preferences = (req.get_header("Prefer") or "").split(",")
    return any(preference.partition(";")[0].strip().lower() == "respond-async" for preference in preferences)


def _idempotency(req: falcon.Request, api_key_id: int, body: Any) -> Idempotency | None:
    """Return the Idempotency-Key with a digest of the body. White space and order of keys do not change the digest."""
    key = req.get_header("Idempotency-Key")
    if key is None:
        return None
    if not 0 < len(key.strip()) <= KEY_MAX:
        raise Invalid(f"Idempotency-Key: Must have 1 to {KEY_MAX} characters.")
    return Idempotency.of(api_key_id, key.strip(), orjson.dumps(body, option=orjson.OPT_SORT_KEYS))


def wants_events(req: falcon.Request) -> bool:
    """Return whether the caller prefers server-sent events to JSON."""
    return req.client_prefers((falcon.MEDIA_JSON, EVENT_STREAM)) == EVENT_STREAM


def _send_events(container: Container, key: ApiKey, call: ApiCall, run_id: int, after: str | None) -> None:
    owner = {"project_id": key.project_id, "api_key_id": key.id}
    send_run_events(call.req, call.resp, container.run_follower, **owner, run_id=run_id, after=after)


class ObservedUsageResource(Resource, tag="Usage", GET="read"):
    @operation(
        "The model calls of traces by day, prompt and model, which usage does not include",
        query=usage_schemas.ObservedQuery,
        answers={200: usage_schemas.ObservedUsageSchema},
    )
    def on_get(self, key: ApiKey, command: usage_schemas.UsageQuestion) -> usage_schemas.UsageReport:
        days = command.days(self.container.now().date())
        groups = self.services.observed.read(project_id=key.project_id, filters=days, group_by=command.group_by)
        return usage_schemas.UsageReport(groups, days, command.group_by)


class UsageResource(Resource, tag="Usage", GET="read"):
    @operation(
        "Usage by day, prompt, version, model, key or source",
        query=usage_schemas.UsageQuery,
        answers={200: usage_schemas.UsageSchema},
        texts=(CSV,),
    )
    def on_get(
        self, key: ApiKey, command: usage_schemas.UsageQuestion, call: ApiCall
    ) -> usage_schemas.UsageReport | None:
        days = command.days(self.container.now().date())
        rows = self.services.usage.read(project_id=key.project_id, filters=days, group_by=command.group_by)
        if call.req.client_prefers((falcon.MEDIA_JSON, CSV)) != CSV:
            return usage_schemas.UsageReport(rows, days, command.group_by)
        call.resp.content_type = f"{CSV}; charset=utf-8; header=present"
        call.resp.text = usage_schemas.usage_csv(rows, command.group_by)
        return None
