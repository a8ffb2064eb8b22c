"""Fingerprints of what replays answered, and the counts of their features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b

import msgspec

EDITION = 1
"""The edition of fingerprints that this release makes. Replays with another one are not compared."""
ORDERS_COUNTED, TOOLS_COUNTED = 256, 64
"""Orders of calls, and tools, that are counted apart: their texts choose a place, so that the counts are bounded."""
CALLS_MAX = 9
"""Calls of a tool in a replay that are counted apart."""
NAME_MAX = 80
"""Characters that are kept of the name of a tool or an order."""
LENGTH, ORDER, LANGUAGE = "length", "order", "language"


class Behaviour(msgspec.Struct, frozen=True, array_like=True):
    """What one replay answered, without its texts; equal for equal answers.

    `characters` is the length of all answers together. `tools` are the called tools in alphabetical order, each with
    its number of calls. `order` has them in the order of their first calls; tools that the model called together are
    one entry. `language` is an ISO 639-1 code, "" for an unknown one. A change of their meaning needs a new `EDITION`.
    """

    edition: int
    characters: int
    tools: tuple[tuple[str, int], ...] = ()
    order: tuple[str, ...] = ()
    language: str = ""

    @property
    def order_text(self) -> str:
        return " → ".join(self.order)

    def features(self) -> Iterator[tuple[str, str]]:
        """Yield the features, each with its value; tools without a call have none."""
        yield LENGTH, str(length_class(self.characters))
        yield ORDER, _place(self.order_text, ORDERS_COUNTED)
        yield LANGUAGE, self.language
        calls: dict[str, int] = {}
        for tool, count in self.tools:
            _add(calls, _calls_of(tool), count)
        for feature, count in calls.items():
            yield feature, str(min(count, CALLS_MAX))


class BehaviourTally(msgspec.Struct, frozen=True, array_like=True):
    """Replays, counted by the values of each feature: {feature: {value: replays}}."""

    replays: int = 0
    counts: dict[str, dict[str, int]] = {}

    @classmethod
    def of(cls, played: Sequence[Behaviour]) -> BehaviourTally:
        counts: dict[str, dict[str, int]] = {}
        for behaviour in played:
            for feature, value in behaviour.features():
                _add(counts.setdefault(feature, {}), value, 1)
        return cls(len(played), counts)

    def plus(self, other: BehaviourTally) -> BehaviourTally:
        """Return the counts of both tallies together. A replay that is in both counts twice."""
        counts = {feature: dict(values) for feature, values in self.counts.items()}
        for feature, values in other.counts.items():
            for value, replays in values.items():
                _add(counts.setdefault(feature, {}), value, replays)
        return BehaviourTally(self.replays + other.replays, counts)

    def values(self, feature: str) -> Mapping[str, int]:
        """Return the numbers of replays by the value of a feature."""
        return self.counts.get(feature, {})

    def numbers(self, feature: str) -> list[tuple[int, int]]:
        """Return the numbers of replays by a value that is a number, in ascending order.

        Replays that did not call a tool count as its value 0.
        """
        values = {int(value): count for value, count in self.values(feature).items()}
        if feature != LENGTH and (without := self.replays - sum(values.values())):
            values[0] = without
        return sorted(values.items())

    def median(self, feature: str) -> int:
        """Return the median of a feature with numbers, the lower one of two; 0 without replays."""
        left = self.replays / 2
        for value, count in self.numbers(feature):
            left -= count
            if left <= 0:
                return value
        return 0


def names_of(played: Iterable[Behaviour]) -> dict[str, str]:
    """Return the tools by feature, and the orders by `order_key`."""
    names: dict[str, str] = {}
    for behaviour in played:
        order = behaviour.order_text
        names[order_key(_place(order, ORDERS_COUNTED))] = order[:NAME_MAX]
        names.update({_calls_of(tool): tool[:NAME_MAX] for tool, _ in behaviour.tools})
    return names


def order_key(value: str) -> str:
    """Return the key of an order of calls in a mapping that also has the features of tools."""
    return f"{ORDER} {value}"


def length_class(characters: int) -> int:
    """Return the class of a length, of which 8 double it; exact on every machine. The class of 0 is -1."""
    return (characters**8).bit_length() - 1


def characters_of(length: int) -> int:
    """Return a length in the middle of a class, with two digits, as a reader needs it."""
    return int(float(f"{2 ** ((length + 0.5) / 8):.2g}")) if length >= 0 else 0


def _add(counts: dict[str, int], key: str, count: int) -> None:
    counts[key] = counts.get(key, 0) + count


def _calls_of(tool: str) -> str:
    return f"calls {_place(tool, TOOLS_COUNTED)}"


@lru_cache(1 << 10)
def _place(text: str, places: int) -> str:
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return str(int.from_bytes(digest) % places)
