"""Metrics of all processes: declared in `registry`, counted by `Metrics`, stored in Redis."""

from app.metrics.recorder import Metrics, cache_lookups, provider_call

__all__ = ["Metrics", "cache_lookups", "provider_call"]
