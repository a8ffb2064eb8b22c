"""Pairs the members of two sequences: by a maximum matching, or by a longest common subsequence."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from app.values.budget import UNLIMITED, OverBudget, WorkBudget

Pairs = dict[int, int]  # an index on the left to an index on the right
_STEPS_PER_BIT = 2


class Matching:
    """Pairs lefts, which are added one by one, with rights: always a maximum matching of the added lefts.

    A left that is paired stays paired, perhaps with another right. `first` and `then` have bit r set for each right; as
    many as possible of `first` are paired before any of `then`. Each left searches an augmenting path by breadth over
    bit sets. Rights that a search reached in vain are never searched again, because no later path can lead through
    them. Once the budget is used up, a left gets a free right or none, and the matching may no longer be a maximum.
    """

    def __init__(self, first: int, then: int = 0, budget: WorkBudget = UNLIMITED) -> None:
        self.owners: dict[int, int] = {}  # right to left
        self.moved: dict[int, int] = {}  # the owners that the last left changed, that of a free right first
        self._adjacent: dict[int, int] = {}
        self._budget = budget
        self._first = first
        self._free = self._alive = first | then

    @property
    def free(self) -> int:
        """The bits of the rights that no left has."""
        return self._free

    def add(self, left: int, adjacent: int, preferred: int = 0) -> int | None:
        """Add a left that may have each right of `adjacent`; return its right, a free one of `preferred` if it can."""
        self._adjacent[left], self.moved = adjacent, {}
        if candidates := adjacent & preferred & self._free & self._first:
            return self._augment({}, left, lowest_bit(candidates))
        reached: dict[int, int] = {}
        unseen, queue, spare = self._alive, [left], None
        for left in queue:  # grows while it is walked
            free = self._adjacent[left] & self._free
            if candidates := free & self._first:
                return self._augment(reached, left, lowest_bit(candidates))
            spare = spare or ((left, lowest_bit(free)) if free else None)
            unvisited = self._adjacent[left] & unseen & ~self._free
            unseen &= ~unvisited
            if not self._may_go_on(unvisited.bit_count()):
                return self._augment(reached, *spare) if spare else None
            while unvisited:
                right = lowest_bit(unvisited)
                unvisited ^= 1 << right
                reached[right] = left
                queue.append(self.owners[right])
        if spare:
            return self._augment(reached, *spare)
        self._alive = unseen
        return None

    def restore(self, left: int, adjacent: int, moved: Mapping[int, int]) -> None:
        """Add a left as it was added before, when `moved` were the changed owners, of which the first right_of none."""
        self._adjacent[left] = adjacent
        self.owners.update(moved)
        if moved:
            self._free ^= 1 << next(iter(moved))

    def _may_go_on(self, steps: int) -> bool:
        try:
            self._budget.spend(1 + _STEPS_PER_BIT * steps)
        except OverBudget:
            return False
        return True

    def _augment(self, reached: dict[int, int], left: int, right: int) -> int:
        """Give `left` the free `right`, the one that it right_of before to the left that reached that, and so on."""
        self._free ^= 1 << right
        right_of = {self.owners[owned]: owned for owned in reached}
        while True:
            self.owners[right] = self.moved[right] = left
            if left not in right_of:
                return right
            right = right_of[left]
            left = reached[right]


def lowest_bit(bits: int) -> int:
    """Return the number of the lowest bit that is set, from 0; `bits`, a set of numbers, must not be 0."""
    return (bits & -bits).bit_length() - 1


def indexes_of(bits: int) -> Iterator[int]:
    """Yield the places of the bits that are set, the lowest first."""
    while bits:
        yield lowest_bit(bits)
        bits &= bits - 1


def first_accepted(accepted: Mapping[int, int]) -> dict[int, int]:
    """Return, for each step, the first call that it accepts; `accepted` has the steps of each call, in their order."""
    first: dict[int, int] = {}
    seen = 0
    for call, steps in accepted.items():
        first.update(dict.fromkeys(indexes_of(steps & ~seen), call))
        seen |= steps
    return first


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
