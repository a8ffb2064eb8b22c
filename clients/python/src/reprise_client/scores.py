"""Scores: the request that gives one, and the answer once it is stored."""

from __future__ import annotations

import json
import time
import uuid
from typing import TypedDict

from reprise_client.errors import ConfigurationError
from reprise_client.reading import HttpReply
from reprise_client.records import foreign, parse_answer
from reprise_client.runs import ClientRequest

WAIT_S = 60.0


class ScoreOptions(TypedDict, total=False):
    """The scored thing, and the options of a score.

    Scored is a session (`session_id`, or `prompt_id` and `conversation_id`), a turn (`trace_id`), a step (with
    `span_id`) or a run (`run_id`). A score with the `score_id` of one that is stored replaces that; by default
    each call stores a new one. `timeout_s` is how long the caller waits in all, 60 by default.
    """

    session_id: str
    prompt_id: int
    conversation_id: str
    trace_id: str
    span_id: str
    run_id: int
    comment: str
    score_id: str
    timeout_s: float


_TARGET = {
    "session_id": "sessionId",
    "prompt_id": "promptId",
    "conversation_id": "conversationId",
    "trace_id": "traceId",
    "span_id": "spanId",
    "run_id": "runId",
}


def score_request(name: str, value: float | bool | str, options: ScoreOptions) -> ClientRequest:
    """Return the request of POST /api/v1/scores. Without `score_id` the score has a new id, so each call adds a score.

    Raises `ConfigurationError` for a value that is no JSON, such as NaN.
    """
    known = {_TARGET[option]: named for option, named in options.items() if option in _TARGET}
    body = {
        "id": options.get("score_id") or str(uuid.uuid4()),
        "name": name,
        "value": value,
        "comment": options.get("comment"),
        "target": known,
    }
    try:
        content = json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise ConfigurationError(f"The score is no JSON: {problem}") from None
    return ClientRequest("POST", "/api/v1/scores", time.monotonic() + options.get("timeout_s", WAIT_S), content)


def stored_id(reply: HttpReply) -> str:
    """Return the id of the stored score in an answer."""
    score_id = parse_answer(reply.body, reply.url).get("id")
    if not isinstance(score_id, str):
        raise foreign(reply.url)
    return score_id
