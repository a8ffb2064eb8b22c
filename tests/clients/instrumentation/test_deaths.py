"""Processes that are killed at any line, and several on one folder: no span is lost that was on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from reprise_client.instrumentation.spool import spans_of

from tests.clients.instrumentation.conftest import Program, Run
from tests.clients.python.instrumentation.conftest import batches_in
from tests.fakes.collector import Collector
from tests.support.deployment import EmbeddedServer
from tests.support.http_client import Client
from tests.support.waiting import wait_until

SPANS_OF_TURN = 3  # the turn, the tool, the model call


def numbers(collector: Collector, name: str) -> list[int]:
    return [int(found.removeprefix(f"{name} ")) for found in collector.names if found.startswith(f"{name} ")]


def spans_in(folder: Path) -> int:
    """The spans that wait in a folder of spools."""
    return sum(spans_of(batch.name) for batch in batches_in(folder))


def send_all(run: Run, collector: Collector, tmp_path: Path) -> None:
    """Run processes that end at once until no batch is left: each sends for some seconds at most."""
    while batches_in(tmp_path):
        end(run("busy", "heir", collector.url))


def end(program: Program) -> None:
    program.communicate(timeout=120)
    assert program.returncode == 0


def test_a_killed_process_loses_nothing_that_was_on_disk(run: Run, collector: Collector, tmp_path: Path) -> None:
    for number in range(5):
        victim = run("busy", f"victim-{number}", collector.url)
        wait_until(lambda name=f"victim-{number}": numbers(collector, name), "a span")  # type: ignore[misc]
        collector.stop()
        wait_until(lambda: len(batches_in(tmp_path)) > 3, "batches on disk")
        victim.kill()
        victim.wait()
        collector.start()

    send_all(run, collector, tmp_path)

    for name in (f"victim-{number}" for number in range(5)):
        found = numbers(collector, name)
        assert sorted(set(found)) == list(range(max(found) + 1)), "a span is missing"


def test_two_processes_share_a_folder(run: Run, collector: Collector, tmp_path: Path) -> None:
    both = [run("busy", name, collector.url) for name in ("one", "two")]
    wait_until(lambda: numbers(collector, "one") and numbers(collector, "two"), "spans of both")
    for _ in range(3):
        seen = len(collector.names)
        wait_until(lambda: len(collector.names) > seen, "spans")  # noqa: B023
        collector.stop()
        wait_until(lambda: len(batches_in(tmp_path)) > 5, "batches on disk")
        collector.start()
    for program in both:
        end(program)

    send_all(run, collector, tmp_path)

    for name in ("one", "two"):
        found = numbers(collector, name)
        assert sorted(set(found)) == list(range(max(found) + 1)), "a span is missing"


def test_a_process_ends_although_it_could_send_for_long(run: Run, collector: Collector, tmp_path: Path) -> None:
    collector.stop()
    earlier = run("busy", "earlier", collector.url)
    wait_until(lambda: len(batches_in(tmp_path)) > 200, "batches on disk")
    earlier.kill()
    collector.delay_s = 0.5
    collector.start()
    next_one = run("busy", "next", collector.url)
    wait_until(lambda: collector.names, "a span of the process that was killed")

    end(next_one)

    assert batches_in(tmp_path) != []


def ask(agent: Program, question: str) -> None:
    """Have the agent hold a turn."""
    assert agent.stdin
    assert agent.stdout
    agent.stdin.write(question + "\n")
    agent.stdin.flush()
    assert agent.stdout.readline().strip() == question


def session(client: Client, prompt_id: int) -> list[tuple[str, list[object]]]:
    """The prompt's only session: what the user asked in each turn, and its steps."""
    entries = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    shown = [client.get(f"/api/v1/sessions/{entry['id']}").json() for entry in entries]
    assert [found["conversationId"] for found in shown] == ["c-1"] * len(shown[:1])
    assert {found["userId"] for found in shown} <= {"u-1"}
    return [(turn["user"], list(map(step, turn["steps"]))) for found in shown for turn in found["turns"]]


def step(shown: dict[str, object]) -> object:
    return shown["text"] if shown["kind"] == "answer" else (shown["name"], shown["arguments"], shown["result"])


def turn_of(question: str) -> tuple[str, list[object]]:
    call = ("get_order", {"order_id": question}, {"order_id": question, "state": "shipped"})
    return question, [call, f"Order {question} is shipped."]


def test_a_session_is_complete_though_the_server_and_the_agent_died_in_it(run: Run, tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "server") as server:
        client = server.client()
        prompt_id = client.post("/api/v1/prompts", {"name": "Shop", "value": "Help."}).json()["prompt"]["id"]
        agent = run("agent", str(prompt_id), server.url, client.api_key)
        ask(agent, "A-1")
        wait_until(lambda: session(client, prompt_id) == [turn_of("A-1")], "the first turn")
        # A turn that is stored stays on disk until the answer comes, and would be counted for a later one.
        wait_until(lambda: spans_in(tmp_path) == 0, "its answer")
        server.process.kill()
        ask(agent, "A-2")
        wait_until(lambda: spans_in(tmp_path) == SPANS_OF_TURN, "the second turn on disk")
        ask(agent, "A-3")
        end(agent)
        killed = run("agent", str(prompt_id), server.url, client.api_key)
        ask(killed, "A-4")
        wait_until(lambda: spans_in(tmp_path) == 3 * SPANS_OF_TURN, "three turns on disk")
        killed.kill()
        killed.wait()

        server.process.start()
        last = run("agent", str(prompt_id), server.url, client.api_key)
        ask(last, "A-5")
        end(last)
        # Each process sends for some seconds at most.
        while batches_in(tmp_path / "reprise"):
            end(run("agent", str(prompt_id), server.url, client.api_key))

        assert session(client, prompt_id) == [turn_of(f"A-{number}") for number in range(1, 6)]


@pytest.mark.parametrize("command", ["node"], indirect=True)
def test_a_node_process_that_exits_at_once_leaves_its_spans_to_the_next(
    run: Run, collector: Collector, tmp_path: Path
) -> None:
    end(run("exit", "one", collector.url))
    assert spans_in(tmp_path) == 1

    send_all(run, collector, tmp_path)

    assert collector.names[0] == "one"


@pytest.mark.parametrize("command", ["python"], indirect=True)
def test_a_child_that_is_forked_while_the_first_request_is_made_sends_its_spans(run: Run, collector: Collector) -> None:
    for number in range(3):
        end(run("fork", f"child {number}", collector.url))

    assert collector.names == ["child 0", "child 1", "child 2"]
