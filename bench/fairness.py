"""Measures how long one organization waits while another one uses all that it can: `python -m bench.fairness`.

The other organization's models hang. It starts more runs than there are threads, waits for more than there are places,
follows some, and requests replays, and exports that it does not read. Finally it also sends batches without a pause,
which need processor time; the rate limit decides how much, not the shares.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from bench.load import Took, percentile_ms
from bench.runs import served
from tests.support.flood import HANGING_MODEL, Flood, new_prompt, run, send_batch
from tests.support.http_client import Client
from tests.support.organizations import new_organization

FOREVER_S = 3600
WARM_UP = 20
GOAL = 2.0
REPLAYS, READERS, SENDERS = 40, 30, 4
LONG_RUNS = 40
SETTLED_S = 5

Measured = dict[str, list[Took]]


def measure(client: Client, prompt_id: int, rounds: int) -> Measured:
    """Send each kind of request in turn; a request that fails counts as `FOREVER_S`."""
    kinds: dict[str, Callable[[], int]] = {
        "run": lambda: client.post("/api/v1/prompts/run", run(prompt_id)).status,
        "render": lambda: client.post(f"/api/v1/prompts/{prompt_id}/render", {"productive": False}).status,
        "get": lambda: client.get(f"/api/v1/prompts/{prompt_id}").status,
        "batch": lambda: send_batch(client, prompt_id),
    }
    taken: Measured = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, ask in kinds.items():
            started = time.perf_counter()
            status = ask()
            taken[name].append(Took(status, time.perf_counter() - started if status == 200 else FOREVER_S))
    return taken


def flood(client: Client, prompt_id: int, runs: int, batches: bool, begun: object, stop: object) -> None:
    """Flood the server; to be run in a separate process, so that it does not slow down the measurement."""
    with Flood(client, prompt_id) as flooding:
        if batches:
            flooding.send_batches(SENDERS)
        else:
            flooding.start_runs(runs)
            flooding.start_replays(REPLAYS)
            flooding.wait_for_runs(runs - runs // 10)
            flooding.wait_for_runs(runs // 10, accept="text/event-stream")
            # Newest first, so that the exports are larger than the buffers of the readers' sockets.
            flooding.start_runs(LONG_RUNS, question="x" * 500_000)
            flooding.read_nothing(READERS)
        begun.set()  # type: ignore[attr-defined]
        stop.wait()  # type: ignore[attr-defined]


@contextmanager
def flooded(client: Client, prompt_id: int, runs: int, *, batches: bool = False) -> Iterator[None]:
    spawn = multiprocessing.get_context("spawn")
    begun, stop = spawn.Event(), spawn.Event()
    process = spawn.Process(target=flood, args=(client, prompt_id, runs, batches, begun, stop))
    process.start()
    try:
        if not begun.wait(600):
            raise SystemExit("The flood did not begin.")
        yield
    finally:
        stop.set()
        process.join()


def wait_until_all_hang(upstream: str) -> None:
    """Until no further call arrives: what beginning them costs is measured by `bench.runs`."""
    before, now = -1, 0
    while now != before:
        time.sleep(SETTLED_S)
        before, now = now, Client(upstream).get("/").json()["openNow"]
    print(f"{now} calls hang")


def show(title: str, taken: Measured, alone: Measured) -> None:
    print(title)
    for name, times in taken.items():
        before, now = percentile_ms(alone[name], 95), percentile_ms(times, 95)
        ratio = f", {now / before:4.2f} of alone    goal {GOAL:g}" if times is not alone[name] else ""
        print(f"  {name:6} p50 {percentile_ms(times, 50):7.1f} ms, p95 {now:7.1f} ms{ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--runs", type=int, default=1400, help="runs that hang, and as many again that somebody awaits")
    parsed = parser.parse_args()
    with served(FOREVER_S) as bench:
        greedy, other = (new_organization(bench.deployment, name) for name in ("Greedy", "Other"))
        hanging, prompt_id = new_prompt(greedy, HANGING_MODEL), new_prompt(other, "echo")
        ask = partial(measure, other, prompt_id)
        ask(WARM_UP)
        alone = ask(parsed.rounds)
        show("Alone", alone, alone)
        with flooded(greedy, hanging, parsed.runs):
            wait_until_all_hang(bench.base_url.removesuffix("/openai/v1"))
            show("While another organization's models hang", ask(parsed.rounds), alone)
            with flooded(greedy, hanging, parsed.runs, batches=True):
                show(f"And it sends batches, {SENDERS} at once without a pause", ask(parsed.rounds), alone)


if __name__ == "__main__":
    main()
