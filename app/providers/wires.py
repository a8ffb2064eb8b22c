"""The formats of requests and answers, and which vendor uses which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from app.providers import anthropic_wire, google_wire, openai_wire, responses_wire
from app.providers.decoding import Decoder
from app.providers.types import ModelRequest
from app.providers.vendors import VENDORS, WireFormat


class Wire(Protocol):
    """A format of requests and answers over HTTP."""

    headers: Mapping[str, str]

    def path(self, request: ModelRequest, *, streamed: bool) -> str:
        """Return the path of a request, below the base URL."""

    def body(self, request: ModelRequest, *, streamed: bool) -> dict[str, Any]:
        """Return the JSON of a request.

        Raises `Invalid` for a file's media type or a parameter that this vendor's models do not accept.
        """

    def decoder(self, request: ModelRequest) -> Decoder:
        """Return what reads the answer."""


WIRES: Mapping[WireFormat, Wire] = {
    "openai": openai_wire.OpenAIWire(),
    "anthropic": anthropic_wire.AnthropicWire(),
    "google": google_wire.GoogleWire(),
}


RESPONSES = responses_wire.ResponsesWire()


def wire_of(request: ModelRequest) -> Wire:
    """Return the format of the request's vendor, or the other one of OpenAI's where the request needs it."""
    if request.passed_on is not None:
        return request.passed_on
    if responses_wire.needs_responses(request):
        return RESPONSES
    return WIRES[VENDORS[request.model.vendor].wire]
