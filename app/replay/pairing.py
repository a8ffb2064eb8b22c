"""Pairs recorded steps with produced ones: equal calls first, then the most alike ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from app.replay.call_arguments import arguments_of
from app.replay.case_types import CaseStep, Effect, Order
from app.replay.checks import Checker
from app.replay.fingerprints import leaves, similarity, traits
from app.replay.matching import Matching, Pairs, first_accepted, indexes_of, longest_common_subsequence, lowest_bit
from app.replay.result_types import ProducedStep
from app.values.budget import OverBudget

MOST_COMPARED = 10_000  # pairs among which the most alike are looked for
_IN_COMMON = 16  # leaves that a step compares

Label = tuple[str, str, Effect | None]
NOTHING: frozenset[int] = frozenset()


def pair(
    steps: Sequence[CaseStep],
    produced: Sequence[ProducedStep],
    order: Order,
    checker: Checker,
    accepted: Mapping[int, int],
    optional: frozenset[int] = NOTHING,
    failures: Mapping[int, int] = {},
) -> Pairs:
    """Return indexes of recorded steps with indexes of produced ones of the same kind, name and effect.

    `accepted` has, for the index of each produced call, bit s where the s-th step accepts it. Checked steps are paired
    first: under `in_order`, by the longest common subsequence by name, then the most that pass, then the most alike.
    Otherwise as many calls as possible are paired with steps that accept them, equal ones first, then the most alike;
    then the most alike of the others, unless the step is `optional`. Answers are paired so that as many as
    possible pass. The other steps are paired with the remaining ones, only to show them.

    `failures` are the produced calls that a recorded failure has answered, with its step. Such a call is paired with
    that step if a further call of the tool may be meant as the one that succeeded, or if it is a write that was made
    again without another write in between.
    """
    pairing = _Pairing(steps, produced, checker)
    checked = [index for index, step in enumerate(steps) if step.checked]
    required = [index for index in checked if index not in optional]
    others = [index for index, step in enumerate(steps) if index in optional or not step.checked]
    if order == "in_order":
        pairing.align(required)
        if pairing.pair_failures(failures, required):
            pairing.align(required)
    else:
        pairing.pair_accepted(accepted, required)
        pairing.pair_failures(failures, required)
        pairing.pair_equal(accepted, others)
        pairing.pair_answers(index for index in checked if steps[index].kind == "answer")
        pairing.pair_rest(index for index in required if index not in pairing.pairs)
    if order == "effects":
        pairing.move_late_reads(accepted, required)
    pairing.pair_accepted(accepted, others)
    pairing.pair_rest(index for index in others if not steps[index].checked and index not in pairing.pairs)
    return pairing.pairs


class _Pairing:
    def __init__(self, steps: Sequence[CaseStep], produced: Sequence[ProducedStep], checker: Checker) -> None:
        self.pairs: Pairs = {}
        self._steps = steps
        self._produced = produced
        self._checker = checker
        self._budget = checker.budget
        self._traits: dict[int, frozenset[bytes]] = {}
        self._last_answers = _last_answers(steps, produced)

    def pair_accepted(self, accepted: Mapping[int, int], lefts: Sequence[int]) -> None:
        """Pair as many steps as possible with calls that they accept: first equal ones, then the most alike."""
        taken = set(self.pairs.values())
        free = sum(1 << left for left in lefts if left not in self.pairs)
        rights = [right for right, bits in accepted.items() if bits & free and right not in taken]
        equal = self._equal(rights, lefts)
        closest = {
            right: (101, equal[right]) if right in equal else self._closest(right, accepted[right] & free)
            for right in rights
            if len(rights) > 1
        }
        matching = Matching(free, 0, self._budget)
        for right in sorted(rights, key=lambda right: (-closest[right][0] if closest else 0, right)):
            matching.add(right, accepted[right] & free, 1 << closest[right][1] if closest else 0)
        self.pairs.update(matching.owners)

    def pair_failures(self, failures: Mapping[int, int], lefts: Sequence[int]) -> bool:
        """Pair calls that a recorded failure has answered with it, if a later call of the tool is not paired yet.

        A write that was recorded again without another write in between is paired with its failure in any case: nothing
        that the draft did before can have let it succeed. Return True if one of `lefts` lost its call by that.
        """
        moved = [left for left in lefts if self.pairs.get(left) in failures]
        free = self._free() if moved else {}
        writes = [left for left in lefts if self._is_write(left)] if moved else []
        for left in moved:
            right = self.pairs[left]
            later = free[self._label(left)]
            has_later = bool(later) and later[-1] > right
            between = bisect_left(writes, left) - bisect_right(writes, failures[right])
            if has_later or (self._is_write(left) and not between):
                del self.pairs[left]
                self.pairs[failures[right]] = right
            if has_later:
                later.pop()
        return any(left not in self.pairs for left in moved)

    def move_late_reads(self, accepted: Mapping[int, int], lefts: Sequence[int]) -> None:
        """Pair each read that came after a write which follows it in the recording with the first call it accepts.

        Only a reader may accept that call. If the step accepts another one before the write, the read was in time.
        """
        first, taken = first_accepted(accepted), {*self.pairs.values()}
        late = [left for left in lefts if first.get(left, len(self._produced)) < self.pairs.get(left, -1)]
        writes = {left for left in lefts if self._is_write(left)} if late else set[int]()
        try:
            for left in (left for left in late if left not in writes):
                early, right = first[left], self.pairs[left]
                self._budget.spend(len(writes) + right - early)
                after = [self.pairs.get(write, -1) for write in writes if self._follows(write, left)]
                end = min((write for write in after if early < write < right), default=early)
                calls = [call for call in range(early, end) if accepted.get(call, 0) >> left & 1]
                if calls and early not in taken and all(self._grade(left, call) < 2 for call in calls):
                    self.pairs[left] = early
                    taken.add(early)
        except OverBudget:
            return  # no comparison passes then

    def _is_write(self, left: int) -> bool:
        return self._checker.effect_of(self._steps[left]) == "write"

    def _follows(self, left: int, other: int) -> bool:
        """Return whether a recorded call comes after another one, in a later message of the model."""
        step, before = self._steps[left], self._steps[other]
        is_together = step.kind == before.kind == "tool_call" and step.batch and step.batch == before.batch
        return left > other and not is_together

    def pair_equal(self, accepted: Mapping[int, int], lefts: Sequence[int]) -> None:
        """Pair steps with accepted calls of equal arguments."""
        taken = set(self.pairs.values())
        equal = self._equal([right for right, bits in accepted.items() if bits and right not in taken], lefts)
        self.pairs.update({left: right for right, left in equal.items()})

    def _equal(self, rights: Sequence[int], lefts: Sequence[int]) -> dict[int, int]:
        """Return produced calls with steps of equal arguments, in their order."""
        try:
            waiting: defaultdict[tuple[str, frozenset[bytes]], list[int]] = defaultdict(list)
            for right in sorted(rights, reverse=True):
                waiting[self._key(right, produced=True)].append(right)
            unpaired = (left for left in lefts if left not in self.pairs and self._steps[left].kind == "tool_call")
            return {group.pop(): left for left in unpaired if (group := waiting.get(self._key(left)))}
        except OverBudget:
            return {}

    def _closest(self, right: int, lefts: int) -> tuple[int, int]:
        """Return the largest likeness of a produced call with one of several steps, as bits, and that step."""
        try:
            return max(
                ((self._likeness(left, right), left) for left in indexes_of(lefts)),
                key=lambda candidate: (candidate[0], -candidate[1]),
            )
        except OverBudget:
            return 0, lowest_bit(lefts)

    def pair_answers(self, answers: Iterable[int]) -> None:
        """Pair as many recorded answers as pass with the answers that were produced."""
        rights = [right for right, produced in enumerate(self._produced) if produced.kind == "answer"]
        matching = Matching((1 << len(rights)) - 1)
        for left in answers:
            label = self._label(left)
            alike = [n for n, right in enumerate(rights) if self._label(right, produced=True) == label]
            matching.add(left, sum(1 << n for n in alike if self._grade(left, rights[n]) == 2))
        self.pairs.update({left: rights[n] for n, left in matching.owners.items()})

    def align(self, lefts: Sequence[int]) -> None:
        """Align with the calls that no other step has, by a weight in which a pair outweighs all passes, and a pass all
        likeness.
        """
        aligned = {*lefts}
        self.pairs = {left: right for left, right in self.pairs.items() if left not in aligned}
        taken = {*self.pairs.values()}
        passes = 101 * (len(lefts) + 1)
        length = passes * 2 * (len(lefts) + 1)

        def weight(row: int, right: int) -> int:
            self._budget.spend(1)
            if right in taken or self._label(lefts[row]) != self._label(right, produced=True):
                return 0
            return length + passes * self._grade(lefts[row], right) + self._likeness(lefts[row], right)

        try:
            rights = longest_common_subsequence(len(lefts), len(self._produced), weight)
        except OverBudget:
            self._pair_in_order(lefts)
        else:
            self.pairs.update({lefts[row]: right for row, right in rights.items()})

    def _pair_in_order(self, lefts: Sequence[int]) -> None:
        """Pair each step with the next produced one of its name."""
        rights_by_label = self._free()
        last = -1
        for left in lefts:
            rights = rights_by_label[self._label(left)]
            if (place := bisect_right(rights, last)) < len(rights):
                self.pairs[left] = last = rights[place]

    def pair_rest(self, lefts: Iterable[int]) -> None:
        """Pair what is left by name: first what still needs review, then the most alike."""
        rights_by_label = self._free()
        lefts_by_label: defaultdict[Label, list[int]] = defaultdict(list)
        for left in lefts:
            lefts_by_label[self._label(left)].append(left)
        for name, group in lefts_by_label.items():
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
        """2 passes, 1 needs review, 0 fails. Of very many pairs only equal arguments pass. Raises `OverBudget`."""
        step = self._steps[left]
        is_large = len(self._steps) * len(self._produced) > MOST_COMPARED
        if is_large and step.kind == "tool_call" and self._checker.is_plain(step):
            self._budget.spend(1 + len(self._traits_of(left)) // _IN_COMMON)
            return 2 * (self._traits_of(left) == self._traits_of(~right))
        comparison = self._checker.compare(self._steps[left], self._produced[right])
        return {"passed": 2, "needs_review": 1, "failed": 0}[comparison.result]

    def _likeness(self, left: int, right: int) -> int:
        """0 to 100. Raises `OverBudget`."""
        if self._steps[left].kind == "answer":
            return 0
        first, other = self._traits_of(left), self._traits_of(~right)
        self._budget.spend(1 + min(len(first), len(other)) // _IN_COMMON)
        return int(100 * similarity(first, other))

    def _traits_of(self, index: int) -> frozenset[bytes]:
        """Return the traits of a recorded call's arguments or, with its index inverted, of a produced one's.

        Raises `OverBudget`.
        """
        if index not in self._traits:
            step = self._steps[index] if index >= 0 else self._produced[~index]
            arguments = arguments_of(step.arguments if step.kind == "tool_call" else None)
            self._traits[index] = traits(arguments, self._budget)
        return self._traits[index]

    def _key(self, index: int, *, produced: bool = False) -> tuple[str, frozenset[bytes]]:
        """Return what only calls of one tool with equal arguments have in common. Raises `OverBudget`."""
        step = self._produced[index] if produced else self._steps[index]
        assert step.kind == "tool_call"  # noqa: S101 - answers have no arguments
        return step.name, leaves(arguments_of(step.arguments), self._budget)

    def _label(self, index: int, *, produced: bool = False) -> Label:
        """Return what two steps must share to be paired at all.

        If a program has several answers, its user reads the last one, which can only be as the last recorded one.
        """
        step: CaseStep | ProducedStep = self._produced[index] if produced else self._steps[index]
        if step.kind == "tool_call":
            return step.kind, step.name, self._checker.effect_of(step)
        return step.kind, "last" if (~index if produced else index) in self._last_answers else "", None

    def _free(self) -> defaultdict[Label, list[int]]:
        taken = set(self.pairs.values())
        groups: defaultdict[Label, list[int]] = defaultdict(list)
        for right in range(len(self._produced)):
            if right not in taken:
                groups[self._label(right, produced=True)].append(right)
        return groups


def _last_answers(steps: Sequence[CaseStep], produced: Sequence[ProducedStep]) -> frozenset[int]:
    """Return the indexes of the last answers, the produced one inverted; none if fewer than two were produced."""
    recorded = [index for index, step in enumerate(steps) if step.kind == "answer"]
    given = [~index for index, step in enumerate(produced) if step.kind == "answer"]
    return frozenset((*recorded[-1:], given[-1])) if len(given) > 1 else NOTHING
