"""Finds the prices of a model by the names that instrumentations give it and its provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.chat import Tokens
from app.prices.names import LONGEST, key_of, keys_of, model_of_deployment, words_of
from app.prices.types import NOTHING, Bill, CalledModel, Tariff, size_of

# Hosts that set prices themselves. The vendor's price list does not apply to calls there.
_HOSTS = words_of(
    "cerebras cloudflare databricks deepinfra fireworks fireworksai groq hf huggingface hyperbolic lmstudio llamacpp "
    "localai nebius nim novita nvidia ollama replicate sagemaker sambanova snowflake together togetherai vllm watsonx"
)
# Resellers: vendors' prices for models that only the vendor may run, and their own prices for open models.
_RESELLERS = words_of("azure az bedrock vertex vertexai openrouter gateway foundry")
_OPEN = frozenset({"DEEPSEEK", "MISTRAL", "META"})
_BUILTIN = "BUILTIN"
_AZURE = frozenset({"azure", "az"})
_KNOWN_MAX = 1_000


@dataclass(frozen=True, slots=True)
class PriceList:
    """The vendors' published prices; `by_key` has (vendor, tariff) by the key of the model's name."""

    by_key: Mapping[str, tuple[str, Tariff]]

    @classmethod
    def of(cls, models: Iterable[tuple[str, Tariff]]) -> PriceList:
        """Make the list of (vendor, tariff); a tariff's source ends with the model's name."""
        return cls({key_of(tariff.source.split("/", 1)[-1]): (vendor, tariff) for vendor, tariff in models})

    def find(self, called: CalledModel) -> Tariff | None:
        """Return the prices of a model, None for one that the list does not know at this provider."""
        path = called.model.rpartition("/")[0]
        provider_words = words_of(f"{called.provider} {path}")
        keys = keys_of(called.model)
        if _HOSTS & provider_words:
            return None
        priced = next((self.by_key[key] for key in keys if key in self.by_key), None)
        if (
            priced is None
            and _AZURE & provider_words
            and keys
            and (key := model_of_deployment(keys[0], self._of_openai))
        ):
            priced = self.by_key[key]
        return priced[1] if priced and _sells(priced[0], provider_words) else None

    @property
    def _of_openai(self) -> Iterable[str]:
        return (key for key, (vendor, _) in self.by_key.items() if vendor == "OPENAI")


def _sells(vendor: str, provider_words: frozenset[str]) -> bool:
    """Return whether a call at a provider with these words in its name costs the vendor's published price."""
    if vendor == _BUILTIN:
        return bool({"builtin", "reprise"} & provider_words)
    return not (vendor in _OPEN and _RESELLERS & provider_words)


OwnPrices = Mapping[tuple[str, str], Tariff]
"""Prices that people have set, by the provider in lower case ("" for any) and the key of the model's name."""


@dataclass(frozen=True, slots=True)
class PriceBook:
    """The prices that hold for an organization: its own first, then the vendors'."""

    published: PriceList
    own: OwnPrices = field(default_factory=dict)
    _known: dict[CalledModel, Tariff | None] = field(default_factory=dict, init=False, compare=False)

    def find(self, called: CalledModel) -> Tariff | None:
        """Return what a model costs; None without a price. Results are kept, for up to `_KNOWN_MAX` models."""
        known = CalledModel(called.provider[:LONGEST], called.model[:LONGEST])
        if known not in self._known:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[known] = self._own(known) or self.published.find(known)
        return self._known[known]

    def _own(self, called: CalledModel) -> Tariff | None:
        provider = called.provider.strip().lower()
        keys = [(name, key) for key in keys_of(called.model) for name in (provider, "")] if self.own else []
        return next((self.own[key] for key in keys if key in self.own), None)

    def bill(self, called: CalledModel, tokens: Tokens, size: int | None = None) -> Bill:
        """Return the bill of one call, or of calls with prompts of one `size`; calls without tokens cost nothing.

        The bill names the model if the model, or the modality that the `size` is for, has no price.
        """
        if not (tokens.prompt or tokens.completion):
            return NOTHING
        tariff = self.find(called)
        if tariff is None:
            return Bill(None, frozenset({called}))
        cost = tariff.cost(tokens, size_of(tokens.prompt) if size is None else size)
        return Bill(cost) if cost else Bill(None, frozenset({called}))


NO_PRICES = PriceBook(PriceList({}))
