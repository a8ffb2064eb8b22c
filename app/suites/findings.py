"""Groups the sessions of a prompt that went wrong into findings; pure and deterministic.

docs/findings.md describes the rules. Each session that went wrong is in one finding.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import log
from statistics import median
from typing import Literal

import msgspec

from app.suites.features import Effects, Feature, Kind, Vocabulary, given_by
from app.suites.phrases import phrase
from app.suites.samples import Sample

ProblemKind = Literal["failed_tool", "error", "check", "score", "cost"]
COST_TIMES, COST_MIN = 5, 20
"""A session of `COST_TIMES` the median cost is a finding, if `COST_MIN` sessions with as many turns have a cost."""
SPLITS_MAX = 5
"""Parts of the sessions with one problem that have something in common, known ones too; the rest are one finding."""
SPLIT_PROBLEMS = 10
"""Problems that are split: those with the most sessions."""
SPLIT_MIN, SPLIT_SHARE = 3, 0.2
"""Sessions of a part, at least, and their least share of the sessions that are not in a part yet."""
LIFT_MIN = 2.0
"""How many times as often these sessions have a feature as all that could have the problem."""
FINDINGS_MAX = 100
"""Findings that are returned: those with the most sessions."""
_SPLIT_BY: frozenset[Kind] = frozenset({"order", "tool", "pair", "refusal", "turns", "language", "topic"})


class Subject(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a finding is about: what went wrong, and what its sessions have in common; None for the rest."""

    problem: ProblemKind
    value: str = ""
    common: Feature | None = None

    @property
    def digest(self) -> bytes:
        return blake2b(_dump(self), digest_size=16).digest()

    @property
    def title(self) -> str:
        """What happened, in words."""
        what = _TITLES[self.problem].format(self.value)
        return f"{what}, in sessions that {phrase(self.common)}" if self.common else what


_dump = msgspec.json.Encoder(order="deterministic").encode
_TITLES: Mapping[ProblemKind, str] = {
    "failed_tool": "`{}` fails",
    "error": "An error without a failed tool",
    "check": "The check “{}” fails",
    "score": "The score “{}” is low",
    "cost": f"It costs at least {COST_TIMES} times the median",
}


@dataclass(frozen=True, slots=True)
class LowScores:
    """The first names of the low scores of a session: of online checks, and of others."""

    check: str | None = None
    score: str | None = None


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """A finding with the indexes of its sessions, in their order; `place` is that in which it was found, from 0."""

    subject: Subject
    members: Sequence[int]
    place: int = 0


def problems_of(samples: Sequence[Sample], low: Mapping[str, LowScores]) -> dict[int, Subject]:
    """Return what went wrong in sessions, by their index.

    `low` is by the ids of sessions. A session counts for the first of: its failed tool that fails most often, another
    error, a failed check, a low score, its cost.
    """
    often = Counter(tool for sample in samples for tool in sample.scored.fingerprint.failed_tools)
    limits = _cost_limits(samples)
    problems = {}
    for index, sample in enumerate(samples):
        fingerprint, scores = sample.scored.fingerprint, low.get(sample.id, LowScores())
        if fingerprint.failed_tools:
            tool = min(fingerprint.failed_tools, key=lambda name: (-often[name], name))
            problems[index] = Subject("failed_tool", tool)
        elif fingerprint.has_error:
            problems[index] = Subject("error")
        elif scores.check is not None:
            problems[index] = Subject("check", scores.check)
        elif scores.score is not None:
            problems[index] = Subject("score", scores.score)
        elif sample.cost_usd >= limits.get(fingerprint.turns, float("inf")):
            problems[index] = Subject("cost")
    return problems


def _cost_limits(samples: Sequence[Sample]) -> dict[str, float]:
    """Return the cost from which on sessions with so many turns are findings."""
    costs: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        if sample.cost_usd > 0:
            costs[sample.scored.fingerprint.turns].append(sample.cost_usd)
    return {turns: COST_TIMES * median(known) for turns, known in costs.items() if len(known) >= COST_MIN}


