"""Reads the catalogue of the vendors' models, their abilities and prices, from `catalogue.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from app.chat import Tokens
from app.errors import Invalid
from app.prices.book import PriceList
from app.prices.types import FREE, Cost, LongPromptPrices, ModalityPrices, Prices, Tariff, cost_of
from app.providers.vendors import Vendor
from app.values.structs import convert

SHIPPED = Path(__file__).with_name("catalogue.toml")

Capability = Literal["image", "audio", "pdf", "tools", "json", "json_schema", "reasoning"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
Refused = Literal["temperature with top_p", "top_p with reasoning", "top_p", "stop", "seed"]
Count = Annotated[int, msgspec.Meta(ge=1)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


class ModelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One model. A temperature range of one number means that the model accepts no other.

    `efforts` are the values of `reasoning_effort` that it accepts; without any, those of its vendor. `refuses` are the
    parameters of a configuration that it does not accept.
    """

    vendor: Vendor
    name: Name
    description: str
    context_tokens_max: Count
    completion_tokens_max: Count
    prices: Prices
    long_prompt: LongPromptPrices | None = None
    temperature: tuple[float, float] = (0.0, 2.0)
    capabilities: frozenset[Capability] = frozenset()
    efforts: tuple[Effort, ...] = ()
    refuses: frozenset[Refused] = frozenset()
    default: bool = False
    prices_as_of: date | None = None
    audio: ModalityPrices | None = None
    image: ModalityPrices | None = None
    by_modality: bool = False

    def __post_init__(self) -> None:
        if self.temperature[0] > self.temperature[1]:
            raise ValueError("temperature must be [lowest, highest]")


class ObservedEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A model that occurs in traces and that no prompt can use here."""

    vendor: Name
    name: Name
    prices: Prices
    long_prompt: LongPromptPrices | None = None
    audio: ModalityPrices | None = None
    image: ModalityPrices | None = None
    by_modality: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    prices_as_of: date
    models: tuple[ModelEntry, ...]
    observed: tuple[ObservedEntry, ...] = ()


Catalogue = Mapping[tuple[str, str], ModelEntry]
"""The entries by (vendor, name), in the order of their files."""


def load(extension: Path | None = None) -> Catalogue:
    """Read the shipped catalogue; entries of `extension`, a file of the same form, are added or replace shipped ones.

    Raises `Invalid`, naming file and field, when a file can't be read as a catalogue.
    """
    entries: dict[tuple[str, str], ModelEntry] = {}
    for file in _files(extension):
        entries |= {(entry.vendor, entry.name): _dated(entry, file.prices_as_of) for entry in file.models}
    return entries


def load_prices(extension: Path | None = None) -> PriceList:
    """Read the prices of all models in the catalogue, even if they only occur in traces. Raises like `load`."""
    tariffs: dict[str, tuple[str, Tariff]] = {}
    for file in _files(extension):
        priced: tuple[ObservedEntry | ModelEntry, ...] = (*file.observed, *file.models)
        for entry in priced:
            source = f"{entry.vendor}/{entry.name}"
            tariff = Tariff(
                source,
                entry.prices,
                entry.long_prompt,
                audio=entry.audio,
                image=entry.image,
                by_modality=entry.by_modality,
            )
            tariffs[source] = (entry.vendor, tariff)
    return PriceList.of(tariffs.values())


def cost(entry: ModelEntry | None, tokens: Tokens) -> Cost:
    """Return the cost of a call; a model that is not in the catalogue (None) costs nothing."""
    if entry is None:
        return FREE
    long = entry.long_prompt
    return cost_of(long if long and tokens.prompt > long.above else entry.prices, tokens)


def _files(extension: Path | None) -> Iterator[_File]:
    return map(_read, (SHIPPED, extension) if extension else (SHIPPED,))


def _read(path: Path) -> _File:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        return convert(raw, _File)
    except (OSError, ValueError) as error:
        raise Invalid(f"The model catalogue {path} can't be used: {error}") from error


def _dated(entry: ModelEntry, prices_as_of: date) -> ModelEntry:
    return entry if entry.prices_as_of else msgspec.structs.replace(entry, prices_as_of=prices_as_of)
