"""What a gate made of probes: how many errors it noticed, by kind, with what chance would have given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from app.audit.probes import Probe
from app.experiments.statistics import wilson_interval

MIN_CAUGHT = 0.8
"""The share of planted errors that must not pass, if no other is requested."""
ProbeVerdict = Literal["passed", "failed", "needs_review"]


class ProbeOutcome(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The verdict on one probe. It is a miss unless an error failed or a harmless form passed."""

    probe: Probe
    verdict: ProbeVerdict
    reason: str | None = None
    decided_by: str | None = None

    @property
    def is_right(self) -> bool:
        return self.verdict == ("failed" if self.probe.planted else "passed")


class Share(msgspec.Struct, frozen=True, rename="camel"):
    """How many probes got the right verdict; `undecided` needed a person. `interval` is Wilson's of 95 %."""

    right: int
    probes: int
    undecided: int
    interval: tuple[float, float]


class KindShare(msgspec.Struct, frozen=True, rename="camel"):
    """The share of one operator's probes."""

    kind: str
    planted: bool
    share: Share


class AuditFigures(msgspec.Struct, frozen=True, rename="camel"):
    """The figures of an audit.

    `kappa` is Cohen's, of the verdicts with the labels; None where the labels are all alike. `constant` is the share of
    right verdicts that the better of "always passed" and "always failed" reaches, and `accuracy` that of the gate.
    """

    planted: Share
    harmless: Share
    kinds: tuple[KindShare, ...]
    kappa: float | None
    accuracy: float | None
    constant: float | None


def figures_of(outcomes: Sequence[ProbeOutcome]) -> AuditFigures:
    """Return the figures of the probes that were judged."""
    planted, harmless = ([outcome for outcome in outcomes if outcome.probe.planted is side] for side in (True, False))
    kinds = dict.fromkeys((outcome.probe.kind, outcome.probe.planted) for outcome in outcomes)
    return AuditFigures(
        planted=share_of(planted),
        harmless=share_of(harmless),
        kinds=tuple(
            KindShare(kind, side, share_of([outcome for outcome in outcomes if _is_of(outcome, kind, side)]))
            for kind, side in sorted(kinds)
        ),
        kappa=cohens_kappa(("failed" if outcome.probe.planted else "passed", outcome.verdict) for outcome in outcomes),
        accuracy=sum(outcome.is_right for outcome in outcomes) / len(outcomes) if outcomes else None,
        constant=max(len(planted), len(harmless)) / len(outcomes) if outcomes else None,
    )


def share_of(outcomes: Sequence[ProbeOutcome]) -> Share:
    """Return in how many outcomes the gate was right, with the Wilson interval of that share."""
    right = sum(outcome.is_right for outcome in outcomes)
    undecided = sum(outcome.verdict == "needs_review" for outcome in outcomes)
    return Share(right, len(outcomes), undecided, wilson_interval(right, len(outcomes)))


def cohens_kappa(pairs: Iterable[tuple[str, str]]) -> float | None:
    """Return the agreement of two raters beyond chance; None if chance explains all of it, or without pairs.

    Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960).
    """
    rated = list(pairs)
    if not rated:
        return None
    observed = sum(left == right for left, right in rated) / len(rated)
    lefts, rights = [left for left, _ in rated], [right for _, right in rated]
    expected = sum(lefts.count(name) * rights.count(name) for name in set(lefts)) / len(rated) ** 2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def noticed_sentence(figures: AuditFigures, decided_by: str) -> str:
    """Return the sentence that every verdict has; `decided_by` names the judge or the check."""
    share = figures.planted
    if not share.probes:
        return f"{decided_by} could not be audited: the test cases have no text in which an error can be planted."
    low, high = (round(100 * bound) for bound in share.interval)
    left = f" A person has to decide on {share.undecided} more." if share.undecided else ""
    return f"{decided_by} noticed {share.right} of {share.probes} planted errors ({low}–{high} %).{left}"


def lets_pass(figures: AuditFigures, min_caught: float) -> bool:
    """Return True if more planted errors passed than `min_caught`, the share that must not pass, allows."""
    share = figures.planted
    return share.right + share.undecided < min_caught * share.probes


def _is_of(outcome: ProbeOutcome, kind: str, planted: bool) -> bool:
    return outcome.probe.kind == kind and outcome.probe.planted is planted
