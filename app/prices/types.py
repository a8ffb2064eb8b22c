"""Prices of models, and what calls cost by them. USD, exact."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import msgspec

from app.chat import Tokens

_PER = Decimal(1_000_000)
_ZERO = Decimal(0)

SIZES = (0, 32_000, 100_000, 128_000, 200_000, 256_000, 272_000)
"""Sizes of prompts in tokens, by which the calls of a model are summed: prices of long prompts apply to such a sum.

A call has the greatest of these sizes that its prompt exceeds.
"""


MODALITIES = ("text", "audio", "image")
"""The modalities of tokens that vendors price apart."""
_MODALITY_STEP = 1_000_000  # more than the largest of `SIZES`


def _check(*prices: Decimal | None) -> None:
    if any(price is not None and not (price.is_finite() and price >= 0) for price in prices):
        raise ValueError("a price must be a number of at least 0")


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """USD per 1,000,000 tokens. Cache prices of None equal `input`; a reasoning price of None equals `output`."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    reasoning: Decimal | None = None

    def __post_init__(self) -> None:
        _check(self.input, self.output, self.cache_read, self.cache_write, self.reasoning)


class LongPromptPrices(Prices, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """The prices of a whole call with a prompt of more than `above` tokens."""

    above: Annotated[int, msgspec.Meta(ge=1)]


class ModalityPrices(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """USD per 1,000,000 tokens of sound or of images; the prices of text with `as_text`.

    A cache price of None equals `input`. Other prices of None are unknown.
    """

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    as_text: bool = False

    def __post_init__(self) -> None:
        _check(*self.all)

    @property
    def all(self) -> tuple[Decimal | None, ...]:
        return (self.input, self.output, self.cache_read)


@dataclass(frozen=True, slots=True)
class Cost:
    """USD, exact."""

    prompt: Decimal
    completion: Decimal

    @property
    def total(self) -> Decimal:
        return self.prompt + self.completion

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.prompt + other.prompt, self.completion + other.completion)


FREE = Cost(_ZERO, _ZERO)


def cost_of(prices: Prices, tokens: Tokens) -> Cost:
    """Return the cost of tokens; cached ones and reasoning are parts of them, each at its own price."""
    uncached = max(0, tokens.prompt - tokens.cache_read - tokens.cache_write)
    return Cost(
        _usd(uncached, prices.input)
        + _usd(tokens.cache_read, prices.cache_read, prices.input)
        + _usd(tokens.cache_write, prices.cache_write, prices.input),
        _usd(max(0, tokens.completion - tokens.reasoning), prices.output)
        + _usd(tokens.reasoning, prices.reasoning, prices.output),
    )


def _usd(tokens: int, price: Decimal | None, default: Decimal = _ZERO) -> Decimal:
    return tokens * (default if price is None else price) / _PER


def size_of(prompt_tokens: int) -> int:
    """Return the greatest of `SIZES` that a prompt exceeds, 0 for an empty one."""
    return SIZES[max(0, bisect_left(SIZES, prompt_tokens) - 1)]


def size_of_modality(modality: str, size: int) -> int:
    """Return a number for the tokens of a modality in prompts of one of `SIZES`, for use in the place of a size.

    It is negative, and so it differs from all `SIZES`; `Tariff.cost` reads it.
    """
    return -(size + _MODALITY_STEP * (1 + MODALITIES.index(modality)))


_UNKNOWN = ModalityPrices()


@dataclass(frozen=True, slots=True)
class Tariff:
    """The prices of one model; `source` is its vendor and name in the catalogue, or a note that they were set.

    Without prices of `audio`, the cost of sound is not known. Without prices of `image`, images in prompts cost as much
    as text, and the cost of images in answers is not known. `for_all`: `prices` apply to the tokens of all modalities.
    `by_modality`: the cost of tokens is known only if their modality is.
    """

    source: str
    prices: Prices
    long_prompt: LongPromptPrices | None = None
    audio: ModalityPrices | None = None
    image: ModalityPrices | None = None
    for_all: bool = False
    by_modality: bool = False

    def cost(self, tokens: Tokens, size: int) -> Cost | None:
        """Return the cost of calls with prompts of more than `size` tokens each, None if it is not known.

        `size` is one of `SIZES`, or the `size_of_modality` of one of these if the tokens are of a modality.
        """
        if size < 0:
            step, size = divmod(-size, _MODALITY_STEP)
            return self._cost_of(MODALITIES[step - 1], tokens, size)
        return None if self.by_modality else self._cost_of_text(tokens, size)

    def _cost_of_text(self, tokens: Tokens, size: int) -> Cost:
        long = self.long_prompt
        return cost_of(long if long and size >= long.above else self.prices, tokens)

    def _cost_of(self, modality: str, tokens: Tokens, size: int) -> Cost | None:
        listed = self.audio if modality == "audio" else self.image
        if modality == "text" or self.for_all or (listed and listed.as_text):
            return self._cost_of_text(tokens, size)
        if modality == "image" and listed is None:
            return None if tokens.completion else self._cost_of_text(tokens, size)
        input_price, output, cache_read = (listed or _UNKNOWN).all
        if (tokens.prompt and input_price is None) or (tokens.completion and output is None):
            return None
        return cost_of(Prices(input_price or _ZERO, output or _ZERO, cache_read), tokens)


@dataclass(frozen=True, slots=True, order=True)
class CalledModel:
    """A model and its provider as an instrumentation names them, "" for what it does not name."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of some calls, None if nothing is known of it. The calls of the models in `unpriced` are not in it."""

    cost: Cost | None = None
    unpriced: frozenset[CalledModel] = frozenset()

    @property
    def total_usd(self) -> float | None:
        return float(self.cost.total) if self.cost else None


NOTHING = Bill()


class BillSum:
    """Adds up bills in time linear in their unpriced models: the sum of two bills would copy these each time."""

    def __init__(self) -> None:
        self._cost: Cost | None = None
        self._unpriced: set[CalledModel] = set()

    def add(self, bill: Bill) -> None:
        self._cost = self._cost + bill.cost if self._cost and bill.cost else self._cost or bill.cost
        self._unpriced |= bill.unpriced

    @property
    def bill(self) -> Bill:
        return Bill(self._cost, frozenset(self._unpriced))


def total(bills: Iterable[Bill]) -> Bill:
    """Return the sum of bills."""
    bill_sum = BillSum()
    for bill in bills:
        bill_sum.add(bill)
    return bill_sum.bill
