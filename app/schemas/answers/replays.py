"""Replays, as answers show them."""

from __future__ import annotations

from typing import get_args

from app.models.replays import STATUSES
from app.replay.types import StepResult, StopReason
from app.schemas.answers.common import Cost, Tokens
from app.schemas.answers.shapes import anything, choice, integer, many, mapping, number, one, shape, text, time

Counts = shape("StepCounts", {result: integer() for result in get_args(StepResult)})
Progress = shape("ReplayProgress", {"done": integer(), "total": integer()})
Drift = shape("Drift", {"placeholders": mapping(text()), "tools": many(text())})
Difference = shape(
    "Difference", {"path": text(), "expected": anything(required=False), "actual": anything(required=False)}
)
StepVerdict = shape(
    "StepVerdict",
    {
        "kind": choice("tool_call", "answer"),
        "result": choice(*get_args(StepResult)),
        "expected": anything(),
        "actual": anything(),
        "reason": text(required=False),
        "diff": many(Difference, required=False),
    },
)
Produced = shape(
    "ProducedStep",
    {
        "kind": choice("tool_call", "answer"),
        "text": text(required=False),
        "name": text(required=False),
        "arguments": anything(required=False),
        "result": anything(required=False),
    },
)
ReplayTurn = shape(
    "ReplayTurn",
    {
        "user": text(allow_none=True),
        "steps": many(StepVerdict),
        "extra": many(Produced),
        "stopReason": choice(*get_args(StopReason), allow_none=True),
        "drift": one(Drift),
        "error": text(allow_none=True),
    },
)
Accepted = shape(
    "AcceptedReplay", {"id": integer(), "status": choice(*STATUSES), "testCaseId": integer(allow_none=True)}
)
AcceptedReplays = shape("AcceptedReplays", {"replays": many(Accepted)})
Summary = shape(
    "ReplaySummary",
    {
        "id": integer(),
        "status": choice(*STATUSES),
        "promptId": integer(),
        "testCaseId": integer(allow_none=True),
        "testCaseName": text(allow_none=True),
        "draftFingerprint": text(allow_none=True),
        "commitHash": text(allow_none=True),
        "progress": one(Progress),
        "counts": one(Counts),
        "tokens": one(Tokens),
        "cost": one(Cost),
        "error": text(allow_none=True),
        "createdAt": time(),
        "startedAt": time(allow_none=True),
        "finishedAt": time(allow_none=True),
    },
)
Replay = shape(
    "Replay",
    {
        "turns": many(ReplayTurn),
        "stopReason": choice(*get_args(StopReason), allow_none=True),
        "drift": one(Drift),
        "judgeTokens": one(Tokens),
    },
    Summary,
)
Replays = shape("Replays", {"replays": many(Summary), "nextCursor": text(allow_none=True)})
History = shape(
    "ReplayHistory",
    {
        "history": many(
            shape(
                "DraftHistory",
                {
                    "draftFingerprint": text(),
                    "commitHash": text(allow_none=True),
                    "replays": integer(),
                    "counts": mapping(integer()),
                    "passRate": number(allow_none=True),
                    "firstAt": time(),
                    "lastAt": time(),
                },
            )
        )
    },
)
