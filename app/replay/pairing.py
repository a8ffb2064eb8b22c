"""Pairs recorded steps with produced ones, so that as many as possible pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from app.replay.compare import arguments_of, arguments_pass, compare, leaves, similarity
from app.replay.types import CaseStep, Order, ProducedStep

Pairs = dict[int, int]  # an index on the left to an index on the right


def maximum_matching(adjacent: Sequence[int], rights: int) -> Pairs:
    """Return a maximum matching of a bipartite graph; `adjacent[left]` has bit r set where an edge leads to r.

    Finds augmenting paths by breadth-first search over bit sets. What a search reached in vain is never searched
    again, for no later path can lead through it. Of equal choices the lowest index is taken.
    """
    pairs: Pairs = {}
    owner: dict[int, int] = {}
    alive = (1 << rights) - 1
    free = alive
    for start in range(len(adjacent)):
        reached: dict[int, int] = {}
        unseen, queue = alive, [start]
        for left in queue:  # grows while it is walked
            if found := adjacent[left] & free & alive:
                last = _lowest(found)
                reached[last] = left
                free ^= 1 << last
                _augment(pairs, owner, reached, start, last)
                break
            unvisited = adjacent[left] & unseen
            unseen &= ~unvisited
            while unvisited:
                right = _lowest(unvisited)
                unvisited ^= 1 << right
                reached[right] = left
                queue.append(owner[right])
        else:
            alive = unseen
    return pairs


def longest_common_subsequence(lefts: int, rights: int, weight: Callable[[int, int], int]) -> Pairs:
    """Return the pairs, rising on both sides, with the largest sum of `weight`; none has the weight 0.

    O(lefts x rights) in time; a byte for each in memory. Of equal choices the lowest index is taken.
    """
    best = [0] * (rights + 1)  # of the suffixes that begin at the row below
    choices: list[bytearray] = []
    for left in reversed(range(lefts)):
        row, choice = [0] * (rights + 1), bytearray(rights)
        for right in reversed(range(rights)):
            value = weight(left, right)
            paired = best[right + 1] + value if value else -1
            row[right], choice[right] = max((paired, 2), (row[right + 1], 1), (best[right], 0))
        best = row
        choices.append(choice)
    return _follow(choices[::-1], lefts, rights)


def _follow(choices: Sequence[bytearray], lefts: int, rights: int) -> Pairs:
    pairs: Pairs = {}
    left = right = 0
    while left < lefts and right < rights:
        match choices[left][right]:
            case 2:
                pairs[left] = right
                left, right = left + 1, right + 1
            case 1:
                right += 1
            case _:
                left += 1
    return pairs


def _augment(pairs: Pairs, owner: Pairs, reached: Pairs, start: int, last: int) -> None:
    right: int | None = last
    while right is not None:
        left = reached[right]
        before = pairs.get(left)
        pairs[left], owner[right] = right, left
        right = None if left == start else before


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


MOST_COMPARED = 10_000  # pairs among which the most alike are looked for

Label = tuple[str, str]


def pair(steps: Sequence[CaseStep], produced: Sequence[ProducedStep], order: Order) -> Pairs:
    """Return indexes of recorded steps with indexes of produced ones of the same kind and name.

    Checked steps are paired first: under `any`, by a maximum matching in which as many as possible pass; under
    `in_order`, by the longest common subsequence by name, then the most that pass, then the most alike. The others
    are paired with the remaining steps, only to show them.
    """
    pairing = _Pairing(steps, produced)
    checked = [index for index, step in enumerate(steps) if step.checked]
    if order == "any":
        pairing.match(checked)
    else:
        pairing.align(checked)
    pairing.fill(index for index, step in enumerate(steps) if not step.checked)
    return pairing.pairs


def label(step: CaseStep | ProducedStep) -> Label:
    """Return what two steps must share to be paired at all."""
    return step.kind, step.name if step.kind == "tool_call" else ""


class _Pairing:
    def __init__(self, steps: Sequence[CaseStep], produced: Sequence[ProducedStep]) -> None:
        self.pairs: Pairs = {}
        self._steps = steps
        self._produced = produced
        self._leaves: dict[int, frozenset[Any]] = {}

    def match(self, lefts: Iterable[int]) -> None:
        """Pair as many as pass, then fill up: each step may have any call of its name, so that stays a maximum."""
        rights_by_label = self._free()
        for name, group in _grouped(self._steps, lefts).items():
            rights = rights_by_label[name]
            adjacent = [self._passing(left, rights) for left in group]
            passing = maximum_matching(adjacent, len(rights))
            self.pairs.update({group[left]: rights[right] for left, right in passing.items()})
        self.fill(left for left in lefts if left not in self.pairs)

    def align(self, lefts: Sequence[int]) -> None:
        """Align by a weight in which a pair outweighs all passes, and a pass all likeness."""
        passes = 101 * (len(lefts) + 1)
        length = passes * 2 * (len(lefts) + 1)

        def weight(row: int, right: int) -> int:
            step, produced = self._steps[lefts[row]], self._produced[right]
            if label(step) != label(produced):
                return 0
            return length + passes * self._grade(lefts[row], right) + self._likeness(lefts[row], right)

        found = longest_common_subsequence(len(lefts), len(self._produced), weight)
        self.pairs.update({lefts[row]: right for row, right in found.items()})

    def fill(self, lefts: Iterable[int]) -> None:
        """Pair what is left by name: first what still needs review, then the most alike."""
        rights_by_label = self._free()
        for name, group in _grouped(self._steps, lefts).items():
            for left, right in self._most_alike_first(group, rights_by_label[name]):
                if left not in self.pairs and right in rights_by_label[name]:
                    self.pairs[left] = right
                    rights_by_label[name].remove(right)

    def _most_alike_first(self, lefts: Sequence[int], rights: Sequence[int]) -> Iterable[tuple[int, int]]:
        if len(lefts) * len(rights) > MOST_COMPARED:
            return zip(lefts, list(rights), strict=False)
        return sorted(
            ((left, right) for left in lefts for right in rights),
            key=lambda pair: (-self._grade(*pair), -self._likeness(*pair)),
        )

    def _passing(self, left: int, rights: Sequence[int]) -> int:
        return sum(1 << index for index, right in enumerate(rights) if self._grade(left, right) == 2)

    def _grade(self, left: int, right: int) -> int:
        """2 passes, 1 needs review, 0 fails. Equal leaves are a quick test of equal arguments."""
        step, produced = self._steps[left], self._produced[right]
        if step.kind == "answer" or produced.kind == "answer":
            return {"passed": 2, "needs_review": 1, "failed": 0}[compare(step, produced).result]
        if step.check.arguments == "exact" and not step.check.ignore_paths:
            return 2 * (self._leaves_of(left) == self._leaves_of(~right))
        return 2 * arguments_pass(step, produced)

    def _likeness(self, left: int, right: int) -> int:
        """0 to 100."""
        if self._steps[left].kind == "answer":
            return 0
        return int(100 * similarity(self._leaves_of(left), self._leaves_of(~right)))

    def _leaves_of(self, index: int) -> frozenset[Any]:
        """Return the leaves of a recorded call's arguments or, with its index inverted, of a produced one's."""
        if index not in self._leaves:
            step = self._steps[index] if index >= 0 else self._produced[~index]
            self._leaves[index] = leaves(arguments_of(step.arguments if step.kind == "tool_call" else None))
            hash(self._leaves[index])  # the set keeps its hash, by which most that differ are told apart
        return self._leaves[index]

    def _free(self) -> defaultdict[Label, list[int]]:
        taken = set(self.pairs.values())
        return _grouped(self._produced, (at for at in range(len(self._produced)) if at not in taken))


def _grouped(
    steps: Sequence[CaseStep] | Sequence[ProducedStep], indexes: Iterable[int]
) -> defaultdict[Label, list[int]]:
    groups: defaultdict[Label, list[int]] = defaultdict(list)
    for index in indexes:
        groups[label(steps[index])].append(index)
    return groups
