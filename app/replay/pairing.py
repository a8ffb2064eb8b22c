"""Which recorded step is held against which produced one, so that as many as can be pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from app.replay.compare import arguments_pass, compare
from app.replay.diff import leaves, similarity
from app.replay.matching import Pairs, longest_common_subsequence, maximum_matching
from app.replay.recording import arguments_of
from app.replay.types import CaseStep, Order, Produced

MOST_COMPARED = 10_000  # pairs among which the most alike are looked for

Label = tuple[str, str]


def pair(steps: Sequence[CaseStep], produced: Sequence[Produced], order: Order) -> Pairs:
    """Places of recorded steps to places of produced ones of the same kind and name.

    Checked steps choose first: under `any`, a maximum matching in which as many as possible pass; under
    `in_order`, the longest common subsequence by name, then the most that pass, then the most alike. The
    others take what is left, which only serves to show it.
    """
    pairing = _Pairing(steps, produced)
    checked = [place for place, step in enumerate(steps) if step.checked]
    if order == "any":
        pairing.match(checked)
    else:
        pairing.align(checked)
    pairing.fill(place for place, step in enumerate(steps) if not step.checked)
    return pairing.pairs


def label(step: CaseStep | Produced) -> Label:
    """What two steps must share to be paired at all."""
    return step.kind, step.name


class _Pairing:
    def __init__(self, steps: Sequence[CaseStep], produced: Sequence[Produced]) -> None:
        self.pairs: Pairs = {}
        self._steps = steps
        self._produced = produced
        self._leaves: dict[int, frozenset[Any]] = {}

    def match(self, lefts: Iterable[int]) -> None:
        """Every edge of a name leads to every call of it, so whatever passes can be filled up to a maximum."""
        rights_by_label = self._free()
        for name, group in _grouped(self._steps, lefts).items():
            rights = rights_by_label[name]
            adjacent = [self._passing(left, rights) for left in group]
            passing = maximum_matching(adjacent, len(rights))
            self.pairs.update({group[left]: rights[right] for left, right in passing.items()})
        self.fill(left for left in lefts if left not in self.pairs)

    def align(self, lefts: Sequence[int]) -> None:
        """Worths are places of one number: pairs count before passes, and passes before likeness."""
        passes = 101 * (len(lefts) + 1)
        length = passes * 2 * (len(lefts) + 1)

        def worth(row: int, right: int) -> int:
            step, produced = self._steps[lefts[row]], self._produced[right]
            if label(step) != label(produced):
                return 0
            return length + passes * self._grade(lefts[row], right) + self._likeness(lefts[row], right)

        found = longest_common_subsequence(len(lefts), len(self._produced), worth)
        self.pairs.update({lefts[row]: right for row, right in found.items()})

    def fill(self, lefts: Iterable[int]) -> None:
        """Pairs what is left by name: first what is still open to judgement, then the most alike."""
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
        return sum(1 << place for place, right in enumerate(rights) if self._grade(left, right) == 2)

    def _grade(self, left: int, right: int) -> int:
        """2 passes, 1 is open, 0 fails. Equal leaves are the quick way to know of equal arguments."""
        step, produced = self._steps[left], self._produced[right]
        if step.kind == "answer":
            return {"passed": 2, "open": 1, "failed": 0}[compare(step, produced).result]
        if step.check.arguments == "exact" and not step.check.ignore_paths:
            return 2 * (self._leaves_of(left) == self._leaves_of(~right))
        return 2 * arguments_pass(step, produced)

    def _likeness(self, left: int, right: int) -> int:
        """0 to 100."""
        if self._steps[left].kind == "answer":
            return 0
        return int(100 * similarity(self._leaves_of(left), self._leaves_of(~right)))

    def _leaves_of(self, place: int) -> frozenset[Any]:
        """The leaves of a recorded step's arguments or, with its place inverted, of a produced one's."""
        if place not in self._leaves:
            step = self._steps[place] if place >= 0 else self._produced[~place]
            self._leaves[place] = leaves(arguments_of(step.arguments))
            hash(self._leaves[place])  # kept by the set: most that differ are told apart by it
        return self._leaves[place]

    def _free(self) -> defaultdict[Label, list[int]]:
        taken = set(self.pairs.values())
        return _grouped(self._produced, (at for at in range(len(self._produced)) if at not in taken))


def _grouped(steps: Sequence[CaseStep] | Sequence[Produced], places: Iterable[int]) -> defaultdict[Label, list[int]]:
    groups: defaultdict[Label, list[int]] = defaultdict(list)
    for place in places:
        groups[label(steps[place])].append(place)
    return groups
