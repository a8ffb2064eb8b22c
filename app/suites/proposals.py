"""Proposes the fewest sessions that represent the most, each with its reason; pure and deterministic."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reprise_formats.formats import plural

from app.suites.cover import Choice, greedy_cover, running_shares
from app.suites.features import Effects, Feature, Kind, Vocabulary, given_by
from app.suites.phrases import joined, percent, phrase
from app.suites.samples import Sample, ValuedSessions, Weights

SIZE, SIZE_MAX = 12, 100
"""Sessions of a proposal: by default, and at most."""
CURVE_MIN = 30
"""Sessions for which the curve shows the share, at least."""
REASON_MAX = 1_000
"""Characters of a reason: names of tools may be long."""
REASONS_MAX = 3
"""Features that a reason names."""
MILESTONES_MAX = 3
"""Points of the curve that the sentence about it names."""
# What a feature of a kind includes, so that a reason does not name it too.
_INCLUDED: dict[Kind, frozenset[Kind]] = {
    "order": frozenset({"tool", "pair", "effect"}),
    "tool": frozenset({"pair", "effect"}),
    "failed_tool": frozenset({"error"}),
}


@dataclass(frozen=True, slots=True)
class ProposedSession:
    """A session that was chosen. `share` is what it adds to all before it, from 0 to 1.

    A session that went wrong is to be corrected first: a test of it would demand the mistake.
    """

    sample: Sample
    share: float
    reason: str


@dataclass(frozen=True, slots=True)
class SuiteProposal:
    """`curve` has the share after one session, two and so on; it goes on after the last pick.

    `before` is the share that the test cases of a suite represent already. `passed_over` counts sessions that can't be
    replayed faithfully.
    """

    picks: Sequence[ProposedSession]
    curve: Sequence[float]
    before: float
    sessions: int
    passed_over: int

    @property
    def summary(self) -> str:
        """The curve in a sentence."""
        if not self.curve:
            return "No session was found that a test case can be made of."
        size = len(self.picks)
        points = sorted({max(1, size // 2), size, len(self.curve)} if size else {len(self.curve)})[:MILESTONES_MAX]
        parts = [
            f"{count} {'session represents' if count == 1 else 'sessions represent'} {percent(self.curve[count - 1])}"
            for count in points
        ]
        return f"{joined(parts)} of what happened in {plural(self.sessions, 'session')}."


def propose(
    samples: Sequence[Sample],
    *,
    size: int,
    weights: Weights,
    effect_of: Effects,
    covered: Collection[Feature] = (),
    vocabulary: Vocabulary | None = None,
) -> SuiteProposal:
    """Choose up to `size` of the sessions. Features that test cases have `covered` already add nothing.

    A session that went wrong only counts for what no right one does: it becomes a test only after a correction.
    """
    vocabulary = vocabulary or Vocabulary.of([sample.scored.fingerprint for sample in samples])
    valued = ValuedSessions.of(samples, weights, vocabulary, effect_of)
    eligible = sorted((sample for sample in samples if not sample.scored.fingerprint.lacks), key=_preference)
    given = [(sample, given_by(sample.scored, vocabulary, effect_of)) for sample in eligible]
    right = frozenset[Feature]().union(*(features for sample, features in given if not sample.went_wrong))
    candidates = _different(
        [(sample, features - right if sample.went_wrong else features) for sample, features in given]
    )
    choices = greedy_cover(
        valued.values, [features for _, features in candidates], size=max(size, CURVE_MIN), covered=covered
    )
    before = valued.covered(frozenset(covered))
    total = valued.total
    picks = [
        ProposedSession(
            candidates[choice.candidate][0],
            choice.gain / total,
            _reason(choice, valued, len(samples), is_first=number == 0 and not covered),
        )
        for number, choice in enumerate(choices[:size])
    ]
    return SuiteProposal(
        picks=picks,
        curve=list(running_shares(choices, total, before * total)),
        before=before,
        sessions=len(samples),
        passed_over=len(samples) - len(eligible),
    )


def _preference(sample: Sample) -> tuple[bool, int, float, int, str]:
    """Return what sessions with the same features are ordered by: right ones, short, cheap and new ones first."""
    return (sample.went_wrong, sample.turns, round(sample.cost_usd, 6), -sample.start_ns, sample.id)


def _different(
    candidates: Sequence[tuple[Sample, frozenset[Feature]]],
) -> list[tuple[Sample, frozenset[Feature]]]:
    """Return the first candidate of each set of features."""
    known: dict[frozenset[Feature], Sample] = {}
    for sample, features in candidates:
        known.setdefault(features, sample)
    return [(sample, features) for features, sample in known.items()]


def _reason(choice: Choice[Feature], valued: ValuedSessions, sessions: int, *, is_first: bool) -> str:
    """Return a sentence with the most valuable features that the session is the first to have."""
    named: list[Feature] = []
    left_out: set[Kind] = set()
    for feature in sorted(choice.new, key=lambda feature: (-valued.values[feature], feature)):
        # What only one session does is no reason beyond the first.
        if feature.kind not in left_out and len(named) < REASONS_MAX and (not named or valued.counts[feature] > 1):
            named.append(feature)
            left_out |= {feature.kind} | _INCLUDED.get(feature.kind, frozenset())
    parts = [
        f"{_count(valued.counts[feature], sessions, first=n == 0)} {_phrase(feature, valued)}"
        for n, feature in enumerate(named)
    ]
    reason = f"{joined(parts)}{'' if is_first else ', and no test before does'}."
    return reason if len(reason) <= REASON_MAX else f"{reason[: REASON_MAX - 1]}…"


def _phrase(feature: Feature, valued: ValuedSessions) -> str:
    return phrase(feature, one=valued.counts[feature] == 1)


def _count(count: int, sessions: int, *, first: bool) -> str:
    if not first:
        return f"{count:,}"
    return f"{count:,} of {sessions:,} {'session' if sessions == 1 else 'sessions'}"
