"""The vendor's model that a program asks through a replay: how the request is passed on, and what the call costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.chat import TOKEN_COUNTS, Answer, Tokens, ToolDefinition
from app.concurrency import deadline
from app.errors import Invalid
from app.models.language_models import LanguageModel
from app.prices.book import PriceBook
from app.prices.names import key_of, keys_of
from app.prices.types import CalledModel
from app.providers.passing.wire import Body, NoChat, PassedOn, PassingWire
from app.providers.types import ModelConfig, ModelRef, ModelRequest, ProviderPort
from app.providers.vendors import VENDORS
from app.services.language_models.credentials import CredentialService
from app.services.prompts.content import ref_of
from app.services.runs.outcome import cost_of
from app.values.json import json_length

WRITTEN_MAX = 128_000
"""The most tokens that an answer is assumed to have if only the price of its model is known."""


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """A request of a program in its vendor's JSON; `headers` are the passed-on ones."""

    wire: PassingWire
    model: str
    body: Body
    headers: Mapping[str, str]

    @property
    def instruction(self) -> str:
        return self.wire.instruction(self.body)

    @property
    def tools(self) -> Iterator[ToolDefinition]:
        return self.wire.tools(self.body)


@dataclass(frozen=True, slots=True)
class Upstream:
    """The vendor's model of a request.

    `known` is its row, or that of the model of which it is a snapshot; None for a model that the instance does not
    know. `prices` may have the price of an unknown model.
    """

    organization_id: int
    known: LanguageModel | None
    prices: PriceBook
    providers: ProviderPort
    credentials: CredentialService
    timeout_s: float

    def ask(self, request: ProgramRequest, path: str, body: Body, *, is_chat: bool = True) -> tuple[Answer, Any]:
        """Return the model's answer, and its JSON. Raises `ProviderError`."""
        passed_on = PassedOn(
            path,
            body,
            {**request.wire.headers, **request.headers},
            type(request.wire).make_decoder if is_chat else NoChat,
        )
        model = ref_of(self.known) if self.known else ModelRef(request.wire.vendor, request.model)
        with deadline.paused():
            credential = self.credentials.find(self.organization_id, model.vendor, base_url=model.base_url or "")
            asked = ModelRequest(
                model,
                ModelConfig(),
                (),
                credential,
                self.timeout_s,
                self.organization_id,
                background=True,
                passed_on=passed_on,
            )
            return self.providers.complete(asked), passed_on.received

    def most_tokens(self, request: ProgramRequest, body: Body, *, is_chat: bool) -> Tokens:
        """Return the most tokens that a call can use, counting one token for each byte sent."""
        sent, known = json_length(body), self.known
        written = request.wire.most_written(body, known.completion_tokens_max if known else WRITTEN_MAX)
        return Tokens(min(sent, known.context_tokens_max) if known else sent, written if is_chat else 0)

    def usage(self, request: ProgramRequest, tokens: Tokens) -> dict[str, float]:
        """Return the columns of a replay that the call adds to, without a cost if the price is unknown."""
        usage = {f"{name}_tokens": float(getattr(tokens, name)) for name in TOKEN_COUNTS}
        called = CalledModel(request.wire.vendor.lower(), request.model)
        cost = cost_of(self.known, tokens) if self.known else self.prices.bill(called, tokens).cost
        if cost is None:
            return usage
        return usage | {"prompt_cost_usd": float(cost.prompt), "completion_cost_usd": float(cost.completion)}


def model_of(rows: Sequence[LanguageModel], wire: PassingWire) -> LanguageModel | None:
    """Return the model that a program names, if a vendor that speaks its format serves it.

    Raises `Invalid` if an admin disabled it.
    """
    spoken = VENDORS[wire.vendor].wire
    rows = [row for row in rows if row.vendor in VENDORS and VENDORS[row.vendor].wire == spoken]
    usable = next((row for row in rows if row.usable), None)
    if usable is None and (disabled := next((row for row in rows if row.disabled), None)):
        raise Invalid(f"The model {disabled.name} is disabled for this organization.")
    return usable


def models_by_other_name(rows: Iterable[LanguageModel], name: str) -> list[LanguageModel]:
    """Return the models that `name` may be another name of, such as gpt-4o for gpt-4o-2024-11-20."""
    keys = keys_of(name)
    return [row for row in rows if key_of(row.name) in keys]
