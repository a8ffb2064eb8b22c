"""One organization floods a running Reprise with what never ends; all that another one asks is answered meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.upstream import Upstream
from tests.support.deployment import PATIENT, EmbeddedServer, Server, server_on
from tests.support.flood import HANGING_MODEL, Flood, new_prompt, run, send_batch
from tests.support.http_client import Client
from tests.support.organizations import new_organization
from tests.support.waiting import wait_until

PLACES = 8
# As many threads as have PLACES for one organization, and a share more.
THREADS = 10
ROUNDS = 10
FOREVER_S = 3600


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(latency_s=FOREVER_S) as upstream:
        yield upstream


@pytest.fixture(scope="module", params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, upstream: Upstream
) -> Iterator[Server]:
    home = tmp_path_factory.mktemp(request.param)
    settings = {
        **PATIENT,
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_BASE_URL": upstream.base_url("OPENAI"),
        "REPRISE_RATE_LIMIT": "1000000",
        "REPRISE_RUN_PLACES": str(PLACES),
        "REPRISE_SILENCE_S": str(FOREVER_S),
        "REPRISE_WEB_PROCESSES": "1",
        "REPRISE_WORKER_THREADS": str(PLACES),
    }
    with server_on(request, home, settings, web=1, workers=1, threads={"runs": THREADS, "replays": THREADS}) as server:
        yield server


@pytest.fixture
def other(server: Server) -> Client:
    return new_organization(server, "Other")


@pytest.fixture
def flood(server: Server, upstream: Upstream) -> Iterator[Flood]:
    """Of an organization that has nothing in work yet."""
    client = new_organization(server, "Greedy")
    before = upstream.open_now
    with Flood(client, new_prompt(client, HANGING_MODEL)) as flood:
        yield flood
    assert upstream.open_now >= before


def runs_in_work(server: Server) -> int:
    """Count the runs of one organization that are in work while no other has any, with two processes of workers."""
    return PLACES if isinstance(server, EmbeddedServer) else 2 * PLACES


def test_sixty_four_runs_on_a_url_that_hangs_let_another_organizations_run_through(
    server: Server, upstream: Upstream, flood: Flood, other: Client
) -> None:
    prompt_id = new_prompt(other, "echo")
    started = flood.start_runs(64)
    wait_until(lambda: upstream.open_now >= runs_in_work(server), "all places to be taken")

    answers = [other.post("/api/v1/prompts/run", run(prompt_id, f"Question {n}")) for n in range(ROUNDS)]

    assert [answer.status for answer in answers] == [200] * ROUNDS
    states = [flood.client.get(f"/api/v1/runs/{run_id}").json()["status"] for run_id in started]
    assert set(states) == {"running", "queued"}
    # What is in line is in line still: the other organization's went by.
    assert states.count("running") == runs_in_work(server)


def test_all_that_can_be_taken_at_once_keeps_no_answer_from_another_organization(
    server: Server, upstream: Upstream, flood: Flood, other: Client
) -> None:
    prompt_id = new_prompt(other, "echo")
    flood.start_runs(40, question="x" * 500_000)
    flood.start_replays(3)
    flood.wait_for_runs(2 * PLACES)
    flood.wait_for_runs(2 * PLACES, accept="text/event-stream")
    flood.read_nothing(12)
    flood.send_batches(8)
    wait_until(lambda: flood.batches, "the flood of batches")

    for number in range(ROUNDS):
        asked = {
            "run": other.post("/api/v1/prompts/run", run(prompt_id, f"Question {number}")),
            "render": other.post(f"/api/v1/prompts/{prompt_id}/render", {"productive": False}),
            "get": other.get(f"/api/v1/prompts/{prompt_id}"),
            "export": other.get(f"/api/v1/prompts/{prompt_id}/exports/runs"),
        }
        assert {name: answer.status for name, answer in asked.items()} == dict.fromkeys(asked, 200)
        assert send_batch(other, prompt_id) == 200
