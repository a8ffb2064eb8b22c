"""The types of a model call, and the port that runs, replays and tests share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from app.chat import Answer, Message, OnEvent, ToolDefinition
from app.providers.passing.wire import PassedOn
from app.providers.stopping import NEVER, CallStop
from app.providers.vendors import ResponseFormat, Vendor


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model to call; `base_url` is the address of a CUSTOM_OPENAI_COMPATIBLE endpoint."""

    vendor: Vendor
    name: str
    base_url: str | None = None

    @property
    def label(self) -> str:
        """The vendor, the name and the base URL, which identify the model."""
        return " ".join(filter(None, (self.vendor, self.name, self.base_url)))


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The parameters of a call. None leaves a value to the model's default; `json_schema` is a bare JSON Schema.

    With `strict` the model is held to the schema by vendors that have a parameter for that; it must then require every
    property and allow no other. If `max_tokens` only repeats the limit of the model (`is_models_limit`), it is left out
    when the vendor refuses it.
    """

    tools: tuple[ToolDefinition, ...] = ()
    max_tokens: int | None = None
    is_models_limit: bool = False
    temperature: float | None = None
    response_format: ResponseFormat | None = None
    json_schema: dict[str, Any] | None = None
    strict: bool | None = None
    reasoning_effort: str | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Credential:
    """A vendor's key, which no repr shows, and a base URL other than the vendor's own."""

    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A call of a model for an organization, with at most `timeout_s` seconds including retries.

    A call in the `background` has no waiting user, so it leaves slots to others. A request that is `passed_on` has the
    caller's own JSON, in the place of config and messages. The call raises `Stopped` soon after `stop` is requested.
    """

    model: ModelRef
    config: ModelConfig
    messages: tuple[Message, ...]
    credential: Credential | None
    timeout_s: float
    organization_id: int = 0
    background: bool = False
    passed_on: PassedOn | None = None
    stop: CallStop = field(default=NEVER, compare=False, repr=False)


class VendorPort(Protocol):
    """A model that can be called from any thread, hundreds of times at once.

    Both methods raise `Invalid` for a request that the model does not accept, `ProviderError` when its vendor failed
    and `ProviderTimeout` when it did not answer before the deadline.
    """

    def complete(self, request: ModelRequest) -> Answer: ...

    def stream(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        """Pass each event to `on_event` in the calling thread, as the model writes; return the whole answer."""
        ...


class ProviderPort(VendorPort, Protocol):
    """All models of all vendors."""

    def check(self, request: ModelRequest) -> None:
        """Raise `Invalid` for what would be refused before anything is sent."""


class RemoteModels(VendorPort, Protocol):
    """Models behind pooled connections."""

    def close(self) -> None: ...
