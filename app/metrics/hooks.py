"""Callbacks that count cache lookups and model calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from app.metrics.recorder import Metrics
from app.metrics.registry import CACHE_LOOKUPS, PROVIDER_CALLS, PROVIDER_SECONDS


class _Model(Protocol):
    @property
    def vendor(self) -> str: ...


def cache_lookups(metrics: Metrics, cache: str) -> Callable[[bool], None]:
    """Return a callback that counts the lookups of one cache; it takes whether a lookup was a hit."""
    return lambda hit: metrics.count(CACHE_LOOKUPS, cache, "hit" if hit else "miss")


def provider_calls(metrics: Metrics) -> Callable[[_Model], AbstractContextManager[None]]:
    """Counts and times each try of a vendor's call; its outcome is `ok` or the name of the error."""

    @contextmanager
    def observed(model: _Model) -> Iterator[None]:
        outcome = "ok"
        try:
            with metrics.timed(PROVIDER_SECONDS, model.vendor):
                yield
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            metrics.count(PROVIDER_CALLS, model.vendor, outcome)

    return observed
