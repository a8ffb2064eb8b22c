"""Percentiles out of a histogram's buckets."""

from __future__ import annotations

from app.metrics.store import Distribution


def merged(distributions: list[Distribution]) -> Distribution:
    """Several distributions over the same bounds as one."""
    counts: dict[str, int] = {}
    for one in distributions:
        for bound, count in one.counts.items():
            counts[bound] = counts.get(bound, 0) + count
    return Distribution(counts, sum(one.sum for one in distributions))


def quantile(distribution: Distribution, q: float) -> float | None:
    """The value below which the part `q` (0–1) lies, interpolated in its bucket as Prometheus does.

    None without observations; the highest finite bound when it lies above that.
    """
    rank, below, lower = q * distribution.count, 0, 0.0
    if not distribution.count:
        return None
    for bound, count in distribution.counts.items():
        if bound == "+Inf":
            break
        if below + count >= rank and count:
            return lower + (float(bound) - lower) * max(0.0, rank - below) / count
        below, lower = below + count, float(bound)
    return lower
