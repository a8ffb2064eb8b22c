"""One trial: load, a fault in the middle of it, and whether every promise was kept."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from app.models.compression import decompress
from app.redis_store.broker import QUEUES
from app.redis_store.queues import read_queues
from app.sessions.facts import load
from tests.chaos.backups import Backup
from tests.chaos.faults import CLOCK_FAULTS, Fault
from tests.chaos.load import SPANS, Load, Promised
from tests.chaos.system import AnySystem
from tests.support.waiting import NotReady, wait_until

READY_WITHIN_S, READY_AT_ALL_S = 10, 180
# A replay is claimed again 15 s after the last sign of life of its worker; a run is ended then.
SETTLED_WITHIN_S = 60


@dataclass(frozen=True)
class Trial:
    """The outcome of one trial: the acknowledged work that was kept, lost or doubled."""

    name: str
    batches: int
    retries: int
    looks: int
    ready_after_s: float
    longest_gap_s: float
    settled_after_s: float
    runs: dict[str, int]
    replays: dict[str, int]
    wrong: tuple[str, ...]

    HEADINGS = ("fault", "batches", "retries", "longest gap", "ready after", "all ended after", "runs", "replays")

    def cells(self) -> tuple[str, ...]:
        times = (f"{s:.1f} s" for s in (self.longest_gap_s, self.ready_after_s, self.settled_after_s))
        return (self.name, str(self.batches), str(self.retries), *times, _shown(self.runs), _shown(self.replays))


def _shown(states: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none"


def run_trial(
    system: AnySystem,
    name: str,
    fault: Fault,
    *,
    before_s: float,
    during_s: float,
    after_s: float,
    ready_within_s: float = READY_WITHIN_S,
    settled_within_s: float = SETTLED_WITHIN_S,
    survives: bool = False,
) -> Trial:
    """Put the system under load, do the fault, and look what is left of the promises when all is quiet.

    A backup is taken during the fault. Its restored copy must keep what was promised before, and have no broken rule.

    A system that `survives` must be ready again while the fault lasts, others after it.
    """
    wrong: list[str] = []
    with Load(system) as load, Backup(system, load) as backup:
        time.sleep(before_s)
        with fault(system):
            since = time.monotonic()
            backup.begin()
            if survives:
                ready_after_s = _time_until_ready(system, load, since, wrong)
            time.sleep(during_s)
            healing = time.monotonic()
        if not survives:
            ready_after_s = _time_until_ready(system, load, healing, wrong)
        time.sleep(after_s)
    promised = load.promised
    quiet = time.monotonic()
    settled_after_s = _time_until(
        lambda: not _open(system), "every run and replay ended", settled_within_s, quiet, wrong
    )
    _time_until(lambda: _queues_empty(system), "queues empty", settled_within_s, quiet, wrong)
    if ready_after_s > ready_within_s:
        wrong.append(f"ready again only after {ready_after_s:.1f} s")
    longest_gap_s = promised.longest_gap_s()
    if longest_gap_s > ready_within_s + (0 if survives else during_s):
        wrong.append(f"no batch was acknowledged for {longest_gap_s:.1f} s")
    if promised.stale:
        wrong.append(f"{len(promised.stale)} of {promised.looks} answers were stale, first without {promised.stale[0]}")
    for place, one in enumerate(system.on_each_server()):
        wrong += [f"on server {place}: {each}" for each in lost_or_doubled(one, promised)]
    wrong += backup.wrong(lost_or_doubled)
    if name in CLOCK_FAULTS and (ended := _states(system, "runs", promised.runs).get("failed")):
        wrong.append(f"{ended} runs were ended although no worker had died")
    return Trial(
        name,
        len(promised.traces),
        promised.retries,
        promised.looks,
        ready_after_s,
        longest_gap_s,
        settled_after_s,
        _states(system, "runs", promised.runs),
        _states(system, "replays", promised.replays),
        tuple(wrong),
    )


def _time_until_ready(system: AnySystem, load: Load, since: float, wrong: list[str]) -> float:
    return _time_until(lambda: _serves(system, load, since), "ready again", READY_AT_ALL_S, since, wrong)


def _serves(system: AnySystem, load: Load, since: float) -> bool:
    """Return whether a batch was acknowledged since then, and every web process reports that nothing is missing."""
    return load.promised.stored_since(since) and system.ready()


def _time_until(condition: Callable[[], bool], what: str, timeout_s: float, since: float, wrong: list[str]) -> float:
    try:
        wait_until(condition, what, timeout_s, interval_s=0.1)
    except NotReady as error:
        wrong.append(str(error))
    return time.monotonic() - since


def lost_or_doubled(system: AnySystem, promised: Promised) -> list[str]:
    """Return the broken promises: each acknowledged span is counted by its turn once, each run and replay is there."""
    stored = {
        trace_id.lower(): (spans, distinct)
        for trace_id, spans, distinct in system.rows(
            "SELECT HEX(trace_id), COUNT(*), COUNT(DISTINCT span_id) FROM {db}.spans GROUP BY trace_id"
        )
    }
    counted = {
        trace_id.lower(): load(decompress(facts)).span_count
        for trace_id, facts in system.rows("SELECT HEX(trace_id), facts FROM {db}.turns")
    }
    wrong = [f"{len(lost)} acknowledged batches are lost"] if (lost := promised.traces - set(stored)) else []
    wrong += [f"trace {t} has {n} spans, {d} distinct" for t, (n, d) in stored.items() if (n, d) != (SPANS, SPANS)]
    wrong += [f"turn {t} counts {n} spans" for t, n in counted.items() if n != SPANS]
    if set(counted) != set(stored):
        wrong.append("turns and spans are not of the same traces")
    missing = {
        table: len(ids) - sum(_states(system, table, ids).values())
        for table, ids in (("runs", promised.runs), ("replays", promised.replays))
    }
    wrong += [f"{count} accepted {table} are lost" for table, count in missing.items() if count]
    return wrong + _answered_twice(system)


def _answered_twice(system: AnySystem) -> list[str]:
    """Every question has another key, so that it can be sent again and is answered once."""
    doubled = system.rows(
        "SELECT question FROM {db}.runs WHERE COALESCE(error_kind, '') <> 'not_started'"
        " GROUP BY question, prompt_id, source HAVING source = 'api' AND COUNT(*) > 1"
    )
    return [f"{len(doubled)} questions were answered twice"] if doubled else []


def _states(system: AnySystem, table: str, ids: set[int]) -> dict[str, int]:
    if not ids:
        return {}
    listed = ", ".join(map(str, sorted(ids)))
    return dict(Counter(row[0] for row in system.rows(f"SELECT status FROM {{db}}.{table} WHERE id IN ({listed})")))


def _open(system: AnySystem) -> int:
    """All rows that have not ended, promised or not."""
    found = 0
    for table in ("runs", "replays"):
        [(count,)] = system.rows(f"SELECT COUNT(*) FROM {{db}}.{table} WHERE status IN ('queued', 'running')")
        found += count
    return found


def _queues_empty(system: AnySystem) -> bool:
    with system.redis.client() as client:
        return not any(state.waiting for state in read_queues(client, QUEUES))
