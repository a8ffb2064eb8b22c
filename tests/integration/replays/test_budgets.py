"""An experiment's `maxCost` holds within one model call, although its replays are played side by side."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import event, update

from app.errors import ProviderError
from app.models import experiments, replays
from app.models.experiment_replays import experiment_replays
from app.models.queries import insert_row
from app.services.experiments.findings import Summary
from app.services.replays.budget import ExperimentBudget
from app.work.heartbeat import Patience
from app.work.table import Claim
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import case, ended, experiment
from tests.integration.replays.recording import prompt, replayed
from tests.support.waiting import wait_until
from tests.support.world import World

CONFIG = {"languageModelConfig": {"max_tokens": 100}}
# USD for a million tokens of gpt-4o-mini: 0.15 in, 0.60 out.
CALL_USD = 91 * 0.6e-6 + 3 * 0.15e-6
MAX_COST = 1.0


@pytest.fixture
def prompt_id(world: World) -> int:
    return prompt(world, **CONFIG)


def test_an_experiment_costs_at_most_one_call_more_than_its_max_cost(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    for number in range(4):
        case(world, prompt_id, f"Ping {number}")
    upstream.choose = lambda body: Reply(text="Ping", reasoning_tokens=90, latency_s=0.1)
    most = 6.5 * CALL_USD

    found = ended(
        world, experiment(world, prompt_id, baseline=None, repeats={"min": 20, "max": 40}, maxCost=most, reuse=False)
    )

    assert (found["status"], found["verdict"]) == ("finished", "inconclusive")
    assert "the cost reached" in found["reason"]
    assert most <= found["cost"]["total"] < most + 1.2 * CALL_USD
    assert len(upstream.requests) == 7


def test_a_replay_without_limits_asks_for_no_budget(world: World, prompt_id: int, upstream: Upstream) -> None:
    case_id = case(world, prompt_id)
    upstream.script(Reply(text="Ping"))
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_args: Any) -> None:
        if threading.current_thread().name.startswith("replay-"):
            seen.append(statement)

    engine = world.container.database.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        assert replayed(world, case_id)["status"] == "passed"
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert not [each for each in seen if "experiment" in each]


class Limited:
    """An experiment of `MAX_COST` USD with replays that workers have claimed."""

    def __init__(self, world: World, prompt_id: int) -> None:
        self.world, self.prompt_id = world, prompt_id
        self.case_id = case(world, prompt_id)
        first = self._replay()
        self.given_up = threading.Event()
        with world.container.database.write() as connection:
            self.id = insert_row(
                connection,
                experiments.experiments,
                project_id=world.project_id,
                prompt_id=prompt_id,
                status="running",
                candidate_kind="draft",
                candidate_snapshot_id=first.draft_snapshot_id,
                design={"maxCost": MAX_COST},
                cases=[],
                models=[],
                summary=Summary(),
                created_at=world.container.now(),
            )

    def _replay(self) -> replays.ReplayRow:
        return self.world.container.services.replays.start(project_id=self.world.project_id, test_case_id=self.case_id)

    def budget(self, cost: float = 0.0) -> ExperimentBudget:
        """The budget of another replay, which is claimed and costs so much once a call of it has ended."""
        row = self._replay()
        claim = Claim(row.id, f"worker-{row.id}", self.world.container.now())
        link = {"arm": 0, "test_case_id": self.case_id, "ordinal": row.id, "replay_id": row.id}
        with self.world.container.database.write() as connection:
            insert_row(connection, experiment_replays, experiment_id=self.id, **link)
        self.claimed(row.id, claim.token)
        return ExperimentBudget(
            database=self.world.container.database,
            now=self.world.container.now,
            experiment_id=self.id,
            claim=claim,
            max_cost=MAX_COST,
            columns=lambda: {"prompt_cost_usd": cost},
            cancelled=self.given_up.is_set,
            patience=Patience(),
        )

    def claimed(self, replay_id: int, claim: str | None) -> None:
        own = update(replays.replays).where(replays.replays.c.id == replay_id)
        with self.world.container.database.write() as connection:
            connection.execute(own.values(status="running", claim=claim))


@pytest.fixture
def limited(world: World, prompt_id: int) -> Limited:
    return Limited(world, prompt_id)


def test_a_call_that_may_cost_too_much_together_with_others_waits_until_they_end(limited: Limited) -> None:
    first, second = limited.budget(cost=0.4), limited.budget()
    begun = threading.Event()

    def call() -> None:
        with second.call(lambda: 0.7):
            begun.set()

    with ThreadPoolExecutor(1) as pool:
        with first.call(lambda: 1.0):
            waiting = pool.submit(call)
            assert not begun.wait(0.5)
        waiting.result()
    assert begun.is_set()


def test_a_single_call_is_let_through_whatever_it_may_cost(limited: Limited) -> None:
    with limited.budget().call(lambda: 50.0):
        pass


def test_a_call_is_refused_once_the_cost_is_reached(limited: Limited) -> None:
    first, second = limited.budget(cost=1.0), limited.budget()
    with first.call(lambda: 0.7), second.call(lambda: 0.1):
        pass
    for budget in (first, second):
        with pytest.raises(ProviderError, match=r"cost reached \$1"), budget.call(lambda: 0.1):
            pass
        assert budget.stopped


def test_what_a_dead_worker_has_reserved_is_free_when_its_claim_is_released(limited: Limited) -> None:
    first, second = limited.budget(), limited.budget()
    dead = first.call(lambda: 1.0)
    dead.__enter__()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: second.call(lambda: 0.7).__enter__())
        limited.claimed(first.claim.row_id, None)
        waiting.result(timeout=120)


def test_a_call_that_waits_gives_up_when_its_replay_is_cancelled(limited: Limited) -> None:
    first, second = limited.budget(), limited.budget()
    with first.call(lambda: 1.0), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: second.call(lambda: 0.7).__enter__())
        limited.given_up.set()
        wait_until(waiting.done, "the call gives up")
        assert isinstance(waiting.exception(), ProviderError)
    assert second.stopped
    assert not first.stopped
