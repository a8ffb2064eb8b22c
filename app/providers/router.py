"""Calls models: chooses the port that serves a model, keeps to its limits, retries, and fails fast during outages."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TypeVar

from app.chat import Answer, File, OnEvent, StreamEvent
from app.errors import Invalid, ProviderTimeout
from app.providers.breaker import CallBreaker
from app.providers.builtin import BuiltinModels
from app.providers.catalogue import Capability, Catalogue
from app.providers.encoding import PDF, usual_media_type
from app.providers.failures import ProviderFailure
from app.providers.stopping import NEVER, CallStop
from app.providers.types import Credential, ModelRef, ModelRequest, RemoteModels, VendorPort
from app.providers.vendor_models import VendorModels
from app.providers.wires import wire_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retry:
    """The number of attempts and the pauses between them; tests replace `monotonic`, `sleep` and `uniform`.

    The n-th pause is drawn from 0 to min(`longest_s`, `first_s` · 2ⁿ), and is never shorter than the vendor's
    Retry-After.
    """

    attempts: int = 4
    first_s: float = 0.5
    longest_s: float = 8.0
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform

    def call(self, attempt: Callable[[float], T], timeout_s: float, stop: CallStop = NEVER) -> T:
        """Call `attempt` with the seconds that are left until the deadline, up to `attempts` times.

        Raises the last failure when it isn't retryable, attempts are used up, or the pause would not end
        before the deadline; `ProviderTimeout` when no time is left for an attempt; `Stopped` when `stop` is requested.
        """
        deadline = self.monotonic() + timeout_s
        for ordinal in range(self.attempts):
            stop.check()
            left = deadline - self.monotonic()
            if left <= 0:
                break
            try:
                return attempt(left)
            except ProviderFailure as failed:
                backoff = self.uniform(0.0, min(self.longest_s, self.first_s * 2**ordinal))
                pause = max(backoff, failed.retry_after_s or 0.0)
                last = ordinal == self.attempts - 1
                if last or not failed.retryable or self.monotonic() + pause >= deadline:
                    raise
            stop.pause(self.sleep, pause)
        raise ProviderTimeout(f"No answer within {timeout_s:g} s.")


Slot = Callable[[ModelRequest], AbstractContextManager[object]]
Observed = Callable[[ModelRef], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """A `ProviderPort` over all vendors.

    `slot` is a context for a whole call, with its retries and pauses. It limits the concurrent calls of one model, and
    may wait within the call's time, or raise. `observed` is a context for each attempt, which counts it. `slots_held`
    is a context in which calls keep their slots until its end: so the answer is passed on before the round trip that
    frees a slot.

    A file that the model can't read, by the catalogue, is refused (`Invalid`) before anything is sent.
    """

    catalogue: Catalogue = field(default_factory=dict)
    remote: RemoteModels = field(default_factory=VendorModels)
    retry: Retry = field(default_factory=Retry)
    breaker: CallBreaker = field(default_factory=CallBreaker)
    slot: Slot = lambda request: nullcontext()
    slots_held: Callable[[], AbstractContextManager[object]] = nullcontext
    observed: Observed = lambda model: nullcontext()
    _builtin: VendorPort = field(default_factory=BuiltinModels, init=False)

    def check(self, request: ModelRequest) -> None:
        """Raise `Invalid` for what would be refused before anything is sent."""
        self._check_files(request)
        if request.model.vendor != "BUILTIN":
            light = _without_binaries(request)
            wire_of(light).body(light, streamed=False)

    def complete(self, request: ModelRequest) -> Answer:
        """Return the model's answer. Raises `Invalid` as `check`, and `ProviderError` after the last attempt."""
        self._check_files(request)
        if request.model.vendor == "BUILTIN":
            return self._builtin.complete(request)
        return self._call(request, self.remote.complete)

    def stream(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        """Return the model's answer, and call `on_event` with each of its parts as it arrives.

        Failures are repeated as by `complete`, but not after the first event, so that no event comes twice.
        """
        self._check_files(request)
        if request.model.vendor == "BUILTIN":
            return self._builtin.stream(request, on_event)
        return self._call(request, lambda attempt: self._stream_once(attempt, on_event))

    def close(self) -> None:
        """Close the pooled connections; for the end of a process or a test."""
        self.remote.close()

    def _call(self, request: ModelRequest, send: Callable[[ModelRequest], Answer]) -> Answer:
        model, sent = request.model, request

        def attempt(left_s: float) -> Answer:
            nonlocal sent
            try:
                with self.observed(model):
                    return send(replace(sent, timeout_s=left_s))
            except ProviderFailure as failure:
                if sent.config.is_models_limit and failure.refuses_limit:
                    sent = replace(sent, config=replace(sent.config, max_tokens=None, is_models_limit=False))
                    failure.retryable = True
                raise

        began = self.retry.monotonic()
        with self.breaker.guard(_upstream(request), model.vendor, model.name), self.slot(request):
            return self.retry.call(attempt, request.timeout_s - (self.retry.monotonic() - began), request.stop)

    def _stream_once(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        has_begun = False

        def forward(event: StreamEvent) -> None:
            nonlocal has_begun
            has_begun = True
            on_event(event)

        try:
            return self.remote.stream(request, forward)
        except ProviderFailure as failure:
            failure.retryable = failure.retryable and not has_begun
            raise

    def _check_files(self, request: ModelRequest) -> None:
        entry = self.catalogue.get((request.model.vendor, request.model.name))
        if entry is None:
            return
        for message in request.messages:
            for file in message.files:
                needed = _capability(file)
                if needed and needed not in entry.capabilities:
                    raise Invalid(f"{entry.name} can't read {file.media_type} ({file.name}).")


def _capability(file: File) -> Capability | None:
    media_type = usual_media_type(file)
    if media_type.startswith("image/") and not media_type.endswith("+xml"):
        return "image"
    if media_type.startswith("audio/"):
        return "audio"
    return "pdf" if media_type == PDF else None


def _without_binaries(request: ModelRequest) -> ModelRequest:
    """Empty images, audio and documents to save their encoding; only their type is checked."""

    def light(file: File) -> File:
        return replace(file, content=b"") if _capability(file) else file

    messages = (replace(message, files=tuple(map(light, message.files))) for message in request.messages)
    return replace(request, messages=tuple(messages))


def _upstream(request: ModelRequest) -> tuple[str, str, str | None]:
    """Identify what fails together: a vendor at one address for one key, of which only a fingerprint is kept."""
    credential = request.credential or Credential()
    fingerprint = sha256((credential.api_key or "").encode()).hexdigest()[:16]
    return request.model.vendor, fingerprint, request.model.base_url or credential.base_url
