"""Pairs two sequences: by a maximum matching, or by the longest common subsequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
