from __future__ import annotations

from typing import Any

import httpx
import pytest
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.judge import audited, exit_code, is_miss, report
from reprise_client.cli.remote import Remote

PROBE = {"testCaseId": 7, "turn": 0, "step": 1, "kind": "number_changed", "planted": True}
AUDIT: dict[str, Any] = {
    "id": 3,
    "status": "finished",
    "sentence": "The judge noticed 3 of 4 planted errors (30–95 %).",
    "cost": 0.25,
    "error": None,
    "figures": {
        "planted": {"right": 3, "probes": 4, "undecided": 0},
        "harmless": {"right": 4, "probes": 4, "undecided": 0},
        "accuracy": 0.875,
        "constant": 0.5,
        "kappa": 0.75,
        "kinds": [{"kind": "number_changed", "planted": True, "share": {"right": 3, "probes": 4}}],
    },
    "outcomes": [
        {"verdict": "passed", "probe": PROBE | {"recorded": "It costs 85.", "produced": "It costs 95."}},
        {"verdict": "failed", "probe": PROBE | {"recorded": "It costs 85.", "produced": "It costs 15."}},
    ],
}


def instance(*statuses: str) -> Remote:
    """A Reprise with an audit of these statuses, one at each look; the last one stays."""
    left = list(statuses)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return httpx.Response(202, json={"id": 3})
        return httpx.Response(200, json={**AUDIT, "status": left.pop(0) if len(left) > 1 else left[0]})

    return Remote("http://reprise", "rp_key", transport=httpx.MockTransport(answer), sleep=lambda _: None)


def test_an_audit_is_waited_for() -> None:
    assert audited(instance("queued", "running", "finished"), 1, {}, 60, sleep=lambda _: None)["status"] == "finished"


def test_an_audit_that_runs_too_long_could_not_run() -> None:
    clock = iter(range(0, 1000, 40))
    with pytest.raises(CouldNotRun, match="not finished within 60 s"):
        audited(instance("running"), 1, {}, 60, sleep=lambda _: None, monotonic=lambda: next(clock))


def test_the_report_has_the_sentence_the_kinds_and_each_miss() -> None:
    assert list(report(AUDIT)) == [
        "The judge noticed 3 of 4 planted errors (30–95 %).",
        "Accepted 4 of 4 harmless changes. It cost $0.25.",
        "Right: 88 %; a constant verdict: 50 %; κ 0.75.",
        "    number changed       3 of 4",
        "passed: planted error (number changed), test case 7",
        "    recorded: It costs 85.",
        "    produced: It costs 95.",
    ]


@pytest.mark.parametrize(
    ("changes", "min_caught", "code"),
    [
        ({}, 0.75, 0),
        ({}, 0.8, 1),
        ({"status": "error", "figures": None}, 0, 2),
    ],
)
def test_exit_codes(changes: dict[str, Any], min_caught: float, code: int) -> None:
    assert exit_code(AUDIT | changes, min_caught) == code


def test_an_open_verdict_is_a_miss() -> None:
    assert is_miss({"verdict": "needs_review", "probe": PROBE})
    assert not is_miss({"verdict": "failed", "probe": PROBE})
