"""The vendors' models, called through any-llm on one event loop per process, which runs in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from datetime import datetime
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from app.chat import Answer, OnEvent, StreamEvent
from app.errors import Invalid, ProviderTimeout, RepriseError
from app.providers.clients import Clients
from app.providers.decoding import AnswerBuilder
from app.providers.encoding import encode
from app.providers.failures import failure, scrub
from app.providers.types import ModelRequest

if TYPE_CHECKING:
    from any_llm import AnyLLM


T = TypeVar("T")
E = TypeVar("E")


class LoopThread:
    """Runs until it is closed. A coroutine is cancelled when the thread that waits for it is interrupted."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="providers", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return or raise the coroutine's result in the calling thread."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()  # changes nothing once it is done

    def drain(
        self, produce: Callable[[Callable[[E], None]], Coroutine[Any, Any, T]], consume: Callable[[E], None]
    ) -> T:
        """Do as `run`, and consume each thing that `produce` emits, in order, in the calling thread."""
        emitted: SimpleQueue[E | None] = SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(produce(emitted.put), self._loop)
        future.add_done_callback(lambda _: emitted.put(None))
        try:
            while (event := emitted.get()) is not None:
                consume(event)
            return future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """Stop the loop and wait for its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class AnyLlmModels:
    """For `VendorModels`, which says what calls do.

    The event loop and its clients start with the first call: few processes call a model.
    """

    def __init__(self, utcnow: Callable[[], datetime], *, answer_bytes: int) -> None:
        self._answer_bytes = answer_bytes
        self._utcnow = utcnow
        self._lock = threading.Lock()
        self._opened: tuple[LoopThread, Clients] | None = None

    def complete(self, request: ModelRequest) -> Answer:
        loop, client, arguments = self._prepare(request, streamed=False)

        async def call() -> Answer:
            builder = AnswerBuilder()
            builder.add_completion(_document(await client.acompletion(**arguments)))
            return builder.end()

        return loop.run(self._attempt(request, call()))

    def stream(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        loop, client, arguments = self._prepare(request, streamed=True)
        arguments |= {"stream": True}

        async def call(emit: OnEvent) -> Answer:
            builder = AnswerBuilder()
            async for chunk in await client.acompletion(**arguments):
                for event in builder.add_chunk(_document(chunk)):
                    emit(event)
            answer = builder.end()
            for tool_call in answer.tool_calls:
                emit(StreamEvent("tool_call", tool_call=tool_call))
            return answer

        return loop.drain(lambda emit: self._attempt(request, call(emit)), on_event)

    def close(self) -> None:
        """Close the pooled connections and stop the loop; the next call opens them again."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            loop, clients = opened
            loop.run(clients.close())
            loop.close()

    def _prepare(self, request: ModelRequest, *, streamed: bool) -> tuple[LoopThread, AnyLLM, dict[str, Any]]:
        arguments = encode(request)
        # The deadline of `_attempt` is the one that counts; the SDKs' own would be shorter than some answers take.
        arguments["timeout"] = request.timeout_s + 1.0
        with self._lock:
            if self._opened is None:
                self._opened = LoopThread(), Clients(self._answer_bytes)
            loop, clients = self._opened
        return loop, clients.get(request, streamed=streamed), arguments

    async def _attempt(self, request: ModelRequest, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Await the answer until the deadline, and turn what goes wrong into an error of `app/errors.py`."""
        secret = request.credential.api_key if request.credential else None
        try:
            async with asyncio.timeout(request.timeout_s) as scope:
                return await work
        except RepriseError:
            raise
        except Exception as error:  # noqa: BLE001 - the edge to the SDKs, which may break in any way on what is sent
            ours: RepriseError
            if scope.expired():
                ours = ProviderTimeout(f"{request.model.vendor} did not answer in time.")
            else:
                ours = _unsendable(error, secret) or failure(error, request.model.vendor, secret, self._utcnow())
        # Outside the except block: a log of this error must not bring the vendor's along, key and all.
        raise ours


def _document(completion: Any) -> object:
    """Return any-llm's object, which has OpenAI's form, as what JSON of it would be read as."""
    return completion.model_dump(warnings=False)


def _unsendable(error: Exception, secret: str | None) -> Invalid | None:
    """Return the error of a request that any-llm refused before anything was sent, which the caller can correct."""
    from any_llm.exceptions import InvalidRequestError, UnsupportedParameterError

    refused = isinstance(error, UnsupportedParameterError) or (
        isinstance(error, InvalidRequestError) and error.status_code is None
    )
    # The title of a pydantic error is the name of the model that was to be filled.
    if refused or getattr(error, "title", None) == "CompletionParams":
        return Invalid(scrub(f"The model configuration can't be sent: {error}", secret))
    return None
