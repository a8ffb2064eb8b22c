"""The prompts that a client remembers, and when each is asked for again. It does no input or output."""

from __future__ import annotations

import logging
import random
import time
from copy import copy
from dataclasses import dataclass, replace

from reprise_client.errors import ApiError, RateLimitedError, RepriseError, ServerError, UnreachableError
from reprise_client.prompts import Prompt
from reprise_client.records import Fallback, PromptVersions, Record
from reprise_client.wanted import WantedVersion

log = logging.getLogger("reprise_client")

# Beyond this the entry that was used longest ago goes, so that ids from outside can't fill the memory.
ENTRIES_MAX = 1000
PAUSE_S, PAUSE_MAX_S = 1.0, 30.0


@dataclass(frozen=True, slots=True)
class _Known:
    """The state of an entry; times are monotonic seconds.

    `confirmed_at` is when the server last sent or confirmed the versions, `retry_at` when it is asked again.
    """

    versions: PromptVersions | None = None
    confirmed_at: float = 0.0
    retry_at: float = 0.0
    failures: int = 0
    problem: RepriseError | None = None


class Entry:
    """One remembered prompt. What is known is replaced as a whole, so readers need no lock."""

    def __init__(self, wanted: WantedVersion) -> None:
        self.wanted = wanted
        self.used_at = time.monotonic()
        self._known = _Known()
        self._fallback: tuple[Fallback, Record] | None = None

    @property
    def versions(self) -> PromptVersions | None:
        return self._known.versions

    @property
    def problem(self) -> RepriseError | None:
        return self._known.problem

    @property
    def tried(self) -> bool:
        """Return whether a request for the prompt has ended."""
        return self._known.retry_at > 0

    def due(self, now: float) -> bool:
        return now >= self._known.retry_at

    def restore(self, versions: PromptVersions, age_s: float) -> None:
        """Keep the versions that were read from disk, unless the server has sent them meanwhile."""
        if self._known.versions is None:
            self._known = replace(self._known, versions=versions, confirmed_at=time.monotonic() - age_s)

    def confirm(self, versions: PromptVersions, fresh_s: float) -> None:
        """Store what the server has sent or confirmed."""
        if self._known.problem is not None:
            log.info("%s: fetched again", self.wanted)
        now = time.monotonic()
        self._known = _Known(versions, confirmed_at=now, retry_at=now + fresh_s)

    def fail(self, problem: RepriseError, fresh_s: float) -> None:
        """Keep what is known, and pause. The kind of problem is logged once, until it changes."""
        before = self._known
        if type(problem) is not type(before.problem):
            log.warning("%s: %s: %s", self.wanted, type(problem).__name__, problem)
        pause_s = _pause_s(problem, before, fresh_s)
        retry_at = time.monotonic() + pause_s
        # Its frames are of no use to whoever reads the problem, and would be kept with it.
        problem.__traceback__ = problem.__context__ = problem.__cause__ = None
        self._known = replace(self._known, retry_at=retry_at, failures=before.failures + 1, problem=problem)

    def serve(self, split_key: str | None, fallback: Fallback | None, fresh_s: float) -> Prompt:
        """Return what the server gave, else the fall-back; raise the problem, if there is neither."""
        known, fallback_record = self._known, None if fallback is None else self._record_of(fallback)
        if known.versions is not None:
            age_s = max(0.0, time.monotonic() - known.confirmed_at)
            # A copy from disk is stale however young it is: this process has not heard of it from the server.
            fresh = known.problem is None and age_s <= fresh_s and known.retry_at > 0
            record = known.versions.record_for(self.wanted.label, split_key)
            return Prompt(record, "fresh" if fresh else "stale", known.problem, age_s)
        problem = known.problem or UnreachableError("The server has not answered yet.")
        if fallback_record is None:
            # A new one for each caller, as raising an error changes it.
            raise copy(problem)
        return Prompt(fallback_record, "fallback", problem)

    def _record_of(self, fallback: Fallback) -> Record:
        """Return the record of a fall-back, which is read once."""
        read = self._fallback
        if read is None or (read[0] is not fallback and read[0] != fallback):
            read = self._fallback = (fallback, Record.of_fallback(fallback, self.wanted.prompt_id))
        return read[1]


def _pause_s(problem: RepriseError, before: _Known, fresh_s: float) -> float:
    """Return the seconds until the next request: few after one failure, up to `PAUSE_MAX_S` after many.

    With a copy to serve, an answer that asking again does not change, such as 404, is asked for as often as a fresh
    prompt.
    """
    if before.versions and isinstance(problem, ApiError) and not isinstance(problem, RateLimitedError | ServerError):
        return fresh_s
    # Not all processes that lost the server at once come back at once.
    growing = min(PAUSE_S * 2.0 ** min(before.failures, 10), PAUSE_MAX_S) * random.uniform(0.5, 1.0)  # noqa: S311
    retry_after_s = problem.retry_after_s if isinstance(problem, RateLimitedError | ServerError) else None
    return max(growing, retry_after_s or 0.0)


class PromptCache:
    """The entries of a client; `quiet_until` is when a rate limit of the API key ends, in monotonic seconds."""

    def __init__(self, fresh_s: float) -> None:
        self.fresh_s = fresh_s
        self.quiet_until = 0.0
        self._entries: dict[WantedVersion, Entry] = {}

    def entry(self, wanted: WantedVersion) -> Entry:
        entry = self._entries.get(wanted) or self._added(wanted)
        entry.used_at = time.monotonic()
        return entry

    def due(self, entry: Entry) -> bool:
        """Return whether the entry is to be asked for now; the rate limit holds back what can be served without."""
        now = time.monotonic()
        return entry.due(now) and (entry.versions is None or now >= self.quiet_until)

    def fetched(self, entry: Entry, versions: PromptVersions) -> None:
        entry.confirm(versions, self.fresh_s)

    def failed(self, entry: Entry, problem: RepriseError) -> None:
        if isinstance(problem, RateLimitedError):
            self.quiet_until = max(self.quiet_until, time.monotonic() + (problem.retry_after_s or 0.0))
        entry.fail(problem, self.fresh_s)

    def _added(self, wanted: WantedVersion) -> Entry:
        # Each step is atomic; threads that are here together drop an entry too many.
        if len(self._entries) >= ENTRIES_MAX:
            oldest = min(list(self._entries.values()), key=lambda entry: entry.used_at)
            self._entries.pop(oldest.wanted, None)
        return self._entries.setdefault(wanted, Entry(wanted))
