"""Metrics of all processes together: declared in `registry`, counted by `Metrics`, kept in Redis."""

from app.metrics.recorder import Metrics, cache_lookups, provider_call

__all__ = ["Metrics", "cache_lookups", "provider_call"]
