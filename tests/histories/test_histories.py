"""Concurrent clients get answers that one order of their calls explains, while processes die: a sample of seeds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.histories.clients import TRACES, VERSIONS, Send, Versions, prompt_with_versions, sender
from tests.histories.systems import SYSTEMS, Recordable, embedded
from tests.histories.trial import run_trial
from tests.support import galera
from tests.support.http_client import Answer

SEEDS = (1, 2)
PLANTED_CALLS = 300
PLANTED_SEEDS = 6
pytestmark = pytest.mark.slow
System = tuple[Recordable, Versions]


def recorded(name: str, folder: Path) -> Iterator[System]:
    with SYSTEMS[name](folder) as system:
        yield system, prompt_with_versions(system.clients[0], VERSIONS)


@pytest.fixture(scope="module", params=["SQLite", pytest.param("MariaDB", marks=pytest.mark.services)])
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    if request.param == "MariaDB":
        request.getfixturevalue("needs_mariadb")
        request.getfixturevalue("needs_redis")
    yield from recorded(request.param, tmp_path_factory.mktemp("histories"))


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_have_one_order_while_processes_die(system: System, seed: int) -> None:
    trial = run_trial(*system, seed)

    assert trial.wrong == ()


@pytest.mark.services
def test_answers_have_one_order_while_servers_of_a_cluster_die(
    needs_redis: None, require: Callable[[str | None], None], tmp_path: Path
) -> None:
    require(galera.missing())
    for system in recorded("Galera", tmp_path):
        assert run_trial(*system, 1, faults=1).wrong == ()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with embedded(tmp_path_factory.mktemp("planted")) as system:
        yield system, prompt_with_versions(system.clients[0], VERSIONS)


def losing(method: str, part: str) -> Callable[[Send], Send]:
    """Acknowledge each third of these requests without sending it."""

    def planted(send: Send) -> Send:
        def sent_or_lost(chooser: random.Random, sent_method: str, path: str, sent: Any) -> Answer | None:
            if (sent_method, part in path) == (method, True) and chooser.random() < 1 / 3:
                return Answer(200, {"Location": path}, b"{}")  # type: ignore[arg-type]
            return send(chooser, sent_method, path, sent)

        return sent_or_lost

    return planted


def caching(part: str) -> Callable[[Send], Send]:
    """Answer each third of these reads as the last one was answered, like a cache that misses changes."""

    def planted(send: Send) -> Send:
        answers: dict[str, Answer] = {}

        def sent_or_cached(chooser: random.Random, method: str, path: str, sent: Any) -> Answer | None:
            if method != "GET" or part not in path:
                return send(chooser, method, path, sent)
            if path in answers and chooser.random() < 1 / 3:
                return answers[path]
            answer = send(chooser, method, path, sent)
            if answer is not None:
                answers[path] = answer
            return answer

        return sent_or_cached

    return planted


def forgetting_keys(send: Send) -> Send:
    """Start a run once more for each third request, as if its key were unknown."""

    def sent_without_key(chooser: random.Random, method: str, path: str, sent: Any) -> Answer | None:
        if path == "/api/v1/prompts/run" and chooser.random() < 1 / 3:
            sent = {**sent, "key": f"{sent['key']} {chooser.random()}"}
        return send(chooser, method, path, sent)

    return sent_without_key


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        pytest.param(losing("PUT", "/labels/"), "label-", id="a lost move of a label"),
        pytest.param(losing("POST", "/commit"), "/api/v1/prompts/", id="a lost commit"),
        pytest.param(losing("PATCH", "/test-cases/"), "/api/v1/test-cases/", id="a lost change of a test case"),
        pytest.param(losing("POST", "/scores"), "score-", id="a lost score"),
        pytest.param(losing("POST", TRACES), "session-", id="a lost span"),
        pytest.param(caching("/labels/"), "label-", id="an old answer about a label"),
        pytest.param(caching("/versions"), "/api/v1/prompts/", id="an old list of versions"),
        pytest.param(caching("/sessions/"), "session-", id="an old session"),
        pytest.param(forgetting_keys, "run-", id="a doubled run"),
    ],
)
def test_a_planted_fault_is_noticed(server: System, planted: Callable[[Send], Send], name: str) -> None:
    system, versions = server
    # In a short trial, chance may show no client what is wrong.
    trials = (
        run_trial(system, versions, seed, faults=0, calls=PLANTED_CALLS, send=planted(sender(system.clients)))
        for seed in range(1, PLANTED_SEEDS + 1)
    )
    wrong = next((trial.wrong for trial in trials if trial.wrong), ())

    assert wrong
    assert all(problem.startswith(name) for problem in wrong), wrong
