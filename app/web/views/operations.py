"""The load and the errors of all processes, for the operators of the instance."""

from __future__ import annotations

from collections.abc import Sequence

import redis
from reprise_formats.formats import number, plural

from app.errors import Unavailable
from app.http.access import ByRole
from app.models.organizations import Role
from app.redis_store.queues import QueueState
from app.services.operations.metrics import Operations
from app.web.labels import Badge
from app.web.page import Page, Reply, show
from app.web.visit import Visit

STALE_S = 60
SPANS = {"received": "received", "stored": "stored", "duplicate": "duplicates", "rejected": "rejected"}
RUNS = {"ok": "OK", "nok": "not OK"}
# Label, count, and kind: "bad" or "warn" if a count above zero is a problem, else "".
Figure = tuple[str, int, str]


class OperationsView(Page):
    access = ByRole({"GET": Role.ADMIN}, of_operators=True)
    section = "operations"

    def get(self, visit: Visit) -> Reply:
        try:
            activity = self.services.metrics.read()
        except redis.RedisError as error:
            raise Unavailable("Redis, which keeps the metrics, does not answer.") from error
        return show(
            "operations.html",
            activity=activity,
            spans_rate=_rate(activity.spans_per_minute),
            runs_rate=_rate(activity.runs_per_minute),
            spans_by_minute=_by_minute([spans for spans, _ in activity.history]),
            runs_by_minute=_by_minute([runs for _, runs in activity.history]),
            queues=[(state, _queue(state)) for state in activity.queues],
            spans=[(label, activity.spans.get(name, 0), "") for name, label in SPANS.items()],
            runs=_runs(activity.runs),
            troubles=troubles(activity),
            latencies=[
                ("HTTP requests", activity.http),
                ("Batches of spans, stored", activity.ingest),
                ("Calls of models", activity.provider),
            ],
        )


def _rate(per_minute: float) -> str:
    """Return two digits of a small rate, and the whole number of a larger one."""
    return number(round(per_minute)) if per_minute >= 10 or per_minute == 0 else f"{per_minute:.2g}"


def _by_minute(counts: Sequence[int]) -> list[tuple[str, int]]:
    """Return the points of a chart by minute, oldest first. The last minute has not ended."""
    ago = range(len(counts) - 1, 0, -1)
    return list(zip([*(f"{plural(minutes, 'minute')} ago" for minutes in ago), "this minute"], counts, strict=True))


def _queue(state: QueueState) -> Badge:
    """Return the badge of a queue: a warning if no worker serves it, or if it is late."""
    if not state.workers:
        return "no worker", "bad"
    return ("late", "warn") if state.oldest_s > STALE_S else ("running", "ok")


def _runs(outcomes: dict[str, int]) -> list[Figure]:
    return [
        (RUNS[name], count, "") if name in RUNS else (f"failed: {name.replace('_', ' ')}", count, "bad")
        for name, count in (dict.fromkeys(RUNS, 0) | outcomes).items()
    ]


def troubles(activity: Operations) -> list[Figure]:
    """Return the number of requests, and the counts of problems above zero."""
    counted = [
        ("answered with 5xx", activity.server_errors, "bad"),
        ("refused by the rate limit", activity.rate_limited, "warn"),
        ("let through uncounted, as Redis was away", activity.rate_limit_not_counted, "warn"),
        ("calls of models failed", activity.provider_errors, "bad"),
        ("messages tried again", activity.retries, "warn"),
        ("failed messages", activity.dead_letters, "bad"),
        ("transactions tried again after a lock", activity.lock_retries, ""),
        ("timed out waits for a database connection", activity.pool_timeouts, "bad"),
        ("jobs of the clock failed", activity.clock_failures, "bad"),
    ]
    return [("requests", activity.requests, ""), *(figure for figure in counted if figure[1])]
