from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import httpx
from reprise_client.cli.interruption import Interruption
from reprise_client.cli.remote import Remote
from reprise_client.cli.replay_runner import ChosenCase, Runner

from tests.support.waiting import wait_until


class Instance:
    """Replays that end at the second look, but `stuck` ones only when cancelled; remembers what it was asked."""

    def __init__(self, stuck: int = 0) -> None:
        self.stuck = f"/api/v1/replays/{stuck + 100}"
        self.lock = threading.Lock()
        self.seen: dict[str, int] = {}
        self.open = self.most_open = 0
        self.cancelled: list[str] = []
        self.bodies: list[bytes] = []
        self.on_start: Callable[[], None] = lambda: None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        with self.lock:
            if path.endswith("/replays"):
                self.on_start()
                case_id = path.split("/")[-2]
                if case_id == "13":
                    return httpx.Response(404, json={"error": "There is no such test case."})
                self.bodies.append(request.content)
                self.open += 1
                self.most_open = max(self.most_open, self.open)
                return httpx.Response(202, json={"id": int(case_id) + 100})
            if path.endswith("/cancel"):
                self.cancelled.append(path)
                return httpx.Response(200, json={})
            return httpx.Response(200, json={"status": self._status(path)})

    def _status(self, path: str) -> str:
        self.seen[path] = self.seen.get(path, 0) + 1
        stuck = path == self.stuck and f"{path}/cancel" not in self.cancelled
        if stuck or self.seen[path] < 2:
            return "running"
        self.open -= 1
        return "passed"


class Impatient(Interruption):
    """Ends no command later because of a pause."""

    def sleep(self, seconds: float) -> None:
        super().sleep(0)


def runner(instance: Instance, **more: Any) -> Runner:
    remote = Remote("http://reprise", "rp_key", transport=httpx.MockTransport(instance), sleep=lambda _: None)
    return Runner(remote=remote, timeout_s=more.pop("timeout_s", 60), **{"stop": Impatient(), **more})


def test_no_more_replays_are_open_at_once_than_asked_for() -> None:
    instance = Instance()
    cases = [ChosenCase(number, str(number)) for number in range(20, 40)]

    outcomes = list(runner(instance).outcomes(cases, concurrency=3))

    assert sorted(outcome.test_case_id for outcome in outcomes) == list(range(20, 40))
    assert {outcome.status for outcome in outcomes} == {"passed"}
    assert 1 <= instance.most_open <= 3


def test_one_that_can_not_be_started_does_not_stop_the_others() -> None:
    outcomes = {
        outcome.test_case_id: outcome
        for outcome in runner(Instance()).outcomes([ChosenCase(13, "a"), ChosenCase(14, "b")], 1)
    }

    assert (outcomes[13].status, outcomes[14].status) == ("error", "passed")
    assert "no such test case" in str(outcomes[13].problem)


def test_a_replay_that_does_not_end_in_time_is_cancelled() -> None:
    instance = Instance(stuck=1)
    seconds = iter(range(1000))

    (outcome,) = runner(instance, timeout_s=5, monotonic=lambda: next(seconds)).outcomes([ChosenCase(1, "a")], 1)

    assert (outcome.status, outcome.problem) == ("error", "not finished within 5 s")
    assert instance.cancelled == ["/api/v1/replays/101/cancel"]


def test_the_judge_is_passed_on() -> None:
    instance = Instance()
    list(runner(instance, judge="gpt-4o").outcomes([ChosenCase(1, "a")], 1))

    assert instance.bodies == [b'{"judgeModelName":"gpt-4o"}']


def test_whoever_stops_early_cancels_what_is_open_and_starts_no_more() -> None:
    instance = Instance(stuck=2)
    outcomes = runner(instance).outcomes([ChosenCase(1, "a"), ChosenCase(2, "b"), ChosenCase(3, "c")], concurrency=1)
    assert next(outcomes).test_case_id == 1
    wait_until(lambda: "/api/v1/replays/102" in instance.seen, "the second replay")

    outcomes.close()  # type: ignore[attr-defined]

    assert instance.cancelled == ["/api/v1/replays/102/cancel"]
    assert len(instance.bodies) == 2


def test_a_runner_that_is_stopped_while_replays_start_cancels_them_and_starts_no_more() -> None:
    stop, instance = Impatient(), Instance(stuck=1)
    instance.on_start = stop.request

    outcomes = list(
        runner(instance, stop=stop).outcomes(
            [ChosenCase(1, "a"), ChosenCase(2, "b"), ChosenCase(3, "c")], concurrency=1
        )
    )

    assert instance.cancelled == ["/api/v1/replays/101/cancel"]
    assert len(instance.bodies) == 1
    assert [(outcome.status, outcome.problem) for outcome in outcomes] == [("error", "interrupted")] * 3
