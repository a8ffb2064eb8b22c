"""No single server stops Reprise: any database node or the Redis primary may go, and come back."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from sqlalchemy import Connection

from app.db import Database, LockConflict, build_database
from app.models import budgets, organizations
from tests.chaos.faults import CLUSTER_FAULTS
from tests.chaos.load import SPANS
from tests.chaos.system import TRACES, ClusterSystem, running_cluster
from tests.chaos.trial import READY_AT_ALL_S, run_trial
from tests.support import galera
from tests.support.exports import export, span
from tests.support.http_client import Client
from tests.support.waiting import wait_until

SHORT = ("a node that hangs", "a node cut off from the others", "a node and Redis's primary killed")


@pytest.fixture(scope="module")
def system(needs_redis: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSystem]:
    if reason := galera.missing():
        pytest.skip(reason)
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def test_an_acknowledged_batch_is_read_at_once_from_another_node(system: ClusterSystem) -> None:
    """Workers write through the second node, the web reads through the first."""
    client = system.client()
    for _ in range(50):
        conversation = secrets.token_hex(8)
        attributes = {"service.prompt.id": system.prompt_id, "gen_ai.conversation.id": conversation}
        trace_id = secrets.token_hex(16)
        batch = export(*(span(attributes, traceId=trace_id, spanId=f"{n + 1:016x}") for n in range(SPANS)))
        acknowledged(client, batch)

        assert conversation in client.get("/api/v1/sessions").body.decode()


def test_a_lock_is_seen_by_the_other_nodes(system: ClusterSystem) -> None:
    """Of two that lock the same row on two nodes, for a rule about other rows, one is refused and may try again."""
    path = f"/api/v1/prompts/{system.prompt_id}/experiments"
    asked = system.client().post(path, {"testCaseIds": [system.test_case_id]})
    assert asked.status == 202, asked.body
    [(organization_id,)] = system.rows("SELECT id FROM {db}.organizations")
    first, second = (on_one_node(system, node) for node in (0, 1))
    locks = (
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


def locked_twice(first: Database, second: Database, lock: Callable[[Connection], None]) -> None:
    with first.write() as late, second.write() as early:
        for connection in (late, early):
            lock(connection)


def on_one_node(system: ClusterSystem, node: int) -> Database:
    """The system's database, connected to one node alone."""
    url = system.mariadb.nodes[node].url(system.database)
    return build_database(url, pool_size=2, on_lock_retry=lambda: None, on_pool_timeout=lambda: None)


def acknowledged(client: Client, batch: bytes) -> None:
    """Send the batch as exporters do: again while the answer is 503."""

    def stored() -> bool:
        answer = client.post(TRACES, body=batch, headers={"Content-Type": "application/json"})
        assert answer.status in {200, 503}, answer.body
        return answer.status == 200

    wait_until(stored, "the batch to be stored")


@pytest.mark.parametrize("name", SHORT)
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
