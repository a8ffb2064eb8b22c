"""Threads for work in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Job = Callable[[], None]


class Workers:
    """Does jobs in daemon threads, of which at most `kept` stay when there is nothing to do.

    A new thread costs its starter some milliseconds, as the two share one interpreter. So only a job that is urgent
    gets one; others wait for a thread that is there, and find one from the first job on.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._unfinished = 0
        self._stopped = False

    def submit(self, job: Job, *, urgent: bool) -> None:
        """Do the job, which must not raise; RuntimeError where no thread can be started."""
        with self._lock:
            if self._stopped:
                raise RuntimeError("The client is closed.")
            if not self._threads or (urgent and self._unfinished >= self._threads):
                threading.Thread(target=self._work, name="reprise", daemon=True).start()
                self._threads += 1
            self._unfinished += 1
        self._jobs.put(job)

    def stop(self) -> None:
        """End the threads when they have done what was submitted."""
        with self._lock:
            self._stopped = True
            for _ in range(self._threads):
                self._jobs.put(None)

    def _work(self) -> None:
        while job := self._jobs.get():
            job()
            # While it waits it must keep nothing alive.
            del job
            with self._lock:
                self._unfinished -= 1
                if self._threads > self._kept and self._unfinished < self._threads:
                    self._threads -= 1
                    return
