"""How much of the traffic a suite represents, what it lacks, and what it tests in vain; pure and deterministic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum

from app.suites.features import Effects, Feature, Kind, Vocabulary, needs_of
from app.suites.phrases import named_tools, percent, phrase
from app.suites.samples import Sample, Weights, weights_of

NEW_MAX = 10
"""Features without a test that are named."""
NEW_SHARE = 0.01
"""The share of the sessions from which a feature without a test is named."""
# What a person can make a test of. An order is left out where one of its tools is named.
_NAMED: tuple[Kind, ...] = ("tool", "failed_tool", "refusal", "language", "order", "topic")


@dataclass(frozen=True, slots=True)
class SuiteCase:
    """A test case of a suite with its features; `tools` are the ones that it calls."""

    id: int
    name: str
    features: frozenset[Feature]
    tools: frozenset[str]


@dataclass(frozen=True, slots=True)
class ComparedSample:
    """A session compared with tests: their share of it, from 0 to 1, and what it does that they lack, if it is named.

    A session's features need more memory than its fingerprint, so that these are not kept.
    """

    sample: Sample
    covered: float
    lacking: Sequence[Feature]


@dataclass(frozen=True, slots=True)
class NewBehaviour:
    """What sessions do and no test does: a sentence, the share of the sessions, and the id of the newest of them."""

    sentence: str
    share: float
    session_id: str


@dataclass(frozen=True, slots=True)
class ObsoleteCase:
    """A test case of what no session does any more, and why."""

    test_case_id: int
    name: str
    reason: str


def covered_by(cases: Sequence[SuiteCase]) -> frozenset[Feature]:
    """Return the features of all test cases."""
    return frozenset(chain.from_iterable(case.features for case in cases))


def compare(
    samples: Sequence[Sample], covered: frozenset[Feature], vocabulary: Vocabulary, effect_of: Effects
) -> list[ComparedSample]:
    """Compare each session with tests of these features."""
    return [_compared(sample, covered, vocabulary, effect_of) for sample in samples]


def _compared(
    sample: Sample, covered: frozenset[Feature], vocabulary: Vocabulary, effect_of: Effects
) -> ComparedSample:
    needs = needs_of(sample.scored, vocabulary, effect_of)
    has = fsum(share for feature, share in needs.items() if feature in covered)
    lacks = fsum(share for feature, share in needs.items() if feature not in covered)
    lacking = [feature for feature in needs if feature.kind in _NAMED and feature not in covered]
    return ComparedSample(sample, has / (has + lacks), lacking)


def share_of(compared: Sequence[ComparedSample], weights: Weights, effect_of: Effects) -> float | None:
    """Return the share of sessions, from 0 to 1, that the tests represent; None without sessions."""
    by_session = weights_of([entry.sample for entry in compared], weights, effect_of)
    total = fsum(by_session)
    if not compared:
        return None
    return fsum(weight * entry.covered for weight, entry in zip(by_session, compared, strict=True)) / (total or 1.0)


def new_behaviour(compared: Sequence[ComparedSample], *, when: str) -> list[NewBehaviour]:
    """Return what the sessions, the newest first, do and no test does, the most frequent first.

    `when` is the sessions in words, such as "yesterday's sessions".
    """
    newest: dict[Feature, str] = {}
    counts = Counter[Feature]()
    for entry in compared:
        counts.update(entry.lacking)
        for feature in entry.lacking:
            newest.setdefault(feature, entry.sample.id)
    lacking = [feature for feature, count in counts.items() if count >= NEW_SHARE * len(compared)]
    lacking.sort(key=lambda feature: (-counts[feature], _NAMED.index(feature.kind), feature))
    tools = {feature.value for feature in lacking if feature.kind == "tool"}
    named = [feature for feature in lacking if not _includes(feature, tools)]
    return [_behaviour(feature, counts[feature] / len(compared), when, newest[feature]) for feature in named[:NEW_MAX]]


def _includes(feature: Feature, tools: set[str]) -> bool:
    """Return whether a feature is no news where these tools are named."""
    if feature.kind == "failed_tool":
        return feature.value in tools
    return feature.kind == "order" and not tools.isdisjoint(named_tools(feature))


def _behaviour(feature: Feature, share: float, when: str, session_id: str) -> NewBehaviour:
    return NewBehaviour(f"{percent(share)} of {when} {phrase(feature)}; no test does.", share, session_id)


def obsolete_cases(samples: Sequence[Sample], cases: Sequence[SuiteCase], *, when: str) -> list[ObsoleteCase]:
    """Return the test cases that call a tool which none of the sessions calls; none without sessions."""
    called = frozenset(chain.from_iterable(sample.scored.fingerprint.tools for sample in samples))
    return [*_obsolete(cases, called, when)] if samples else []


def _obsolete(cases: Sequence[SuiteCase], called: frozenset[str], when: str) -> Iterator[ObsoleteCase]:
    for case in cases:
        if gone := sorted(case.tools - called):
            yield ObsoleteCase(case.id, case.name, f"No session of {when} calls `{gone[0]}`.")


def removable_cases(
    cases: Sequence[SuiteCase], verdicts: Sequence[dict[int, str]], *, least: int
) -> list[tuple[SuiteCase, SuiteCase]]:
    """Return test cases that never disagreed with another one, each with that one, which is kept.

    `verdicts` are those of experiments by test case. Both have had a verdict in at least `least` of them, not always
    the same one. What the removed test represents, the tests that are kept represent, too.
    """
    kept, pairs = {case.id: case for case in cases}, list[tuple[SuiteCase, SuiteCase]]()
    counts = Counter(chain.from_iterable(case.features for case in cases))
    for case in sorted(cases, key=lambda case: (len(case.features), -case.id)):
        others = (other for other in kept.values() if other is not case)
        twin = next((other for other in others if _agree(case.id, other.id, verdicts, least)), None)
        if twin and all(counts[feature] > 1 for feature in case.features):
            del kept[case.id]
            counts.subtract(case.features)
            pairs.append((case, twin))
    return sorted(pairs, key=lambda pair: pair[0].id)


def _agree(first: int, second: int, verdicts: Sequence[dict[int, str]], least: int) -> bool:
    both = [(by_case[first], by_case[second]) for by_case in verdicts if first in by_case and second in by_case]
    return len(both) >= least and len(set(both)) > 1 and all(verdict == other for verdict, other in both)
