"""Pairs recorded steps with produced ones, so that as many as possible pass."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence

from app.replay.checks import Checker
from app.replay.compare import arguments_of
from app.replay.findings import ProducedStep
from app.replay.fingerprints import leaves, similarity
from app.replay.matching import Matching, Pairs, longest_common_subsequence
from app.replay.types import CaseStep, Order
from app.values.budget import OverBudget

MOST_COMPARED = 10_000  # pairs among which the most alike are looked for
_IN_COMMON = 16  # leaves that a step compares

Label = tuple[str, str]


def pair(
    steps: Sequence[CaseStep], produced: Sequence[ProducedStep], order: Order, checker: Checker, matched: Pairs
) -> Pairs:
    """Return indexes of recorded steps with indexes of produced ones of the same kind and name.

    `matched` are the calls that the recording was asked for, as it paired them. Checked steps are paired first: under
    `in_order`, by the longest common subsequence by name, then the most that pass, then the most alike; otherwise as
    they are matched, and so that as many answers as possible pass. The others are paired with the remaining steps,
    only to show them.
    """
    pairing = _Pairing(steps, produced, checker)
    checked = [index for index, step in enumerate(steps) if step.checked]
    if order == "in_order":
        pairing.align(checked)
    else:
        pairing.pairs.update(matched)
        pairing.match(index for index in checked if steps[index].kind == "answer")
        pairing.fill(index for index in checked if index not in pairing.pairs)
    pairing.fill(index for index, step in enumerate(steps) if not step.checked and index not in pairing.pairs)
    return pairing.pairs


def label(step: CaseStep | ProducedStep) -> Label:
    """Return what two steps must share to be paired at all."""
    return step.kind, step.name if step.kind == "tool_call" else ""


class _Pairing:
    def __init__(self, steps: Sequence[CaseStep], produced: Sequence[ProducedStep], checker: Checker) -> None:
        self.pairs: Pairs = {}
        self._steps = steps
        self._produced = produced
        self._checker = checker
        self._budget = checker.budget
        self._leaves: dict[int, frozenset[bytes]] = {}

    def match(self, answers: Iterable[int]) -> None:
        """Pair as many recorded answers as pass with the answers that were produced."""
        rights = [right for right, produced in enumerate(self._produced) if produced.kind == "answer"]
        matching = Matching((1 << len(rights)) - 1)
        for left in answers:
            matching.add(left, sum(1 << n for n, right in enumerate(rights) if self._grade(left, right) == 2))
        self.pairs.update({left: rights[n] for n, left in matching.owners.items()})

    def align(self, lefts: Sequence[int]) -> None:
        """Align by a weight in which a pair outweighs all passes, and a pass all likeness."""
        passes = 101 * (len(lefts) + 1)
        length = passes * 2 * (len(lefts) + 1)

        def weight(row: int, right: int) -> int:
            self._budget.spend(1)
            step, produced = self._steps[lefts[row]], self._produced[right]
            if label(step) != label(produced):
                return 0
            return length + passes * self._grade(lefts[row], right) + self._likeness(lefts[row], right)

        try:
            found = longest_common_subsequence(len(lefts), len(self._produced), weight)
        except OverBudget:
            self._take_in_turn(lefts)
        else:
            self.pairs.update({lefts[row]: right for row, right in found.items()})

    def _take_in_turn(self, lefts: Sequence[int]) -> None:
        """Pair each step with the next produced one of its name."""
        rights_by_label = self._free()
        last = -1
        for left in lefts:
            rights = rights_by_label[label(self._steps[left])]
            if (place := bisect_right(rights, last)) < len(rights):
                self.pairs[left] = last = rights[place]

    def fill(self, lefts: Iterable[int]) -> None:
        """Pair what is left by name: first what still needs review, then the most alike."""
        rights_by_label = self._free()
        for name, group in _grouped(self._steps, lefts).items():
            free = set(rights_by_label[name])
            for left, right in self._most_alike_first(group, rights_by_label[name]):
                if left not in self.pairs and right in free:
                    self.pairs[left] = right
                    free.remove(right)

    def _most_alike_first(self, lefts: Sequence[int], rights: Sequence[int]) -> Iterable[tuple[int, int]]:
        if len(lefts) * len(rights) > MOST_COMPARED:
            return zip(lefts, rights, strict=False)
        try:
            self._budget.spend(len(lefts) * len(rights))
            return sorted(
                ((left, right) for left in lefts for right in rights),
                key=lambda pair: (-self._grade(*pair), -self._likeness(*pair)),
            )
        except OverBudget:
            return zip(lefts, rights, strict=False)

    def _grade(self, left: int, right: int) -> int:
        """2 passes, 1 needs review, 0 fails. Equal leaves are a quick test of equal arguments. Raises `OverBudget`."""
        step, produced = self._steps[left], self._produced[right]
        if step.kind == "tool_call" and self._checker.is_plain(step):
            self._budget.spend(1 + len(self._leaves_of(left)) // _IN_COMMON)
            return 2 * (self._leaves_of(left) == self._leaves_of(~right))
        comparison = self._checker.compare(step, produced)
        return 1 if comparison.task else {"passed": 2, "needs_review": 1, "failed": 0}[comparison.result]

    def _likeness(self, left: int, right: int) -> int:
        """0 to 100. Raises `OverBudget`."""
        if self._steps[left].kind == "answer":
            return 0
        one, other = self._leaves_of(left), self._leaves_of(~right)
        self._budget.spend(1 + min(len(one), len(other)) // _IN_COMMON)
        return int(100 * similarity(one, other))

    def _leaves_of(self, index: int) -> frozenset[bytes]:
        """Return the leaves of a recorded call's arguments or, with its index inverted, of a produced one's.

        Raises `OverBudget`.
        """
        if index not in self._leaves:
            step = self._steps[index] if index >= 0 else self._produced[~index]
            arguments = arguments_of(step.arguments if step.kind == "tool_call" else None)
            self._leaves[index] = leaves(arguments, self._budget)
            hash(self._leaves[index])  # the set keeps its hash, which distinguishes most different ones
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
