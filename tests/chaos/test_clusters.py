"""No single server stops Reprise: any database node or the Redis primary may go, and come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial

import pytest
from sqlalchemy import Connection, text

from app.database.transactions import Database, LockConflict, build_database
from app.metrics import Metrics, registry
from app.models import budgets, case_snapshots, organizations
from app.services.sessions.saved_filters import NewFilter, SavedFilterService
from app.timestamps import utc_now
from tests.chaos.faults import CLUSTER_FAULTS
from tests.chaos.system import ClusterSystem, running_cluster
from tests.chaos.trial import READY_AT_ALL_S, run_trial
from tests.support import galera
from tests.support.galera import GaleraCluster
from tests.support.waiting import wait_until

CONFLICTS = 20


@pytest.fixture(scope="module")
def system(
    needs_redis: None, require: Callable[[str | None], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterSystem]:
    require(galera.missing())
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


class Process:
    """A process that prefers one of the nodes, with what it does to the one row of a table."""

    def __init__(self, cluster: GaleraCluster, name: str, *, first: int) -> None:
        self.metrics = Metrics()
        self.database: Database = build_database(
            cluster.url(name, first=first),
            pool_size=4,
            on_lock_retry=lambda: self.metrics.count(registry.LOCK_RETRIES),
            on_pool_timeout=lambda: None,
        )

    def add(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Add 1 to the row; `meanwhile` happens once between the statement and its commit."""
        left = [meanwhile]

        def work(connection: Connection) -> None:
            connection.execute(text("UPDATE counted SET number = number + 1"))
            while left:
                left.pop()()

        self.database.retrying(work)

    def read(self) -> int:
        with self.database.read() as connection:
            return int(connection.execute(text("SELECT number FROM counted")).scalar_one())


@pytest.fixture
def processes(system: ClusterSystem) -> Iterator[list[Process]]:
    """One of each node, on a row that is 0."""
    cluster = system.mariadb
    name = cluster.create_database()
    made = [Process(cluster, name, first=place) for place in range(len(cluster.nodes))]
    with made[0].database.write() as connection:
        connection.execute(text("CREATE TABLE counted (id INT PRIMARY KEY, number INT)"))
        connection.execute(text("INSERT INTO counted VALUES (1, 0)"))
    yield made
    for process in made:
        process.database.dispose()


def test_a_node_that_is_behind_answers_when_it_has_what_another_one_committed(
    system: ClusterSystem, processes: list[Process]
) -> None:
    reader, writer = processes[:2]
    behind = system.mariadb.nodes[0]
    assert reader.read() == 0
    with ThreadPoolExecutor(1) as pool:
        with behind.held():
            writer.add()
            found = pool.submit(reader.read)
            wait_until(lambda: found.done() or behind.runs("SELECT number FROM counted"), "the question to be asked")
            assert not found.done()
        assert found.result() == 1


def test_a_change_that_another_node_makes_at_the_same_time_is_made_after_it(processes: list[Process]) -> None:
    loser, winner = processes[:2]
    for _ in range(CONFLICTS):
        loser.add(meanwhile=winner.add)

    assert [process.read() for process in processes] == [2 * CONFLICTS] * len(processes)
    assert loser.metrics.pending() == {(registry.LOCK_RETRIES, (), ""): CONFLICTS}
    assert not winner.metrics.pending()


def test_a_lock_is_seen_by_the_other_nodes(system: ClusterSystem) -> None:
    """Of two that lock the same row on two nodes, for a rule about other rows, one is refused and may try again."""
    path = f"/api/v1/prompts/{system.prompt_id}/experiments"
    asked = system.client().post(path, {"testCaseIds": [system.test_case_id]})
    assert asked.status == 202, asked.body
    [(organization_id,)] = system.rows("SELECT id FROM {db}.organizations")
    first, second = (on_one_node(system, node) for node in (0, 1))
    [(fingerprint,)] = system.rows("SELECT fingerprint FROM {db}.case_snapshots")
    locks: tuple[Callable[[Connection], object], ...] = (
        partial(case_snapshots.lock_snapshots, fingerprints={system.test_case_id: fingerprint}),
        partial(organizations.lock_organization, organization_id=organization_id),
        partial(budgets.lock_budget, experiment_id=int(asked.json()["id"])),
    )
    for lock in locks:
        with pytest.raises(LockConflict):
            locked_twice(first, second, lock)
    for database in (first, second):
        for lock in locks:
            database.retrying(lock)
        database.dispose()


def test_of_two_who_save_on_two_nodes_at_the_same_time_both_are_answered(system: ClusterSystem) -> None:
    """The second one to commit is refused, and saves again what was asked of it."""
    [(project_id,)] = system.rows("SELECT id FROM {db}.projects")
    first, second = (on_one_node(system, node) for node in (0, 1))
    winner = SavedFilterService(database=second, now=utc_now)
    asked: list[datetime] = []

    def now() -> datetime:
        """Called in the middle of the transaction."""
        if not asked:
            winner.save(project_id=project_id, new=NewFilter("winner", {"minTurns": 1}))
        asked.append(utc_now())
        return asked[-1]

    loser = SavedFilterService(database=first, now=now)
    saved = loser.save(project_id=project_id, new=NewFilter("loser", {"minTurns": 2}))

    assert saved.name == "loser"
    assert {one.name for one in loser.list(project_id=project_id)} == {"winner", "loser"}
    with first.read() as connection:
        noted = connection.scalars(text("SELECT subject FROM audit_log WHERE action = 'session_filter.saved'")).all()
    assert sorted(noted) == ["loser", "winner"]
    assert len(asked) > 2
    for database in (first, second):
        database.dispose()


def locked_twice(first: Database, second: Database, lock: Callable[[Connection], object]) -> None:
    with first.write() as late, second.write() as early:
        for connection in (late, early):
            lock(connection)


def on_one_node(system: ClusterSystem, node: int) -> Database:
    """The system's database, connected to only one node."""
    url = system.mariadb.nodes[node].url(system.database)
    return build_database(url, pool_size=2, on_lock_retry=lambda: None, on_pool_timeout=lambda: None)


@pytest.mark.parametrize("name", CLUSTER_FAULTS)
def test_every_promise_is_kept_while_a_server_is_gone(system: ClusterSystem, name: str) -> None:
    # How soon it is ready again, and all has ended, is measured where nothing else runs.
    trial = run_trial(
        system,
        name,
        CLUSTER_FAULTS[name],
        before_s=0.5,
        during_s=1,
        after_s=0.5,
        ready_within_s=READY_AT_ALL_S,
        settled_within_s=READY_AT_ALL_S,
        survives=True,
    )

    assert trial.wrong == ()
    assert trial.batches > 0
