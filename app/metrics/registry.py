"""Every metric, declared once. docs/metrics.md documents them; a test compares both."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "histogram", "gauge"]
Labels = tuple[str, ...]

MILLION = 1_000_000
# Bounds in seconds: from a cached read to the longest wait for a run.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
# The value of all labels in label sets beyond a metric's `series_max`.
OTHER = "other"


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One metric, named by Prometheus' rules: the unit at the end, and `_total` for counters.

    `buckets` are the upper bounds of a histogram, in the unit of the name. A counter counts in parts of its unit: `per`
    parts are one unit. `series_max` is the largest number of label sets; further ones are counted together as `other`.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    series_max: int = 100
    per: int = 1

    def bound(self, value: float) -> str:
        """Return the upper bound of the bucket of `value`, in the format of Prometheus."""
        index = bisect_left(self.buckets, value)
        return repr(self.buckets[index]) if index < len(self.buckets) else "+Inf"

    def bounds(self) -> list[str]:
        return [*map(repr, self.buckets), "+Inf"]


def _counter(name: str, meaning: str, *labels: str, series_max: int = 100, per: int = 1) -> Metric:
    return Metric(name, "counter", meaning, labels, series_max=series_max, per=per)


def _seconds(name: str, meaning: str, *labels: str) -> Metric:
    return Metric(name, "histogram", meaning, labels, SECONDS)


def _gauge(name: str, meaning: str, *labels: str) -> Metric:
    return Metric(name, "gauge", meaning, labels)


HTTP_REQUESTS = _counter(
    "reprise_http_requests_total", "Requests answered.", "method", "route", "status", series_max=1000
)
HTTP_SECONDS = _seconds(
    "reprise_http_request_seconds", "Time from a request's headers to its answer.", "method", "route"
)
RATE_LIMITED = _counter(
    "reprise_rate_limited_total", "Requests refused because the minute of their key, user or address was used up."
)
RATE_LIMIT_NOT_COUNTED = _counter(
    "reprise_rate_limit_not_counted_total", "Requests let through uncounted because Redis could not count."
)
SHARE_REFUSED = _counter(
    "reprise_share_refused_total",
    "Requests refused because their organization had its share, or all places, or no turn came in time.",
    "kind",
)

SIGN_INS = _counter("reprise_sign_ins_total", "Sign-ins by their way, and tries that were wrong or refused.", "outcome")

RUNS = _counter("reprise_runs_total", "Runs that ended.", "model", "outcome", series_max=500)
PROVIDER_CALLS = _counter(
    "reprise_provider_calls_total", "Calls of vendors' interfaces, every try counted.", "vendor", "outcome"
)
PROVIDER_SECONDS = _seconds("reprise_provider_call_seconds", "Time that a try of a vendor's call took.", "vendor")
REPLAYS = _counter("reprise_replays_total", "Replays that ended.", "outcome")
WEBHOOK_DELIVERIES = _counter(
    "reprise_webhook_deliveries_total", "Attempts to deliver events to webhooks, by outcome.", "outcome"
)
EXPERIMENTS = _counter("reprise_experiments_total", "Experiments that ended.", "verdict")
GUARD_MAPS = _counter("reprise_guard_maps_total", "Guard maps that ended.", "status")
COVERAGE_RUNS = _counter(
    "reprise_coverage_runs_total", "Runs of schedules that read the coverage of suites.", "outcome"
)
FINDINGS = _counter("reprise_findings_total", "Findings that were opened, reopened, put in work or solved.", "state")
WATCH_RUNS = _counter("reprise_watch_runs_total", "Runs of watches that ended; failed ones show a drop.", "verdict")

SPANS = _counter("reprise_spans_total", "Spans by what became of them; every one is received, too.", "outcome")
BATCHES = _counter("reprise_batches_total", "Trace batches by what became of them.", "outcome")
BATCH_BYTES = _counter("reprise_batch_bytes_total", "Bytes of trace batches as they were sent.")
BATCH_SECONDS = _seconds("reprise_batch_store_seconds", "Time from taking a batch up to its commit.")

STORING_PROCESSES = _gauge(
    "reprise_storing_processes", "Processes of the embedded mode that store trace batches, by their state.", "state"
)

OBSERVED_SESSIONS = _counter("reprise_observed_sessions_total", "Sessions that traces brought.", "project")
OBSERVED_FAILED_SESSIONS = _counter(
    "reprise_observed_failed_sessions_total", "Sessions of traces in which a span has an error.", "project"
)
OBSERVED_ERRORS = _counter("reprise_observed_errors_total", "Spans of traces with an error.", "project")
OBSERVED_TOKENS = _counter(
    "reprise_observed_tokens_total", "Tokens of traced model calls.", "project", "kind", series_max=200
)
OBSERVED_COST = _counter(
    "reprise_observed_cost_usd_total", "US dollars that traced model calls cost.", "project", per=MILLION
)

FINGERPRINTS = _counter("reprise_session_fingerprints_total", "Fingerprints made of sessions, for suites.")

MESSAGES = _counter("reprise_messages_total", "Messages that actors worked on, every try counted.", "actor", "outcome")
MESSAGE_SECONDS = _seconds("reprise_message_seconds", "Time that an actor worked on a message.", "actor")
MESSAGE_WAIT = _seconds(
    "reprise_message_wait_seconds", "Time from a message's making to the begin of work on it.", "queue"
)
MESSAGE_RETRIES = _counter("reprise_message_retries_total", "Messages put back to be tried again.", "actor")
DEAD_LETTERS = _counter("reprise_dead_letters_total", "Messages given up.", "actor")
SHARE_DEFERRED = _counter(
    "reprise_share_deferred_total",
    "Times that a worker with free threads left messages waiting because their organizations had their share.",
    "queue",
)

CLOCK_JOBS = _counter("reprise_clock_jobs_total", "Periodic jobs that the clock did.", "task", "outcome")

INVARIANT_VIOLATIONS = _counter(
    "reprise_invariant_violations_total", "Stored rows that broke a rule, each time that one was looked at.", "rule"
)

CACHE_LOOKUPS = _counter("reprise_cache_lookups_total", "Lookups in caches.", "cache", "result")
LOCK_RETRIES = _counter(
    "reprise_database_lock_retries_total", "Transactions tried again after a lock conflict (MySQL 1205, 1213)."
)
POOL_TIMEOUTS = _counter(
    "reprise_database_pool_timeouts_total", "Waits for a free database connection that were given up."
)
DATABASE_CONNECTIONS = _gauge("reprise_database_connections", "Connections in the pools of all processes.", "state")

QUEUE_MESSAGES = _gauge("reprise_queue_messages", "Messages of a queue.", "queue", "state")
QUEUE_OLDEST = _gauge("reprise_queue_oldest_seconds", "Age of the oldest message that waits in a queue.", "queue")
WORKERS = _gauge("reprise_workers", "Worker processes that asked for messages of a queue lately.", "queue")

METRICS = tuple(declared for declared in globals().values() if isinstance(declared, Metric))
BY_NAME = {metric.name: metric for metric in METRICS}
