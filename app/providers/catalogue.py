"""Reads the catalogue of the vendors' models, their abilities and prices, from `catalogue.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from app.chat import Tokens
from app.errors import Invalid
from app.providers.vendors import Vendor

SHIPPED = Path(__file__).with_name("catalogue.toml")

Capability = Literal["image", "pdf", "tools", "json", "json_schema", "reasoning"]
Count = Annotated[int, msgspec.Meta(ge=1)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]

_PER = Decimal(1_000_000)
_FREE = Decimal(0)


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """USD per 1,000,000 tokens. The caches cost as much as `input` for None, and reasoning as much as `output`."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    reasoning: Decimal | None = None

    def __post_init__(self) -> None:
        given = (self.input, self.output, self.cache_read, self.cache_write, self.reasoning)
        if any(price is not None and not (price.is_finite() and price >= 0) for price in given):
            raise ValueError("a price must be a number of at least 0")


class LongPromptPrices(Prices, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """The prices of a whole call whose prompt has more than `above` tokens."""

    above: Count


class ModelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One model. A temperature range of one number means that the model takes no other."""

    vendor: Vendor
    name: Name
    description: str
    context_tokens_max: Count
    completion_tokens_max: Count
    prices: Prices
    long_prompt: LongPromptPrices | None = None
    temperature: tuple[float, float] = (0.0, 2.0)
    capabilities: frozenset[Capability] = frozenset()
    default: bool = False
    prices_as_of: date | None = None

    def __post_init__(self) -> None:
        if self.temperature[0] > self.temperature[1]:
            raise ValueError("temperature must be [lowest, highest]")


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    prices_as_of: date
    models: tuple[ModelEntry, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """USD, exact."""

    prompt: Decimal
    completion: Decimal

    @property
    def total(self) -> Decimal:
        return self.prompt + self.completion


Catalogue = Mapping[tuple[str, str], ModelEntry]
"""The entries by (vendor, name), in the order of their files."""


def load(extension: Path | None = None) -> Catalogue:
    """Read the shipped catalogue; entries of `extension`, a file of the same form, are added or replace shipped ones.

    Raises `Invalid`, naming file and field, when a file can't be read as a catalogue.
    """
    entries: dict[tuple[str, str], ModelEntry] = {}
    for path in (SHIPPED, extension) if extension else (SHIPPED,):
        entries |= _read(path)
    return entries


def cost(entry: ModelEntry | None, tokens: Tokens) -> Cost:
    """Return the cost of a call; a model that is not in the catalogue (None) costs nothing."""
    if entry is None:
        return Cost(_FREE, _FREE)
    long = entry.long_prompt
    prices = long if long and tokens.prompt > long.above else entry.prices
    uncached = max(0, tokens.prompt - tokens.cache_read - tokens.cache_write)
    return Cost(
        _usd(uncached, prices.input)
        + _usd(tokens.cache_read, prices.cache_read, prices.input)
        + _usd(tokens.cache_write, prices.cache_write, prices.input),
        _usd(max(0, tokens.completion - tokens.reasoning), prices.output)
        + _usd(tokens.reasoning, prices.reasoning, prices.output),
    )


def _usd(tokens: int, price: Decimal | None, default: Decimal = _FREE) -> Decimal:
    return tokens * (default if price is None else price) / _PER


def _read(path: Path) -> dict[tuple[str, str], ModelEntry]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        file = msgspec.convert(raw, _File)
    except (OSError, ValueError) as error:
        raise Invalid(f"The model catalogue {path} can't be used: {error}") from error
    dated = (
        entry if entry.prices_as_of else msgspec.structs.replace(entry, prices_as_of=file.prices_as_of)
        for entry in file.models
    )
    return {(entry.vendor, entry.name): entry for entry in dated}
