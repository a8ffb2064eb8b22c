"""POST /api/v1/prompts/run and GET /api/v1/runs/{id}."""

from __future__ import annotations

from typing import Any

import falcon
import orjson

from app.actors.run_delivery import RunDelivery
from app.api.bodies import read_json
from app.errors import Invalid
from app.models.runs import RunRow
from app.schemas.base import load
from app.schemas.runs import RunRequest, answer_json, record_json
from app.services.runs import Idempotency, RunCommand, RunService, Started
from app.services.runs.failures import raise_failure

KEY_MAX = 255


class RunPrompt:
    """Answers with the model's answer, or at once (202) when the caller prefers to ask later."""

    scopes = {"POST": "run"}  # noqa: RUF012 - read by the authentication middleware

    def __init__(self, *, runs: RunService, delivery: RunDelivery, body_bytes: int) -> None:
        self._runs = runs
        self._delivery = delivery
        self._body_bytes = body_bytes

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        started = self._start(req)
        resp.set_header("X-Run-Id", str(started.run_id))
        self._delivery.send(started)
        if _prefers_async(req):
            _accepted(resp, self._runs.get(project_id=started.project_id, run_id=started.run_id))
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
        command: RunCommand = load(RunRequest(), body)
        idempotency = _idempotency(req, key.id, body)
        return self._runs.start(command, project_id=key.project_id, api_key_id=key.id, idempotency=idempotency)


class RunResource:
    def __init__(self, *, runs: RunService) -> None:
        self._runs = runs

    def on_get(self, req: falcon.Request, resp: falcon.Response, run_id: int) -> None:
        resp.media = record_json(self._runs.get(project_id=req.context.key.project_id, run_id=run_id))


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
