"""Pairing recorded steps with produced ones: a maximum matching, or the longest common subsequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Pairs = dict[int, int]  # a recorded step's place to a produced step's place


def maximum_matching(adjacent: Sequence[int], rights: int) -> Pairs:
    """A maximum matching of a bipartite graph; `adjacent[left]` has bit r set where an edge leads to r.

    Augmenting paths by breadth-first search over bit sets. What a search saw in vain is never searched
    again: no later path can lead through it. Equal choices fall to the lowest places.
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
            news = adjacent[left] & unseen
            unseen &= ~news
            while news:
                right = _lowest(news)
                news ^= 1 << right
                reached[right] = left
                queue.append(owner[right])
        else:
            alive = unseen
    return pairs


def longest_common_subsequence(lefts: int, rights: int, worth: Callable[[int, int], int]) -> Pairs:
    """The pairs, rising on both sides, whose `worth` adds up to the most; no pair is made of worth 0.

    O(lefts x rights) in time; a byte for each in memory. Equal choices fall to the lowest places.
    """
    best = [0] * (rights + 1)  # of the suffixes that begin at the row below
    choices: list[bytearray] = []
    for left in reversed(range(lefts)):
        row, choice = [0] * (rights + 1), bytearray(rights)
        for right in reversed(range(rights)):
            value = worth(left, right)
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
