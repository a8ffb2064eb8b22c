"""The differences of counters while a test does something."""

from __future__ import annotations

from app.metrics.registry import Metric
from tests.support.world import World


def counts(world: World, metric: Metric) -> dict[tuple[str, ...], int]:
    world.container.metrics.flush()
    store = world.container.services.metrics.store
    return store.total().counts(metric)


class Since:
    """The differences of counters since it was made: other tests count in the same Redis."""

    def __init__(self, world: World, metric: Metric) -> None:
        self._world, self._metric = world, metric
        self._before = counts(world, metric)

    def moved(self, model: str | None = None) -> dict[tuple[str, ...], int]:
        """Return by how much each counter moved; only of `model`, where runs of earlier tests may end meanwhile."""
        now = counts(self._world, self._metric)
        increases = {labels: by for labels, n in now.items() if (by := n - self._before.get(labels, 0))}
        return {labels: by for labels, by in increases.items() if model is None or labels[0] == model}
