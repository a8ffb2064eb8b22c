"""The progress of replays that were started together."""

from __future__ import annotations

from datetime import UTC, datetime

from app.models.replays import Outcome, Status
from app.web.presenters.replay import batch_progress

AT = datetime(2026, 1, 1, tzinfo=UTC)


def outcome(status: Status, done: int, total: int = 4) -> Outcome:
    return Outcome(test_case_id=1, id=1, status=status, done=done, total=total, created_at=AT)


def test_progress_never_runs_backwards() -> None:
    course = [
        [outcome("queued", 0), outcome("running", 3)],
        [outcome("queued", 0), outcome("error", 3)],
        [outcome("running", 1), outcome("error", 3)],
        [outcome("passed", 4), outcome("error", 3)],
    ]
    progress = [batch_progress(outcomes) for outcomes in course]

    assert [each.done for each in progress] == [3, 4, 5, 8]
    assert {each.steps for each in progress} == {8}
    assert [(each.finished, each.passed) for each in progress] == [(0, 0), (1, 0), (1, 0), (2, 1)]
