"""Measures the time until a process, and everything that `reprise serve` starts, works: `python -m bench.start`."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.deployment import ROOT, WORKERS, Deployment, environment, worker_command
from tests.support.http_client import serves
from tests.support.mariadb import mariadb_server
from tests.support.process import ChildProcess, children_of
from tests.support.redis_server import redis_server
from tests.support.waiting import free_port, wait_until

GOAL_S = 2
# What a Dramatiq worker process logs when it asks for messages.
AT_WORK = b"Worker process is ready for action."


def seconds_to_start(child: ChildProcess, works: Callable[[], bool]) -> float:
    """Of a process that ran already, so that what it reads is in the disk's cache."""
    child.kill()
    child.log.write_bytes(b"")
    started = time.perf_counter()
    child.launch()
    wait_until(works, child.name, interval_s=0.01)
    return time.perf_counter() - started


def measure(deployment: Deployment, rounds: int) -> None:
    kinds: dict[str, tuple[ChildProcess, Callable[[], bool]]] = {
        "web": (deployment.webs[0], lambda: serves(deployment.url))
    }
    for queue, (worker,) in deployment.workers.items():
        processes = worker.argv[worker.argv.index("--processes") + 1]
        kinds[queue] = (worker, lambda log=worker.log, all_of=int(processes): log.read_bytes().count(AT_WORK) >= all_of)  # type: ignore[misc]
    for name, (child, works) in kinds.items():
        taken = statistics.median(seconds_to_start(child, works) for _ in range(rounds))
        print(f"  {name:8} {taken:5.2f} s    goal under {GOAL_S} s", flush=True)


def measure_all(home: Path, mysql_url: str, redis_url: str, rounds: int) -> None:
    """Serve by the one command, on a database that an earlier start has set up."""
    env = environment(home, {"DATABASE_URL": mysql_url, "REDIS_URL": redis_url, "PORT": str(free_port())})
    log = home / "serve.log"
    child = ChildProcess("reprise serve", ["reprise", "serve"], log=log, env=env, cwd=ROOT)
    expected = sum(int(command[command.index("--processes") + 1]) for command in map(worker_command, WORKERS))

    def works() -> bool:
        text = log.read_bytes()
        return b"Reprise is ready." in text and text.count(AT_WORK) >= expected

    taken, sizes = [], []
    with child:
        for _ in range(rounds):
            taken.append(seconds_to_start(child, works))
            sizes.append(sum(map(shared_mb, family(child.pid))))
            child.terminate()
    print(f"  all      {statistics.median(taken):5.2f} s    {statistics.median(sizes):.0f} MB of memory", flush=True)


def family(pid: int) -> list[int]:
    """Return a process and what it has started, and so on."""
    return [pid, *(descendant for child in children_of(pid) for descendant in family(child))]


def shared_mb(pid: int) -> float:
    """Return the memory of a process; what several share counts for each in part (Pss of Linux)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        mariadb_server() as mariadb,
        mariadb.database() as mysql_url,
        redis_server() as redis,
        redis.database() as redis_url,
        Deployment(Path(name), mysql_url=mysql_url, redis_url=redis_url, web=1, workers=1) as deployment,
    ):
        print(f"From the start of a process until it works, median of {arguments.rounds}")
        measure(deployment, **vars(arguments))
        with mariadb.database() as another, redis.database() as its_redis:
            measure_all(Path(name), another, its_redis, **vars(arguments))


if __name__ == "__main__":
    main()
