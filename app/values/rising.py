"""The longest rising subsequence, by which patience diff orders the elements that occur once in each text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def longest_rising(numbers: Sequence[int]) -> list[int]:
    """Return the indexes of a longest subsequence that rises strictly; linear but for a logarithm."""
    lowest: list[int] = []  # the lowest last number of a rising subsequence of each length
    last: list[int] = []  # its index in `numbers`
    before: list[int] = []  # by index: the index of the number before it, -1 for none
    for index, number in enumerate(numbers):
        length = bisect_left(lowest, number)
        before.append(last[length - 1] if length else -1)
        lowest[length : length + 1] = [number]
        last[length : length + 1] = [index]
    rising: list[int] = []
    at = last[-1] if last else -1
    while at >= 0:
        rising.append(at)
        at = before[at]
    return rising[::-1]
