"""Compares what replays of unchanged content answer with a reference, run after run; it can only warn.

Without a change, each replay of the reference and later ones could be in either sample. So the number of later replays
that have a feature, such as answers above the median length of both samples, is hypergeometric whatever its rate is:
Fisher's exact test ("The logic of inductive inference", JRSS 98, 1935). No rate and no distribution has to be known.

Blocks of 1, 3, 9 and 27 runs are compared when they are full, so a small change is seen later than a large one. At most
the share `ALPHA` of watches without a change has a warning within `MONTH` runs. For this the share is divided by the
sizes of blocks, the blocks of a size, the test cases and the features that differ at all (Bonferroni), which needs no
independence of the comparisons. Each run adds only the replays of its first round, because the number of further rounds
depends on results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, lgamma
from typing import Literal, NamedTuple

import msgspec
from msgspec import structs

from app.experiments.behaviour import (
    EDITION,
    LANGUAGE,
    LENGTH,
    ORDER,
    Behaviour,
    BehaviourTally,
    characters_of,
    names_of,
    order_key,
)

ALPHA, MONTH = 0.05, 30
"""The chance of a false warning of a whole watch within this number of runs, at most."""
BLOCKS = (1, 3, 9, 27)
"""The sizes of blocks: so many runs are compared with the reference together."""
JOINING = BLOCKS.index(9)
"""The block that is added to the reference, by its index in `BLOCKS`, while that is smaller than the largest."""
SMALLEST_REFERENCE, LARGEST_REFERENCE = 100, 300
"""Replays of a test case from which on it is compared, and from which on its reference stays the same."""
VALUES_MAX = 3
"""Orders and languages that are compared each; all others are compared together."""
CHANGES_MAX = 10
"""Changes of a test case that are kept, the first ones."""

ChangeKind = Literal["longer", "shorter", "more_calls", "fewer_calls", "order", "language"]
LANGUAGES = {"ar": "Arabic", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish"}
LANGUAGES |= {"fr": "French", "he": "Hebrew", "hi": "Hindi", "it": "Italian", "ja": "Japanese", "ko": "Korean"}
LANGUAGES |= {"nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "sv": "Swedish"}
LANGUAGES |= {"th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "zh": "Chinese", "": "an unknown language"}


class ReplayShare(NamedTuple):
    """`replays` of `of` replays have a feature."""

    replays: int
    of: int

    def __str__(self) -> str:
        return f"{self.replays:,} of {self.of:,}"


class AnswerChange(msgspec.Struct, frozen=True):
    """A feature that more of the later replays have than of the reference.

    `name` is the tool, the order or the language; "" for the length. `bound` is a number of characters, or the most or
    least calls; 1 for all orders and languages together that are not among the most frequent ones. `before` and `after`
    are the median lengths in characters, 0 for other kinds. `run` is the experiment that showed the change first.
    """

    kind: ChangeKind
    name: str
    bound: int
    reference: ReplayShare
    recent: ReplayShare
    before: int = 0
    after: int = 0
    run: int = 0

    @property
    def text(self) -> str:
        """The change in words: a sentence."""
        return f"{self._what} in {self.recent} replays, in the reference in {self.reference}."

    @property
    def _what(self) -> str:
        match self.kind:
            case "longer" | "shorter":
                size = "more" if self.kind == "longer" else "fewer"
                sizes = f"about {self.before:,} → {self.after:,} characters"
                return f"Answers are {self.kind}, {sizes}: {size} than {self.bound:,}"
            case "more_calls":
                return f"{self.name} is called {_times(self.bound)} or more"
            case "fewer_calls":
                return f"{self.name} is {f'called {_times(self.bound)} or less' if self.bound else 'never called'}"
            case "order":
                named = f"Tools are called in the order {self.name}" if self.name else "No tool is called"
                return "Tools are called in unusual orders" if self.bound else named
        return f"Answers are in {'other languages' if self.bound else LANGUAGES.get(self.name, self.name)}"


class WatchedBehaviour(msgspec.Struct, frozen=True, array_like=True):
    """The behaviour of a test case in its reference, and in the present block of each size in `BLOCKS`.

    `runs` counts the runs since the reference was large enough. `names` has the tools and orders by feature.
    """

    edition: int = EDITION
    reference: BehaviourTally = BehaviourTally()
    blocks: tuple[BehaviourTally, ...] = (BehaviourTally(),) * len(BLOCKS)
    runs: int = 0
    names: dict[str, str] = {}
    changes: tuple[AnswerChange, ...] = ()

    def after_run(self, played: Sequence[Behaviour], *, cases: int, run: int) -> WatchedBehaviour:
        """Return what is known after a run of so many test cases; `played` are the replays of its first round.

        Changes stay. Without any, a block of 9 runs joins the reference while that may grow.
        """
        known = [behaviour for behaviour in played if behaviour.edition == EDITION]
        if not known:
            return self
        before = self if self.edition == EDITION else WatchedBehaviour()
        tally, names = BehaviourTally.of(known), before.names | names_of(known)
        if before.reference.replays < SMALLEST_REFERENCE:
            return structs.replace(before, reference=before.reference.plus(tally), names=names)
        runs, blocks = before.runs + 1, [block.plus(tally) for block in before.blocks]
        full = [index for index, size in enumerate(BLOCKS) if runs % size == 0]
        changes = {(change.kind, change.name): change for change in before.changes}
        for index in full:
            for change in changes_between(before.reference, blocks[index], names, level(index, cases)):
                key = change.kind, change.name
                changes[key] = structs.replace(change, run=changes[key].run if key in changes else run)
        if JOINING in full and not changes and before.reference.replays < LARGEST_REFERENCE:
            return WatchedBehaviour(reference=before.reference.plus(blocks[JOINING]), names=names)
        return WatchedBehaviour(
            reference=before.reference,
            blocks=tuple(BehaviourTally() if index in full else block for index, block in enumerate(blocks)),
            runs=runs,
            names=names,
            changes=tuple(changes.values())[:CHANGES_MAX],
        )


def level(index: int, cases: int) -> float:
    """Return the chance of a false warning that one comparison of one of `cases` test cases may have.

    `index` is that of the block's size in `BLOCKS`.
    """
    comparisons = -(-MONTH // BLOCKS[index])
    return ALPHA / len(BLOCKS) / comparisons / cases


def tail(recent: ReplayShare, reference: ReplayShare) -> float:
    """Return the chance that as many later replays, or more, have a feature if nothing has changed.

    It is exact, or 1 for a share that is not higher than in the reference.
    """
    having, replays = recent.replays + reference.replays, recent.of + reference.of
    if recent.replays * replays <= having * recent.of:
        return 1.0
    ways = _log_ways(having, recent.replays) + _log_ways(replays - having, recent.of - recent.replays)
    total, chance = 0.0, exp(ways - _log_ways(replays, recent.of))
    for count in range(recent.replays, min(having, recent.of) + 1):
        total += chance
        if chance <= total * 1e-17:
            break
        chance *= (having - count) * (recent.of - count) / ((count + 1) * (replays - having - recent.of + count + 1))
    return total


class _Split(NamedTuple):
    """The replays of both samples that have one feature, as an `AnswerChange` describes them.

    `feature` is the key in a `BehaviourTally`. `value` is the order or the language; "" for a number.
    """

    kind: ChangeKind
    feature: str
    value: str
    bound: int
    reference: ReplayShare
    recent: ReplayShare


def changes_between(
    reference: BehaviourTally, recent: BehaviourTally, names: Mapping[str, str], alpha: float
) -> Iterator[AnswerChange]:
    """Yield the features that significantly more recent replays have; if nothing changed, any with chance `alpha`."""
    splits = [*_splits(reference, recent)]
    for split in splits:
        if tail(split.recent, split.reference) <= alpha / len(splits):
            is_length = split.feature == LENGTH
            before, after = (characters_of(tally.median(LENGTH)) if is_length else 0 for tally in (reference, recent))
            shares = split.reference, split.recent
            yield AnswerChange(split.kind, _name(split, names), split.bound, *shares, before, after)


def _name(split: _Split, names: Mapping[str, str]) -> str:
    if split.kind in ("more_calls", "fewer_calls"):
        return names[split.feature]
    return names[order_key(split.value)] if split.kind == "order" and not split.bound else split.value


def _splits(reference: BehaviourTally, recent: BehaviourTally) -> Iterator[_Split]:
    """Yield the features that are compared. They depend only on both samples together, so the test stays exact."""
    both = reference.plus(recent)
    for feature in sorted(both.counts):
        if feature in (ORDER, LANGUAGE):
            yield from _splits_by_value("order" if feature == ORDER else "language", both, reference, recent)
        else:
            yield from _splits_by_median(feature, both, reference, recent)


def _splits_by_value(
    feature: Literal["order", "language"], both: BehaviourTally, *samples: BehaviourTally
) -> Iterator[_Split]:
    """Yield the most frequent values, and all others together; nothing if there is only one."""
    by_frequency = sorted(both.values(feature).items(), key=lambda pair: (-pair[1], pair[0]))
    values = [value for value, _ in by_frequency]
    groups = [(value, 0, [value]) for value in values[:VALUES_MAX] if len(values) > 1]
    groups += [("", 1, values[VALUES_MAX:])] if values[VALUES_MAX:] else []
    for name, bound, group in groups:
        shares = (
            ReplayShare(sum(sample.values(feature).get(value, 0) for value in group), sample.replays)
            for sample in samples
        )
        yield _Split(feature, feature, name, bound, *shares)


def _splits_by_median(feature: str, both: BehaviourTally, *samples: BehaviourTally) -> Iterator[_Split]:
    """Yield the replays above and those below the median of both samples, where there are any."""
    median, is_length = both.median(feature), feature == LENGTH
    kinds: tuple[tuple[ChangeKind, int], ...] = (
        ("longer" if is_length else "more_calls", 1),
        ("shorter" if is_length else "fewer_calls", -1),
    )
    for kind, sign in kinds:
        shares = [
            ReplayShare(
                sum(count for value, count in sample.numbers(feature) if sign * value > sign * median), sample.replays
            )
            for sample in samples
        ]
        if any(share.replays for share in shares):
            yield _Split(kind, feature, "", characters_of(median) if is_length else median + sign, *shares)


def _times(calls: int) -> str:
    return "once" if calls == 1 else f"{calls} times"


def _log_ways(replays: int, chosen: int) -> float:
    return lgamma(replays + 1) - lgamma(chosen + 1) - lgamma(replays - chosen + 1)
