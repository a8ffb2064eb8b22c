"""Experiments as the API answers them, for tests of the messages about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

BASELINE = {"kind": "version", "commitHash": "4f53a0b1" + "0" * 32, "fingerprint": "b" * 64}
DRAFT = {"kind": "draft", "commitHash": None, "fingerprint": "c" * 64}


def side(passed: int, runs: int, *, first_replay: int = 1, reused: int = 0) -> dict[str, Any]:
    """Return a side of a test case, of which the first replays did not pass."""
    replays = list(range(first_replay, first_replay + runs))
    return {
        "runs": runs,
        "passed": passed,
        "passRate": passed / runs if runs else None,
        "interval": [0.0, 1.0],
        "passK": [passed / runs for _ in replays],
        "tokens": {"prompt": 1200 * runs, "completion": 90 * runs},
        "cost": {"prompt": 0.01 * runs, "completion": 0.0, "total": 0.01 * runs},
        "latency": {"p50": 1234.5, "p95": 2345.6} if runs else {"p50": None, "p95": None},
        "reused": reused,
        "replayIds": replays,
        "failedReplayIds": replays[: runs - passed],
        "undecided": 0,
    }


def case(test_case_id: int, name: str, kind: str, candidate: Mapping[str, Any], baseline: Any = None) -> dict[str, Any]:
    sides = {"candidate": candidate, "baseline": baseline}
    return {"testCaseId": test_case_id, "name": name, "class": kind, **sides, "blind": False}


def experiment(cases: Sequence[Mapping[str, Any]] = (), **values: Any) -> dict[str, Any]:
    """Return an experiment that has passed, with other values where they are given."""
    return {
        "id": 7,
        "promptId": 3,
        "status": "finished",
        "verdict": "passed",
        "reason": None,
        "progress": {"done": 20, "total": 20},
        "candidate": DRAFT,
        "baseline": BASELINE,
        "repeats": {"min": 4, "max": 20},
        "detect": 0.5,
        "alpha": 0.05,
        "pValue": 1.0,
        "minPassRate": None,
        "maxCost": None,
        "maxSlowdown": None,
        "minSighted": 0.5,
        "blind": 0,
        "sighted": len(cases),
        "testCases": list(cases),
        "models": [],
        "candidates": [],
        "violations": [],
        "detectable": 1 - 0.1 ** (1 / 4),
        "tokens": {"prompt": 24_000, "completion": 1800},
        "cost": {"prompt": 0.3, "completion": 0.01, "total": 0.31},
        "createdAt": "2026-11-22T08:00:00.000Z",
        "startedAt": "2026-11-22T08:00:01.000Z",
        "finishedAt": "2026-11-22T08:00:09.000Z",
        "url": "https://reprise.example/projects/1/experiments/7",
        **values,
    }
