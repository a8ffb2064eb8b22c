"""The client for programs that wait: threads, forked workers, scripts. `AsyncReprise` is its twin for asyncio."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from reprise_client.async_client import AsyncReprise
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
from reprise_client.transport import Transport, Verify
from reprise_client.wanted import WantedVersion
from reprise_client.workers import Workers

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["AsyncReprise", "Reprise"]

# Threads that fetch prompts which are served meanwhile.
BACKGROUND_KEPT = 4


@dataclass(frozen=True)
class _Fetch:
    """A request for a prompt in another thread; callers wait for it until `wait_until`, in monotonic seconds."""

    wait_until: float
    ended: threading.Event = field(default_factory=threading.Event)


class Reprise:
    """A client of one project, for any number of threads; make one and keep it.

    By default `base_url` and `api_key` are `REPRISE_URL` and `REPRISE_API_KEY` of the environment. A prompt is fresh
    for `fresh_s` seconds. Callers wait for the first request for it, at most `first_wait_s`, and not for later ones.
    Each ends after `timeout_s`. `cache_dir` is a folder that keeps copies of prompts. `verify` is a TLS context.
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
        self._new_transport = partial(Transport, connection, verify)
        self._transport = self._new_transport()
        self._transport.open()
        self._fetches: dict[WantedVersion, _Fetch] = {}
        self._lock = threading.Lock()
        self._workers = self._new_workers()
        _CLIENTS.add(self)

    def prompt(
        self,
        prompt_id: int,
        *,
        label: str | None = None,
        version: str | None = None,
        draft: bool = False,
        split_key: str | None = None,
        fallback: Fallback | None = None,
    ) -> Prompt:
        """Return a version of a prompt, by default the newest one, from memory; its `state` is how current it is.

        `split_key`, such as the id of a user, decides at a split of the label. `fallback` is a text, which is used as
        it is, or the JSON of a prompt. It is served, after memory and disk, while the server has given nothing; without
        it the error is raised.
        """
        wanted = WantedVersion(prompt_id, label, version, draft, by_key=bool(label and split_key))
        entry = self._cache.entry(wanted)
        if self._cache.due(entry):
            # Looked at before the request begins, which may read a copy from disk at once.
            waits = entry.versions is None and (fallback is None or not entry.tried)
            fetch = self._fetching(entry)
            if fetch and waits:
                fetch.ended.wait(max(0.0, fetch.wait_until - time.monotonic()))
        return entry.serve(split_key, fallback, self._cache.fresh_s)

    def run(self, prompt_id: int, question: str, **options: Unpack[RunOptions]) -> RunResult:
        """Run a prompt and return its answer. A request that fails in passing is repeated; it makes one run."""
        request = run_request(prompt_id, question, options)
        try:
            reply = self._answered(request)
        except ServerError as problem:
            if problem.status != 504 or problem.run_id is None:
                raise
            # The server ended the wait, or the model did not answer in time: the events of the run show which.
            return self._result(events_request(problem.run_id, request.deadline - time.monotonic()))
        return RunResult.parse(reply.body, reply.run_id, reply.url)

    def stream(self, prompt_id: int, question: str, **options: Unpack[RunOptions]) -> Iterator[Piece | RunResult]:
        """Run a prompt; yield the pieces of the answer as the model writes them, and the `RunResult` at the end."""
        return self._follow(run_request(prompt_id, question, options))

    def start_run(self, prompt_id: int, question: str, **options: Unpack[RunOptions]) -> int:
        """Begin a run, and return its id for `run_result`."""
        reply = self._answered(run_request(prompt_id, question, options), Prefer="respond-async")
        if reply.run_id is None:
            raise UnreachableError(f"{reply.url} answered without the id of the run.")
        return reply.run_id

    def run_result(self, run_id: int, *, timeout_s: float = 600.0) -> RunResult:
        """Wait for the end of a run, and return its answer; raise the error that it ended with.

        `RunTimeoutError` after `timeout_s`.
        """
        return self._result(events_request(run_id, timeout_s))

    def score(self, name: str, value: float | bool | str, **options: Unpack[ScoreOptions]) -> str:
        """Score a session, turn, step or run; return the id of the score once it is stored.

        `value` is a number, true or false, or the name of a category. A request that fails in passing is repeated; it
        stores one score.
        """
        return stored_id(self._answered(score_request(name, value, options)))

    def close(self) -> None:
        """End the threads and close the connections. Prompts are still served from memory."""
        self._workers.stop()
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fetching(self, entry: Entry) -> _Fetch | None:
        """Return the request for the prompt, which is begun unless one is under way; None where none can begin."""
        with self._lock:
            fetch = self._fetches.get(entry.wanted)
            return self._begun(entry) if fetch is None else fetch

    def _begun(self, entry: Entry) -> _Fetch | None:
        fetch = _Fetch(time.monotonic() + self._first_wait_s)
        self._fetches[entry.wanted] = fetch
        try:
            self._workers.submit(partial(self._fetch, entry, fetch), urgent=entry.versions is None)
        except RuntimeError as problem:  # closed, the interpreter ends, or the system has no more threads
            self._fetches.pop(entry.wanted)
            self._cache.failed(entry, UnreachableError(str(problem)))
            return None
        return fetch

    def _fetch(self, entry: Entry, fetch: _Fetch) -> None:
        try:
            self._cache.fetched(entry, self._read(entry))
        except RepriseError as problem:
            self._cache.failed(entry, problem)
        except Exception as problem:  # noqa: BLE001 - whatever it is, callers are served and another try follows
            self._cache.failed(entry, UnreachableError(repr(problem)))
        finally:
            with self._lock:
                self._fetches.pop(entry.wanted, None)
            fetch.ended.set()

    def _read(self, entry: Entry) -> PromptVersions:
        if self._disk and entry.versions is None and (copy := self._disk.load(entry.wanted)):
            entry.restore(*copy)
        known = entry.versions
        reading = read(entry.wanted, known)
        request = next(reading)
        while True:
            reply = self._transport.get(request, self._timeout_s)
            try:
                request = reading.send(reply)
            except StopIteration as end:
                versions: PromptVersions = end.value
                break
        if self._disk and versions != known:
            self._disk.save(entry.wanted, versions)
        return versions

    def _answered(self, request: ClientRequest, **headers: str) -> HttpReply:
        retries = Retries(request)
        while True:
            try:
                return self._transport.run(request, **headers).checked()
            except RepriseError as problem:
                time.sleep(retries.pause_s(problem))

    def _follow(self, request: ClientRequest) -> Iterator[Piece | RunResult]:
        follower, retries = Follower(request), Retries(request)
        while True:
            try:
                with self._transport.follow(request, follower) as pieces:
                    for piece in pieces:
                        for update in follower.feed(piece):
                            yield update
                            if isinstance(update, RunResult):
                                return
                            retries.progressed()
                raise UnreachableError("The stream of the run broke off.")
            except RepriseError as problem:
                time.sleep(retries.pause_s(problem))

    def _result(self, request: ClientRequest) -> RunResult:
        for update in self._follow(request):
            if isinstance(update, RunResult):
                return update
        raise AssertionError("a stream ends with its result or an error")

    def _after_fork(self) -> None:
        """Do without what stayed in the parent: the threads of its requests, the locks they hold, its connections."""
        self._lock, self._fetches, self._transport = threading.Lock(), {}, self._new_transport()
        self._workers = self._new_workers()

    def _new_workers(self) -> Workers:
        """Return threads that end when the client is garbage."""
        workers = Workers(BACKGROUND_KEPT)
        weakref.finalize(self, workers.stop).atexit = False
        return workers


_CLIENTS: weakref.WeakSet[Reprise] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_CLIENTS):
        client._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
