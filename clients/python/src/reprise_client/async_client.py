"""The client for programs on asyncio."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from reprise_client.cache import Entry, PromptCache
from reprise_client.connection import Connection
from reprise_client.disk import DiskCache
from reprise_client.errors import RepriseError, ServerError, UnreachableError
from reprise_client.prompts import Prompt
from reprise_client.reading import HttpReply, read
from reprise_client.records import Fallback, PromptVersions
from reprise_client.runs import (
    ClientRequest,
    Follower,
    Piece,
    Retries,
    RunOptions,
    RunResult,
    events_request,
    run_request,
)
from reprise_client.scores import ScoreOptions, score_request, stored_id
from reprise_client.transport import AsyncTransport, Verify
from reprise_client.wanted import WantedVersion

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

# Of prompts that can be served meanwhile; a further one is fetched when it is asked for again.
BACKGROUND_MAX = 8


@dataclass(frozen=True)
class _Fetch:
    """A request for a prompt in another task; callers wait for it until `wait_until`, in monotonic seconds."""

    wait_until: float
    task: asyncio.Task[None]


@dataclass(frozen=True)
class _OfLoop:
    """The connections of one event loop, and its requests under way."""

    transport: AsyncTransport
    fetches: dict[WantedVersion, _Fetch] = field(default_factory=dict)


class AsyncReprise:
    """Fetches prompts and runs them, for asyncio; arguments and methods are those of `Reprise`.

    One client may serve several event loops, one after the other or in threads.

    Event loops share the prompts; each has its own connections and requests.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        fresh_s: float = 60.0,
        first_wait_s: float = 2.0,
        timeout_s: float = 10.0,
        cache_dir: str | Path | None = None,
        verify: Verify = True,
    ) -> None:
        connection = Connection.of(base_url, api_key)
        self._first_wait_s, self._timeout_s = first_wait_s, timeout_s
        self._cache = PromptCache(fresh_s)
        self._disk = None if cache_dir is None else DiskCache(Path(cache_dir), connection)
        self._new_transport = partial(AsyncTransport, connection, verify)
        self._loops: dict[asyncio.AbstractEventLoop, _OfLoop] = {}

    async def prompt(
        self,
        prompt_id: int,
        *,
        label: str | None = None,
        version: str | None = None,
        draft: bool = False,
        split_key: str | None = None,
        fallback: Fallback | None = None,
    ) -> Prompt:
        """Return a version of a prompt as `Reprise.prompt` does; its `render` needs no `await`."""
        wanted = WantedVersion(prompt_id, label, version, draft, by_key=bool(label and split_key))
        entry = self._cache.entry(wanted)
        if self._cache.due(entry):
            fetch = self._fetching(entry)
            if fetch and entry.versions is None and (fallback is None or not entry.tried):
                await asyncio.wait({fetch.task}, timeout=max(0.0, fetch.wait_until - time.monotonic()))
        return entry.serve(split_key, fallback, self._cache.fresh_s)

    async def run(self, prompt_id: int, question: str, **options: Unpack[RunOptions]) -> RunResult:
        """Run a prompt and return its answer. A request that fails in passing is repeated; it makes one run."""
        request = run_request(prompt_id, question, options)
        try:
            reply = await self._answered(request)
        except ServerError as problem:
            if problem.status != 504 or problem.run_id is None:
                raise
            # The server ended the wait, or the model did not answer in time: the events of the run show which.
            return await self._result(events_request(problem.run_id, request.deadline - time.monotonic()))
        return RunResult.parse(reply.body, reply.run_id, reply.url)

    def stream(self, prompt_id: int, question: str, **options: Unpack[RunOptions]) -> AsyncIterator[Piece | RunResult]:
        """Run a prompt; yield the pieces of the answer as the model writes them, and the `RunResult` at the end."""
        return self._follow(run_request(prompt_id, question, options))

    async def start_run(self, prompt_id: int, question: str, **options: Unpack[RunOptions]) -> int:
        """Begin a run, and return its id for `run_result`."""
        reply = await self._answered(run_request(prompt_id, question, options), Prefer="respond-async")
        if reply.run_id is None:
            raise UnreachableError(f"{reply.url} answered without the id of the run.")
        return reply.run_id

    async def run_result(self, run_id: int, *, timeout_s: float = 600.0) -> RunResult:
        """Wait for the end of a run, and return its answer; raise the error that it ended with.

        `RunTimeoutError` after `timeout_s`.
        """
        return await self._result(events_request(run_id, timeout_s))

    async def score(self, name: str, value: float | bool | str, **options: Unpack[ScoreOptions]) -> str:
        """Score a session, turn, step or run as `Reprise.score` does."""
        return stored_id(await self._answered(score_request(name, value, options)))

    async def aclose(self) -> None:
        """Close the connections of this event loop. Prompts are still served from memory."""
        of_loop = self._loops.pop(asyncio.get_running_loop(), None)
        if of_loop is not None:
            for fetch in of_loop.fetches.values():
                fetch.task.cancel()
            await of_loop.transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def _own(self) -> _OfLoop:
        loop = asyncio.get_running_loop()
        of_loop = self._loops.get(loop)
        if of_loop is None:
            for ended in [other for other in list(self._loops) if other.is_closed()]:
                self._loops.pop(ended, None)
            of_loop = self._loops[loop] = _OfLoop(self._new_transport())
        return of_loop

    def _fetching(self, entry: Entry) -> _Fetch | None:
        """Return the request for the prompt, which is begun unless one is under way; None where none can begin."""
        of_loop = self._own
        fetch = of_loop.fetches.get(entry.wanted)
        if fetch is None and (entry.versions is None or len(of_loop.fetches) < BACKGROUND_MAX):
            # In an empty context: the request belongs to no trace of the caller.
            task = contextvars.Context().run(asyncio.create_task, self._fetch(of_loop, entry), name="reprise-fetch")
            fetch = of_loop.fetches[entry.wanted] = _Fetch(time.monotonic() + self._first_wait_s, task)
            task.add_done_callback(lambda _: of_loop.fetches.pop(entry.wanted, None))
        return fetch

    async def _fetch(self, of_loop: _OfLoop, entry: Entry) -> None:
        try:
            self._cache.fetched(entry, await self._read(of_loop.transport, entry))
        except RepriseError as problem:
            self._cache.failed(entry, problem)
        except Exception as problem:  # noqa: BLE001 - whatever it is, callers are served and another try follows
            self._cache.failed(entry, UnreachableError(repr(problem)))

    async def _read(self, transport: AsyncTransport, entry: Entry) -> PromptVersions:
        if self._disk and entry.versions is None and (copy := await asyncio.to_thread(self._disk.load, entry.wanted)):
            entry.restore(*copy)
        known = entry.versions
        reading = read(entry.wanted, known)
        request = next(reading)
        while True:
            reply = await transport.get(request, self._timeout_s)
            try:
                request = reading.send(reply)
            except StopIteration as end:
                versions: PromptVersions = end.value
                break
        if self._disk and versions != known:
            await asyncio.to_thread(self._disk.save, entry.wanted, versions)
        return versions

    async def _answered(self, request: ClientRequest, **headers: str) -> HttpReply:
        transport, retries = self._own.transport, Retries(request)
        while True:
            try:
                return (await transport.run(request, **headers)).checked()
            except RepriseError as problem:
                await asyncio.sleep(retries.pause_s(problem))

    async def _follow(self, request: ClientRequest) -> AsyncIterator[Piece | RunResult]:
        transport, follower, retries = self._own.transport, Follower(request), Retries(request)
        while True:
            try:
                async with transport.follow(request, follower) as pieces:
                    async for piece in pieces:
                        for update in follower.feed(piece):
                            yield update
                            if isinstance(update, RunResult):
                                return
                            retries.progressed()
                raise UnreachableError("The stream of the run broke off.")
            except RepriseError as problem:
                await asyncio.sleep(retries.pause_s(problem))

    async def _result(self, request: ClientRequest) -> RunResult:
        async for update in self._follow(request):
            if isinstance(update, RunResult):
                return update
        raise AssertionError("a stream ends with its result or an error")