def group_into_findings(
    samples: Sequence[Sample],
    problems: Mapping[int, Subject],
    known: Iterable[Subject],
    vocabulary: Vocabulary,
    effect_of: Effects,
) -> list[FoundGroup]:
    """Return the findings, those with the most sessions first.

    `known` findings come before new ones, in the order in which they were found: they keep their sessions, because a
    session with what two of them have in common is in the first one.
    """
    by_problem: dict[Subject, list[int]] = defaultdict(list)
    for index in sorted(problems):
        by_problem[problems[index]].append(index)
    largest = sorted(by_problem, key=lambda problem: (-len(by_problem[problem]), problem.digest))
    kept: dict[Subject, list[Feature]] = defaultdict(list)
    for subject in known:
        if subject.common:
            kept[Subject(subject.problem, subject.value)].append(subject.common)
    numbers = _Numbers()
    features = [
        frozenset(
            numbers.of(feature)
            for feature in given_by(sample.scored, vocabulary, effect_of)
            if feature.kind in _SPLIT_BY
        )
        for sample in samples
    ]
    topics = {common.value for of_problem in kept.values() for common in of_problem if common.kind == "topic"}
    everywhere = Counter[int]()
    for feature_numbers in features:
        everywhere.update(feature_numbers)
    words = [
        {numbers.of(Feature("topic", word)) for word in topics.intersection(sample.scored.fingerprint.words)}
        for sample in samples
    ]
    groups: list[FoundGroup] = []
    for number, problem in enumerate(largest):
        rest, before = by_problem[problem], len(groups)
        for common in kept[problem]:
            # A word is no topic any more when too many sessions have it.
            is_word = common.kind == "topic"
            having = words if is_word else features
            rest = _part(problem, common, rest, having, numbers.of(common), groups)
        if number < SPLIT_PROBLEMS:
            counts, total = _compared(problem, samples, features, everywhere)
            for _ in range(SPLITS_MAX - (len(groups) - before)):
                chosen = _distinguishing([features[index] for index in rest], counts, total, numbers.features)
                if chosen:
                    rest = _part(problem, chosen, rest, features, numbers.of(chosen), groups)
        groups += [FoundGroup(problem, rest, len(groups))] if rest else []
    return sorted(groups, key=lambda group: (-len(group.members), group.subject.digest))


@dataclass(slots=True)
class _Numbers:
    """Numbers of features, from 0: a session has many features, which are counted for each problem."""

    features: list[Feature] = field(default_factory=list)
    _numbers: dict[Feature, int] = field(default_factory=dict)

    def of(self, feature: Feature) -> int:
        number = self._numbers.setdefault(feature, len(self.features))
        if number == len(self.features):
            self.features.append(feature)
        return number


def _part(
    problem: Subject,
    common: Feature,
    members: Sequence[int],
    features: Sequence[Collection[int]],
    number: int,
    groups: list[FoundGroup],
) -> list[int]:
    """Add the finding of the sessions with a feature of this number, if there are any; returns the others."""
    having = [index for index in members if number in features[index]]
    if having:
        groups.append(FoundGroup(Subject(problem.problem, problem.value, common), having, len(groups)))
    return [index for index in members if number not in features[index]]


def _compared(
    problem: Subject, samples: Sequence[Sample], features: Sequence[Collection[int]], everywhere: Counter[int]
) -> tuple[Counter[int], int]:
    """Return how often sessions that could have the problem have each feature, and the number of these sessions."""
    if problem.problem != "failed_tool":
        return everywhere, len(samples)
    counts, total = Counter[int](), 0
    for sample, feature_numbers in zip(samples, features, strict=True):
        if problem.value in sample.scored.fingerprint.tools:
            counts.update(feature_numbers)
            total += 1
    return counts, total


def _distinguishing(
    members: Sequence[Collection[int]], counts: Counter[int], total: int, features: Sequence[Feature]
) -> Feature | None:
    """Return the feature that these sessions have more often than others, in most of them; None without any.

    Features are counted by their numbers, of which `features` are the names.
    """
    counts_of_members = Counter[int]()
    for feature_numbers in members:
        counts_of_members.update(feature_numbers)
    least = max(SPLIT_MIN, SPLIT_SHARE * len(members))
    best: tuple[float, Feature] | None = None
    for number, count in counts_of_members.items():
        lift = (count / len(members)) / (counts[number] / total)
        if count < least or lift < LIFT_MIN:
            continue
        candidate = (-count * log(lift), features[number])
        if best is None or candidate < best:
            best = candidate
    return best[1] if best else None


@dataclass(frozen=True, slots=True)
class Trend:
    """The sessions of a finding in the last seven days and in the seven before.

    `direction` is `steady` if chance can explain the difference.
    """

    recent: int
    before: int

    @property
    def direction(self) -> Literal["up", "down", "steady"]:
        if abs(self.recent - self.before) <= 2 * (self.recent + self.before) ** 0.5:
            return "steady"
        return "up" if self.recent > self.before else "down"


def came_back(members: Iterable[Sample], *, solved_ns: int, solved_by: str | None, versions: Mapping[str, int]) -> bool:
    """Return whether a finding that was solved has come back.

    It has if one of its sessions used the version that solved it, or a later one. Sessions that name no version count
    from the time on at which the finding was solved. `versions` are the positions of versions, the oldest first.
    """
    since = versions.get(solved_by or "")
    for sample in members:
        named = [versions[version] for version in sample.scored.fingerprint.versions if version in versions]
        if since is not None and named:
            if max(named) >= since:
                return True
        elif sample.start_ns >= solved_ns:
            return True
    return False
