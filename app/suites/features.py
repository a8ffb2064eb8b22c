"""The features of conversations: what a suite of test cases can represent, and how much each counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log
from typing import Literal, NamedTuple

from app.suites.fingerprints import Fingerprint

Kind = Literal[
    "order", "tool", "pair", "effect", "failed_tool", "error", "refusal", "turns", "language", "score", "topic"
]
SHARES: Mapping[Kind, float] = {
    "order": 3.0,
    "tool": 2.0,
    "pair": 1.0,
    "effect": 1.0,
    "failed_tool": 2.0,
    "error": 1.0,
    "refusal": 2.0,
    "turns": 1.0,
    "language": 1.0,
    "score": 2.0,
    "topic": 2.0,
}
"""How much the features of a kind count together in a conversation that has any; the sum of each conversation is 1."""
TOPICS_MAX = 8
"""Topic words of a session: the ones with the highest inverse document frequency."""
TOPIC_SHARE = 0.005
"""The least share of the sessions (and at least 2) that have a topic word: a rarer word is about one session."""
COMMON_SHARE = 0.5
"""The share of the sessions above which a word is about all of them."""


class Feature(NamedTuple):
    """Something about a conversation, such as the tool `refund_order`."""

    kind: Kind
    value: str = ""


class Pair(NamedTuple):
    """Two tools of which the second is first called after the first one."""

    first: str
    second: str


PAIR_MARK = " \u2192 "
Effects = Callable[[str], Literal["read", "write"]]
"""Returns the effect of a tool."""


@dataclass(frozen=True, slots=True)
class ScoredFingerprint:
    """A fingerprint with what was found out about it afterwards: a score may come long after a session."""

    fingerprint: Fingerprint
    has_low_score: bool = False


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that are topics among some sessions, with their weights."""

    weights: Mapping[str, float]

    @classmethod
    def of(cls, fingerprints: Collection[Fingerprint]) -> Vocabulary:
        """Return the words that are neither about one session nor about most, with tf-idf's inverse frequencies."""
        counts = Counter(word for fingerprint in fingerprints for word in fingerprint.words)
        sessions = len(fingerprints)
        least, most = max(2, ceil(TOPIC_SHARE * sessions)), max(2, COMMON_SHARE * sessions)
        return cls({word: log(sessions / count) + 1 for word, count in counts.items() if least <= count <= most})

    def topics_of(self, fingerprint: Fingerprint) -> list[str]:
        """Return the topic words of a session, the rarest first."""
        known = [word for word in fingerprint.words if word in self.weights]
        return sorted(known, key=lambda word: (-self.weights[word], word))[:TOPICS_MAX]

    def words_of(self, fingerprint: Fingerprint) -> list[str]:
        """Return all words of a conversation that are topics of others."""
        return [word for word in fingerprint.words if word in self.weights]


def needs_of(conversation: ScoredFingerprint, vocabulary: Vocabulary, effect_of: Effects) -> dict[Feature, float]:
    """Return the features of a session with their shares, which add up to 1."""
    fingerprint = conversation.fingerprint
    by_kind: dict[Kind, list[str]] = defaultdict(list)
    for feature in _behaviour(conversation, effect_of):
        by_kind[feature.kind].append(feature.value)
    by_kind["topic"] = vocabulary.topics_of(fingerprint)
    kinds = {kind: values for kind, values in by_kind.items() if values}
    total = sum(SHARES[kind] for kind in kinds)
    return {
        Feature(kind, value): SHARES[kind] / len(values) / total for kind, values in kinds.items() for value in values
    }


def given_by(
    conversation: ScoredFingerprint, vocabulary: Vocabulary, effect_of: Effects, *, corrected: bool = False
) -> frozenset[Feature]:
    """Return the features that a test of this conversation represents.

    A `corrected` test case is what should have happened in a session that went wrong, so it guards against the mistake.
    """
    features = {*_behaviour(conversation, effect_of)}
    features |= {Feature("topic", word) for word in vocabulary.words_of(conversation.fingerprint)}
    if corrected:
        features |= {Feature("error"), Feature("score")}
        features |= {Feature("failed_tool", tool) for tool in conversation.fingerprint.tools}
    return frozenset(features)


def writes(fingerprint: Fingerprint, effect_of: Effects) -> bool:
    """Return whether a session calls a tool that acts on the world."""
    return any(effect_of(tool) == "write" for tool in fingerprint.tools)


def _behaviour(conversation: ScoredFingerprint, effect_of: Effects) -> Iterable[Feature]:
    """Yield the features except topics."""
    fingerprint = conversation.fingerprint
    if fingerprint.order or not fingerprint.tools:
        yield Feature("order", PAIR_MARK.join(fingerprint.order))
    for tool in fingerprint.tools:
        yield Feature("tool", tool)
    for pair in pairs_of(fingerprint.order):
        yield Feature("pair", PAIR_MARK.join(pair))
    yield Feature("effect", _effect(fingerprint, effect_of))
    for tool in fingerprint.failed_tools:
        yield Feature("failed_tool", tool)
    if fingerprint.has_error:
        yield Feature("error")
    if fingerprint.has_refusal:
        yield Feature("refusal")
    yield Feature("turns", fingerprint.turns)
    if fingerprint.language:
        yield Feature("language", fingerprint.language)
    if conversation.has_low_score:
        yield Feature("score")


def pairs_of(order: Sequence[str]) -> list[Pair]:
    """Return each name in `order` together with the one that follows it."""
    return [Pair(*both) for both in pairwise(order)]


def _effect(fingerprint: Fingerprint, effect_of: Effects) -> str:
    if not fingerprint.tools:
        return "none"
    return "write" if writes(fingerprint, effect_of) else "read"
