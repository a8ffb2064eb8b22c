"""Reads what people decided about answers in a prompt's replays, which an audit compares with the gate's verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sqlalchemy import Connection

from app.audit.probes import Labelled
from app.models import replays
from app.models.replays import ReplayFilter
from app.replay.case_types import TestCase
from app.replay.documents import load
from app.replay.result_types import ReplayResult

REPLAYS_READ = 500  # newest replays of a prompt
REVIEWED_MAX = 50  # of them with verdicts of people


def labels_of(connection: Connection, prompt_id: int, cases: Mapping[int, TestCase]) -> dict[int, tuple[Labelled, ...]]:
    """Return the answers that people accepted or refused, by test case, newest first.

    A label counts only while the test case has the text with which the person compared the answer.
    """
    rows = replays.list_replays(
        connection, prompt_id=prompt_id, filters=ReplayFilter(), before_id=None, limit=REPLAYS_READ
    )
    labels: defaultdict[int, list[Labelled]] = defaultdict(list)
    for row in [row for row in rows if row.reviews and row.test_case_id in cases][:REVIEWED_MAX]:
        result = load(replays.result_of(connection, replay_id=row.id), ReplayResult)
        labels[row.test_case_id] += _labels(result, cases[row.test_case_id])
    return {test_case_id: tuple(dict.fromkeys(texts)) for test_case_id, texts in labels.items()}


def _labels(result: ReplayResult, case: TestCase) -> list[Labelled]:
    return [
        Labelled(index, number, verdict.actual, verdict.result == "passed")
        for index, (turn, recorded) in enumerate(zip(result.turns, case.played_turns, strict=False))
        for number, (verdict, step) in enumerate(zip(turn.steps, recorded.steps, strict=False))
        if verdict.decided_by == "person"
        and step.kind == "answer"
        and verdict.expected == step.text
        and isinstance(verdict.actual, str)
    ]
