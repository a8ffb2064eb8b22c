"""The clock runs periodic jobs, each in its own thread, so that no job waits for another.

One process is enough; several do no harm, because guarded updates let only one of them win. Nothing is lost while no
clock runs: the jobs find the rows that were left behind.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.metrics import Metrics
from app.metrics.registry import CLOCK_JOBS
from app.process.bootstrap import bootstrap, freeze_gc, start
from app.services.data import invariants, packing
from app.services.ingest import settling
from app.services.search.indexing import EVERY_S
from app.services.suites import making
from app.wiring.container import Container
from app.work.sweeper import attempt


@dataclass(frozen=True, slots=True)
class PeriodicJob:
    """`run` is called `every_s` seconds after its last end, and must be safe to run twice at the same time."""

    name: str
    every_s: float
    run: Callable[[], object]


def jobs(container: Container) -> list[PeriodicJob]:
    """Return all periodic jobs."""
    return [
        PeriodicJob("sweep_runs", 5, container.run_delivery.sweep),
        PeriodicJob("sweep_replays", 5, container.replay_delivery.sweep),
        PeriodicJob("sweep_programs", 60, container.services.program_sweeper.sweep),
        PeriodicJob("sweep_program_experiments", 60, container.services.program_experiments.sweep),
        PeriodicJob("sweep_audits", 5, container.audit_delivery.sweep),
        PeriodicJob("advance_experiments", 5, container.experiment_delivery.sweep),
        PeriodicJob("serve_schedules", 20, container.services.schedules.sweep),
        PeriodicJob("check_turns", 30, container.check_delivery.sweep),
        PeriodicJob("apply_retention", 10, container.services.retention.apply),
        PeriodicJob("finish_erasures", 30, container.services.deletion.sweep),
        PeriodicJob("add_up_sessions", 10, container.services.session_sums.sweep),
        PeriodicJob("settle_turns", settling.EVERY_S, container.services.turn_settler.sweep),
        PeriodicJob("evaluate_alert_rules", 60, container.services.alerts.evaluate),
        PeriodicJob("watch_findings", 60, container.services.finding_watch.sweep),
        PeriodicJob("tell_rejections", 60, container.services.rejection_notifier.sweep),
        PeriodicJob("send_webhooks", 2, container.webhook_delivery.sweep),
        PeriodicJob("remove_webhook_deliveries", 600, container.services.webhook_deliverer.remove_expired),
        PeriodicJob("count_sessions", 5, container.services.insight_counter.sweep),
        PeriodicJob("make_fingerprints", making.EVERY_S, container.services.fingerprint_maker.sweep),
        PeriodicJob("index_words", EVERY_S, container.services.search_indexer.sweep),
        PeriodicJob("pack_spans", packing.EVERY_S, container.services.span_packer.sweep),
        PeriodicJob("examine_rows", invariants.EVERY_S, container.services.invariants.sweep),
        PeriodicJob("remove_lone_log_records", 600, container.services.log_records.sweep),
    ]


def run(periodic: Sequence[PeriodicJob], stop: threading.Event, metrics: Metrics) -> None:
    """Do each job when it is due, until `stop` is set; return when the last job has ended."""
    threads = [
        threading.Thread(target=_repeat, args=(job, stop, metrics), name=job.name, daemon=True) for job in periodic
    ]
    for thread in threads:
        thread.start()
    stop.wait()
    for thread in threads:
        thread.join()


def _repeat(job: PeriodicJob, stop: threading.Event, metrics: Metrics) -> None:
    pause_s = 0.0
    while not stop.wait(pause_s):
        done = attempt(job.run, "periodic_job_failed", job=job.name)
        metrics.count(CLOCK_JOBS, job.name, "done" if done else "failed")
        pause_s = job.every_s


def main() -> None:
    """Run the jobs of the clock until SIGTERM or SIGINT."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    container = bootstrap(start("clock"))
    freeze_gc()
    run(jobs(container), stop, container.metrics)


if __name__ == "__main__":
    main()
