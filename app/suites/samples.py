"""Sessions with what counts for a choice among them, and how much each weighs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from app.suites.features import Effects, Feature, ScoredFingerprint, Vocabulary, needs_of, writes

COST_MAX = 4.0
"""A session that costs more than this many times the mean counts no more than one that costs so much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How many times as much as others a session counts that calls a writing tool, has an error or a low score.

    A session that costs `COST_MAX` times the mean or more counts 1 + `cost` times as much as one that costs nothing.
    """

    writes: float = 3.0
    errors: float = 3.0
    low_scores: float = 3.0
    cost: float = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A session; `id` is its id in the API."""

    id: str
    start_ns: int
    turns: int
    cost_usd: float
    scored: ScoredFingerprint

    @property
    def went_wrong(self) -> bool:
        return self.scored.has_low_score or self.scored.fingerprint.has_error


def weights_of(samples: Sequence[Sample], weights: Weights, effect_of: Effects) -> list[float]:
    """Return the weight of each session."""
    mean = fmean(sample.cost_usd for sample in samples) if samples else 0.0
    return [_weight(sample, weights, effect_of, mean) for sample in samples]


def _weight(sample: Sample, weights: Weights, effect_of: Effects, mean_cost: float) -> float:
    scored = sample.scored
    weight = weights.writes if writes(scored.fingerprint, effect_of) else 1.0
    weight *= max([1.0] + [weights.errors] * scored.fingerprint.has_error + [weights.low_scores] * scored.has_low_score)
    share = min(sample.cost_usd / mean_cost, COST_MAX) / COST_MAX if mean_cost > 0 else 0.0
    return weight * (1 + weights.cost * share)


@dataclass(frozen=True, slots=True)
class ValuedSessions:
    """Sessions with their features: `needs` of each with their shares, and what all of a feature is worth together.

    `counts` are the numbers of sessions that need a feature.
    """

    needs: Sequence[Mapping[Feature, float]]
    weights: Sequence[float]
    values: Mapping[Feature, float]
    counts: Mapping[Feature, int]

    @classmethod
    def of(
        cls, samples: Sequence[Sample], weights: Weights, vocabulary: Vocabulary, effect_of: Effects
    ) -> ValuedSessions:
        """Compute the weight of each sample and divide it among the features that the sample needs."""
        needs = [needs_of(sample.scored, vocabulary, effect_of) for sample in samples]
        by_session = weights_of(samples, weights, effect_of)
        values: dict[Feature, float] = defaultdict(float)
        counts: dict[Feature, int] = defaultdict(int)
        for needed, weight in zip(needs, by_session, strict=True):
            for feature, share in needed.items():
                values[feature] += weight * share
                counts[feature] += 1
        return cls(needs, by_session, values, counts)

    @property
    def total(self) -> float:
        return sum(self.weights)

    def covered(self, features: frozenset[Feature]) -> float:
        """Return the share, from 0 to 1, that tests with these features represent."""
        total = self.total
        return min(1.0, sum(self.values.get(feature, 0.0) for feature in sorted(features)) / total) if total else 0.0
