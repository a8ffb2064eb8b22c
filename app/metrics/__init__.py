"""Metrics of all processes together: declared in `registry`, counted by `Metrics`, kept in Redis."""

from app.metrics.hooks import cache_lookups, provider_calls
from app.metrics.recorder import Metrics

__all__ = ["Metrics", "cache_lookups", "provider_calls"]
