"""The calls of a turn's models, which facts add up and to which prices are applied."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from app.prices.book import PriceBook
from app.prices.types import Bill, CalledModel
from app.sessions.types import Usage

MAX_NAMES = 100
"""Models, versions and tools kept of a turn: its facts are read and written again with each batch that adds to it."""


class ModelCalls(msgspec.Struct, frozen=True, array_like=True):
    """The calls of one model with prompts of one size, and their usage, to which a price is applied.

    `model` is the one that answered; of a turn's models beyond `MAX_NAMES` the names are not kept.
    """

    provider: str
    model: str
    size: int
    calls: int
    usage: Usage

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.provider, self.model, self.size)

    def bill(self, prices: PriceBook) -> Bill:
        return prices.bill(CalledModel(self.provider, self.model), self.usage.tokens, self.size)


def summed(calls: Iterable[ModelCalls]) -> tuple[ModelCalls, ...]:
    """Return the sums by model and size, in their order; those beyond `MAX_NAMES` are one sum without a name.

    A model that is left out once stays so, as those before it do not leave: the order of batches does not matter.
    """
    sums: dict[tuple[str, str, int], ModelCalls] = {}
    for model_calls in calls:
        known = sums.get(key := model_calls.key)
        sums[key] = _plus(known, model_calls) if known else model_calls
    if len(sums) > MAX_NAMES:
        for key in sorted(sums)[MAX_NAMES:]:
            sums[_UNNAMED.key] = _plus(sums.get(_UNNAMED.key, _UNNAMED), sums.pop(key))
    return tuple(sums[key] for key in sorted(sums))


_UNNAMED = ModelCalls("", "", 0, 0, Usage())


def _plus(first: ModelCalls, other: ModelCalls) -> ModelCalls:
    return ModelCalls(*first.key, first.calls + other.calls, first.usage + other.usage)


def difference(before: Iterable[ModelCalls], after: Iterable[ModelCalls]) -> tuple[ModelCalls, ...]:
    """Return what is to be added to sums with the calls of `before` so that they have those of `after`."""
    removed = (ModelCalls(*calls.key, -calls.calls, Usage() - calls.usage) for calls in before)
    added = summed((*after, *removed))
    return tuple(calls for calls in added if calls.calls or calls.usage != Usage())
