"""Replays: started for a test case or a whole prompt, listed, read, cancelled, judged."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.actors.replay_delivery import ReplayDelivery
from app.api.operation import operation
from app.errors import Invalid
from app.http.bodies import read_json
from app.models.replays import ReplayFilter
from app.schemas.answers import cases as case_answers
from app.schemas.answers import replays as answers
from app.schemas.base import load
from app.schemas.cases import dump_test_case
from app.schemas.replays import (
    HistoryQuerySchema,
    ReplayQuery,
    ReplayQuerySchema,
    StartAllSchema,
    StartSchema,
    VerdictSchema,
    dump_accepted,
    dump_history,
    dump_replay,
    dump_replays,
)
from app.services.replays.cases import TestCaseService
from app.services.replays.history import ReplayHistory
from app.services.replays.service import ReplayService

_START, _START_ALL, _QUERY, _VERDICT = StartSchema(), StartAllSchema(), ReplayQuerySchema(), VerdictSchema()
_HISTORY = HistoryQuerySchema()


class TestCaseReplays:
    access = ByKey({"POST": "run"})

    def __init__(self, *, replays: ReplayService, delivery: ReplayDelivery, body_bytes: int) -> None:
        self._replays = replays
        self._delivery = delivery
        self._body_bytes = body_bytes

    @operation(
        "Replay a test case against the draft",
        body=StartSchema,
        body_optional=True,
        answers={202: answers.Accepted},
        errors=(409,),
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response, test_case_id: int) -> None:
        asked = load(_START, read_json(req, self._body_bytes, optional=True))
        row = self._replays.start(project_id=req.context.key.project_id, test_case_id=test_case_id, **asked)
        self._delivery.send([row.id])
        resp.status = falcon.HTTP_202
        resp.location = f"/api/v1/replays/{row.id}"
        resp.media = dump_accepted(row)


class PromptReplays:
    access = ByKey({"GET": "read", "POST": "run"})

    def __init__(self, *, replays: ReplayService, delivery: ReplayDelivery, body_bytes: int) -> None:
        self._replays = replays
        self._delivery = delivery
        self._body_bytes = body_bytes

    @operation("The prompt's replays, newest first", query=ReplayQuerySchema, answers={200: answers.Replays})
    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        query: ReplayQuery = load(_QUERY, req.params)
        page = self._replays.list(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            wanted=ReplayFilter(query.test_case_id, query.status, [query.fingerprint] if query.fingerprint else None),
            commit_hash=query.commit_hash,
            limit=query.limit,
            cursor=query.cursor,
        )
        resp.media = dump_replays(page.entries, page.next_cursor)

    @operation(
        "Replay test cases of the prompt against the draft",
        body=StartAllSchema,
        body_optional=True,
        answers={202: answers.AcceptedReplays},
        errors=(409,),
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        asked = load(_START_ALL, read_json(req, self._body_bytes, optional=True))
        rows = self._replays.start_all(project_id=req.context.key.project_id, prompt_id=prompt_id, **asked)
        self._delivery.send(row.id for row in rows)
        resp.status = falcon.HTTP_202
        resp.location = f"/api/v1/prompts/{prompt_id}/replays"
        resp.media = {"replays": [dump_accepted(row) for row in rows]}


class ReplayResource:
    access = ByKey({"GET": "read"})

    def __init__(self, *, replays: ReplayService) -> None:
        self._replays = replays

    @operation("One replay with the verdict on each step", answers={200: answers.Replay})
    def on_get(self, req: falcon.Request, resp: falcon.Response, replay_id: int) -> None:
        resp.media = dump_replay(self._replays.get(project_id=req.context.key.project_id, replay_id=replay_id))


class ReplayCancellation:
    """Whoever may start replays may cancel them."""

    access = ByKey({"POST": "run"})

    def __init__(self, *, replays: ReplayService) -> None:
        self._replays = replays

    @operation("Cancel a replay", answers={200: answers.Replay}, errors=(409,))
    def on_post(self, req: falcon.Request, resp: falcon.Response, replay_id: int) -> None:
        resp.media = dump_replay(self._replays.cancel(project_id=req.context.key.project_id, replay_id=replay_id))


class ReplayStep:
    """A person's verdict; steps count over all turns, from 0."""

    access = ByKey({"PATCH": "write"})

    def __init__(self, *, replays: ReplayService, body_bytes: int) -> None:
        self._replays = replays
        self._body_bytes = body_bytes

    @operation("Decide a step that needs review", body=VerdictSchema, answers={200: answers.Replay}, errors=(409,))
    def on_patch(self, req: falcon.Request, resp: falcon.Response, replay_id: int, step: str) -> None:
        verdict = load(_VERDICT, read_json(req, self._body_bytes))["verdict"]
        key = req.context.key
        view = self._replays.decide(
            project_id=key.project_id, replay_id=replay_id, step=_number(step), verdict=verdict, actor=key.actor
        )
        resp.media = dump_replay(view)


class AcceptedStep:
    """The test case expects from now on what the draft produced; the replay keeps its verdict."""

    access = ByKey({"POST": "write"})

    def __init__(self, *, replays: ReplayService, cases: TestCaseService) -> None:
        self._replays = replays
        self._cases = cases

    @operation("Accept what a step produced as expected", answers={200: case_answers.Case})
    def on_post(self, req: falcon.Request, resp: falcon.Response, replay_id: int, step: str) -> None:
        key = req.context.key
        made = self._replays.produced(project_id=key.project_id, replay_id=replay_id, step=_number(step))
        row = self._cases.accept(
            project_id=key.project_id,
            test_case_id=made.test_case_id,
            turn=made.turn,
            step=made.step,
            actual=made.actual,
            actor=key.actor,
        )
        resp.media = dump_test_case(row)


def _number(step: str) -> int:
    if not (step.isascii() and step.isdigit() and len(step) < 10):
        raise Invalid("n: Must be the number of a step.")
    return int(step)


class ReplayHistoryResource:
    """How often the replays of each draft and version passed."""

    access = ByKey({"GET": "read"})

    def __init__(self, *, history: ReplayHistory) -> None:
        self._history = history

    @operation(
        "How often the replays of each draft and version passed",
        query=HistoryQuerySchema,
        answers={200: answers.History},
    )
    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        test_case_id: int | None = load(_HISTORY, req.params)["test_case_id"]
        entries = self._history.of_prompt(
            project_id=req.context.key.project_id, prompt_id=prompt_id, test_case_id=test_case_id
        )
        resp.media = dump_history(entries)
