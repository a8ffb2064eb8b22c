"""POST /api/v1/prompts/run, GET /api/v1/runs/{id} and its /events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import falcon
import orjson

from app.access import ByKey
from app.actors.run_delivery import RunDelivery
from app.api.operation import operation
from app.api.run_events import EVENT_STREAM, last_seen, send_events, wants_events
from app.errors import Invalid
from app.http.bodies import read_json
from app.models.runs import RunRow
from app.schemas.answers import runs as answers
from app.schemas.base import load
from app.schemas.runs import RunRequest, answer_json, record_json
from app.services.runs import Idempotency, RunCommand, RunService, Started
from app.services.runs.failures import raise_failure
from app.services.runs.following import Follower

KEY_MAX = 255


class RunPrompt:
    """Answers with the model's answer: whole, as events while it is written, or at once (202) to be asked for later."""

    access = ByKey({"POST": "run"})
    waits = frozenset({"POST"})

    def __init__(self, *, runs: RunService, delivery: RunDelivery, follower: Follower, body_bytes: int) -> None:
        self._runs = runs
        self._follower = follower
        self._delivery = delivery
        self._body_bytes = body_bytes

    @operation(
        "Run a prompt",
        body=RunRequest,
        headers=("Idempotency-Key", "Prefer", "Last-Event-ID"),
        answers={200: answers.RunAnswer, 202: answers.Run},
        answer_headers=("X-Run-Id",),
        errors=(404, 409, 502, 504),
        texts=(EVENT_STREAM,),
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        started = self._start(req)
        resp.set_header("X-Run-Id", str(started.run_id))
        self._delivery.send(started)
        if _prefers_async(req):
            _accepted(resp, self._runs.get(project_id=started.project_id, run_id=started.run_id))
            return
        if wants_events(req):
            # What the caller saw of another run means nothing for one that begins here.
            send_events(req, resp, self._follower, started, after=last_seen(req) if started.joined else None)
            return
        row = self._delivery.finished(started)
        raise_failure(row)
        resp.media = answer_json(row)

    def _start(self, req: falcon.Request) -> Started:
        """Apart from the waiting, so that the body and its files are not held while a caller waits.

        Decoded, files are smaller than the body that brings them: its limit holds for both.
        """
        key = req.context.key
        body = read_json(req, self._body_bytes)
        command: RunCommand = replace(load(RunRequest(), body), stream=wants_events(req))
        idempotency = _idempotency(req, key.id, body)
        return self._runs.start(
            command,
            project_id=key.project_id,
            api_key_id=key.id,
            idempotency=idempotency,
            epoch=req.context.epoch,
        )


class RunResource:
    access = ByKey({"GET": "read"})

    def __init__(self, *, runs: RunService) -> None:
        self._runs = runs

    @operation("One run with all that is known of it", answers={200: answers.Run})
    def on_get(self, req: falcon.Request, resp: falcon.Response, run_id: int) -> None:
        resp.media = record_json(self._runs.get(project_id=req.context.key.project_id, run_id=run_id))


class RunEvents:
    """The events of a run that the caller began elsewhere, or was cut off from."""

    access = ByKey({"GET": "read"})
    waits = frozenset({"GET"})

    def __init__(self, *, runs: RunService, follower: Follower) -> None:
        self._runs = runs
        self._follower = follower

    @operation(
        "The events of a run, from its beginning or after the last one seen",
        headers=("Last-Event-ID",),
        answers={200: None, 204: None},
        texts=(EVENT_STREAM,),
        answer_headers=("X-Run-Id",),
    )
    def on_get(self, req: falcon.Request, resp: falcon.Response, run_id: int) -> None:
        row = self._runs.get(project_id=req.context.key.project_id, run_id=run_id)
        resp.set_header("X-Run-Id", str(row.id))
        send_events(req, resp, self._follower, Started(row.id, row.project_id, joined=True), after=last_seen(req))


def _accepted(resp: falcon.Response, row: RunRow) -> None:
    resp.status = falcon.HTTP_202
    resp.location = f"/api/v1/runs/{row.id}"
    resp.set_header("Preference-Applied", "respond-async")
    resp.media = record_json(row)


def _prefers_async(req: falcon.Request) -> bool:
    """RFC 7240: preferences are separated by commas, their names have no case."""
    preferences = (req.get_header("Prefer") or "").split(",")
    return any(preference.partition(";")[0].strip().lower() == "respond-async" for preference in preferences)


def _idempotency(req: falcon.Request, api_key_id: int, body: Any) -> Idempotency | None:
    """Bodies are the same when they say the same: white space and the order of fields don't count."""
    key = req.get_header("Idempotency-Key")
    if key is None:
        return None
    if not 0 < len(key.strip()) <= KEY_MAX:
        raise Invalid(f"Idempotency-Key: Must have 1 to {KEY_MAX} characters.")
    return Idempotency.of(api_key_id, key.strip(), orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
