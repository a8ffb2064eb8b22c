"""The one way to call a model: finds who serves it, keeps to its limits, tries again, fails fast."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from hashlib import sha256

from app.chat import Answer, File
from app.errors import Invalid
from app.providers.anyllm import AnyLlmModels
from app.providers.bounded import ANSWER_BYTES
from app.providers.breaker import CallBreaker
from app.providers.builtin import BuiltinModels
from app.providers.catalogue import Capability, Catalogue
from app.providers.encoding import encode
from app.providers.failures import ProviderFailure
from app.providers.retry import Retry
from app.providers.types import Credential, ModelPort, ModelRef, ModelRequest, OnEvent, StreamEvent

Slot = Callable[[ModelRequest], AbstractContextManager[object]]
Observed = Callable[[ModelRef], AbstractContextManager[object]]


class Providers:
    """A `ModelPort` over all vendors.

    `slot` is entered for the length of a call, its pauses included: a limit on how many calls one model gets
    at once, which may wait (within the call's seconds) or raise. `observed` is entered for each try.
    With a catalogue, files that a model can't read are refused (`Invalid`) before anything is sent.
    """

    def __init__(
        self,
        *,
        catalogue: Catalogue | None = None,
        builtin: ModelPort | None = None,
        remote: ModelPort | None = None,
        retry: Retry | None = None,
        breaker: CallBreaker | None = None,
        slot: Slot = lambda request: nullcontext(),
        observed: Observed = lambda model: nullcontext(),
        answer_bytes: int = ANSWER_BYTES,
    ) -> None:
        self._catalogue = catalogue
        self._builtin = builtin or BuiltinModels()
        self._vendors = AnyLlmModels(answer_bytes=answer_bytes)
        self._remote = remote or self._vendors
        self._retry = retry or Retry()
        self._breaker = breaker or CallBreaker()
        self._slot = slot
        self._observed = observed

    def check(self, request: ModelRequest) -> None:
        """Raise `Invalid` for what would be refused before anything is sent."""
        self._check_files(request)
        if request.model.vendor != "BUILTIN":
            encode(_without_binaries(request))

    def complete(self, request: ModelRequest) -> Answer:
        self._check_files(request)
        if request.model.vendor == "BUILTIN":
            return self._builtin.complete(request)
        return self._call(request, self._remote.complete)

    def stream(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        """As `complete`; once the model has written something, a failure is final: nothing is said twice."""
        self._check_files(request)
        if request.model.vendor == "BUILTIN":
            return self._builtin.stream(request, on_event)
        return self._call(request, lambda attempt: self._stream_once(attempt, on_event))

    def close(self) -> None:
        """Close pooled connections; for the end of a process or a test."""
        self._vendors.close()

    def _call(self, request: ModelRequest, send: Callable[[ModelRequest], Answer]) -> Answer:
        model = request.model

        def attempt(left_s: float) -> Answer:
            with self._observed(model):
                return send(replace(request, timeout_s=left_s))

        began = self._retry.monotonic()
        with self._breaker.guard(_upstream(request), model.vendor, model.name), self._slot(request):
            return self._retry.call(attempt, request.timeout_s - (self._retry.monotonic() - began))

    def _stream_once(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        said = False

        def note(event: StreamEvent) -> None:
            nonlocal said
            said = True
            on_event(event)

        try:
            return self._remote.stream(request, note)
        except ProviderFailure as failed:
            failed.retryable = failed.retryable and not said
            raise

    def _check_files(self, request: ModelRequest) -> None:
        key = (request.model.vendor, request.model.name)
        entry = self._catalogue.get(key) if self._catalogue else None
        if entry is None:
            return
        for message in request.messages:
            for file in message.files:
                needed = _capability(file.media_type.lower())
                if needed and needed not in entry.capabilities:
                    raise Invalid(f"{entry.name} can't read {file.media_type} ({file.name}).")


def _capability(media_type: str) -> Capability | None:
    if media_type.startswith("image/"):
        return "image"
    return "pdf" if media_type.startswith("application/pdf") else None


def _without_binaries(request: ModelRequest) -> ModelRequest:
    """Images and documents are judged by their type alone, which spares their encoding."""

    def light(file: File) -> File:
        return replace(file, content=b"") if _capability(file.media_type.lower()) else file

    messages = (replace(message, files=tuple(map(light, message.files))) for message in request.messages)
    return replace(request, messages=tuple(messages))


def _upstream(request: ModelRequest) -> tuple[str, str, str | None]:
    """What goes down together: a vendor at one address for one key, of which only a fingerprint is kept."""
    credential = request.credential or Credential()
    fingerprint = sha256((credential.api_key or "").encode()).hexdigest()[:16]
    return request.model.vendor, fingerprint, request.model.base_url or credential.base_url
