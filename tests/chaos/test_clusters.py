"""No single server stops Reprise: any database node or the Redis primary may go, and come back."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

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
