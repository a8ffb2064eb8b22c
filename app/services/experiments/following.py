"""Follows an experiment until it ends, by polling its rows, because any process may change it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.services.experiments.service import ExperimentProgress, ExperimentService, ExperimentView

# The pause between two reads of the rows; if reading the last view was slow, `PAUSE_FACTOR` times its duration.
PAUSE_S = 1.0
PAUSE_FACTOR = 10
SILENCE_S = 10.0
# After this time the client must connect again.
LONGEST_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentFollower:
    """Follows experiments for up to `longest_s` seconds, with at least `pause_s` seconds between two looks."""

    experiments: ExperimentService
    pause_s: float = PAUSE_S
    longest_s: float = LONGEST_S
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def follow(self, *, project_id: int, experiment_id: int) -> Iterator[ExperimentView | None]:
        """Yield the experiment now and after each change, at most once per `pause_s`, until it has ended.

        Yields None after a while without a change. Raises `NotFound` if the experiment is removed meanwhile.
        """
        until = self.monotonic() + self.longest_s
        seen: ExperimentProgress | None = None
        silent_since, pause_s = self.monotonic(), self.pause_s
        while self.monotonic() < until:
            progress = self.experiments.progress(project_id=project_id, experiment_id=experiment_id)
            if progress != seen:
                seen, began = progress, self.monotonic()
                view = self.experiments.get(project_id=project_id, experiment_id=experiment_id)
                pause_s = max(self.pause_s, PAUSE_FACTOR * (self.monotonic() - began))
                yield view
                if view.row.finished:
                    return
                silent_since = self.monotonic()
            elif self.monotonic() - silent_since >= SILENCE_S:
                yield None
                silent_since = self.monotonic()
            self.sleep(pause_s)
