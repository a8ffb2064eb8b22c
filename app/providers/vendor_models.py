"""The models of all vendors, each called in its format."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from app.chat import Answer, OnEvent
from app.providers.anyllm import AnyLlmModels
from app.providers.bounds import ANSWER_BYTES
from app.providers.openai import OpenAIModels
from app.providers.types import ModelRequest, RemoteModels
from app.providers.vendors import VENDORS


class VendorModels:
    """Makes one attempt per call, without retries; a failure is a `ProviderFailure` that says if another may help."""

    def __init__(
        self, utcnow: Callable[[], datetime] = lambda: datetime.now(UTC), *, answer_bytes: int = ANSWER_BYTES
    ) -> None:
        self._openai = OpenAIModels(utcnow, answer_bytes=answer_bytes)
        self._any_llm = AnyLlmModels(utcnow, answer_bytes=answer_bytes)

    def complete(self, request: ModelRequest) -> Answer:
        return self._serving(request).complete(request)

    def stream(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        return self._serving(request).stream(request, on_event)

    def close(self) -> None:
        """Close the pooled connections; the next call opens them again."""
        self._openai.close()
        self._any_llm.close()

    def _serving(self, request: ModelRequest) -> RemoteModels:
        return self._openai if VENDORS[request.model.vendor].wire == "openai" else self._any_llm
