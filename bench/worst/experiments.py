"""Experiments on the most test cases with the most replays: one that runs, one that has ended, and a list of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, insert, select, update

from app.models import experiments, judge_audits
from app.services.experiments.findings import ARGUMENTS_BYTES, MOST_VIOLATIONS
from app.services.experiments.replayed_experiment import REPLAYS_MAX
from bench.worst.rows import add_rows, copy_row
from bench.worst.stage import Size, Stage
from tests.support.waiting import wait_until

LISTED = 40
_E = experiments.experiments
_AUDITS = judge_audits.judge_audits


def fill(stage: Stage, size: Size, small: int, replay_id: int) -> Mapping[str, Any]:
    """Return the ids of an experiment that runs and of one that has ended; their replays are all this one."""
    prompt, database = f"/api/v1/prompts/{stage.ids['prompt_id']}", stage.world.container.database
    ids = [small, *stage.ids_of("test_cases", after=small)]
    body = {"testCaseIds": ids, "repeats": {"min": 1, "max": 100}, "detect": 0.99, "reuse": False, "baseline": None}
    answer = stage.world.post(f"{prompt}/experiments", json=body)
    assert answer.status_code == 202, answer.text
    ended = answer.json["id"]
    stage.world.post(f"/api/v1/experiments/{ended}/cancel", json={})
    wait_until(lambda: stage.world.get(f"/api/v1/experiments/{ended}").json["finishedAt"], "the experiment")
    # The end of an audit advances the experiments of its prompt, and would end the one that is added as running.
    wait_until(lambda: _audits_ended(stage), "the audits")
    violations = _violations(size, small, replay_id)
    with database.write() as connection:
        row = connection.execute(select(_E).where(_E.c.id == ended)).mappings().one()
        summary = {**row["summary"], "violations": violations}
        values = {name: value for name, value in row.items() if name != "id"}
        running = connection.execute(insert(_E).values({**values, "result": None})).lastrowid
        connection.execute(update(_E).where(_E.c.id == ended).values(summary=summary))
    replays_per_case = size.of(REPLAYS_MAX) // len(ids)
    add_rows(
        database,
        "experiment_replays",
        replays_per_case * len(ids),
        lambda number: {
            "experiment_id": running,
            "arm": 0,
            "test_case_id": ids[number % len(ids)],
            "ordinal": number // len(ids),
            "replay_id": replay_id,
        },
    )
    # The clock advances what runs: it must find all of its replays.
    with database.write() as connection:
        connection.execute(update(_E).where(_E.c.id == running).values(status="running", finished_at=None))
    experiment = stage.world.get(f"/api/v1/experiments/{running}").json
    result = {name: experiment[name] for name in ("testCases", "models")}
    with database.write() as connection:
        connection.execute(update(_E).where(_E.c.id == ended).values(result=result))
    copy_row(database, "experiments", ended, size.copies(LISTED))
    return {"experiment_id": ended, "experiment_running": running}


def _audits_ended(stage: Stage) -> bool:
    with stage.world.container.database.read() as connection:
        unfinished = connection.scalar(select(func.count()).where(_AUDITS.c.finished_at.is_(None)))
    return not unfinished and not stage.working.messages


def _violations(size: Size, test_case_id: int, replay_id: int) -> list[dict[str, Any]]:
    call = {"testCaseId": test_case_id, "replayId": replay_id, "kind": "extra_write", "tool": "tool_0", "turn": 0}
    arguments = {"a": "x" * (size.factor(ARGUMENTS_BYTES) - 20)}
    return [call | {"arguments": arguments, "message": "A call."} for _ in range(size.factor(MOST_VIOLATIONS))]
