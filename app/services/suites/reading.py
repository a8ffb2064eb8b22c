"""Reads the sessions of a prompt for suites: fingerprints, scores, costs, and the effects of tools."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import accumulate
from typing import Literal

import msgspec
from sqlalchemy import Connection

from app.chat import ToolDefinition
from app.database.transactions import Database
from app.models import session_samples
from app.models.session_samples import SampleRow
from app.replay.case_types import ToolRules
from app.replay.effects import resolve
from app.services.replays.mistake_signs import LOW_SCORE
from app.services.sessions.reading import LargeReads
from app.suites.features import Effects, ScoredFingerprint
from app.suites.fingerprints import load
from app.suites.samples import Sample
from app.timestamps import ns_of
from app.values.structs import decoder

SESSIONS_MAX = 10_000
"""Sessions that are read at once, the newest ones."""
BYTES_MAX = 16 * 1024 * 1024
"""Bytes of their fingerprints and figures, of all periods together. Ordinary ones have some hundred bytes each.

The widest fingerprints have 49 KB. The figures of a session of very many turns have about 30 KB.
"""
SMALL_BYTES = 64 * 1024
"""Bytes of fingerprints, figures and features that are read without `LargeReads`."""
HELD_PER_BYTE = 4
"""Bytes to hold in `LargeReads` for each byte of fingerprints, figures and features.

A proposal needs about 8 bytes of memory for one of these, and a session 2 bytes for one that it holds.
"""


class _Figures(msgspec.Struct, frozen=True):
    cost_usd: float = 0.0


class _Counted(msgspec.Struct, frozen=True):
    """The part of `app.sessions.figures.Counted` that is read here."""

    figures: _Figures


_load_counted = decoder(_Counted)


@dataclass(frozen=True, slots=True)
class ReadSessions:
    """Sessions, the newest first. `unread` have no fingerprint yet; `is_cut` if there are older ones, too.

    `left_out` of these older ones are within the period's limit: their fingerprints and figures did not fit.
    """

    samples: Sequence[Sample]
    unread: int
    left_out: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Period:
    """The newest sessions that began in [since, until), at most `limit`."""

    since: datetime
    until: datetime
    limit: int = SESSIONS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleReader:
    """Reads the sessions of a prompt. Few large readings are in the memory of a process at once."""

    database: Database
    large: LargeReads

    @contextmanager
    def opened(
        self, periods: Sequence[Period], *, project_id: int, prompt_id: int, features_bytes: int
    ) -> Iterator[list[ReadSessions]]:
        """Return the sessions of each period, and hold their memory during the block.

        Also holds `features_bytes` for test cases, which the caller reads in the block. If not all fingerprints fit,
        those of the first periods are read. Raises `Unavailable` if not enough memory is free in time.
        """
        owner = {"project_id": project_id, "prompt_id": prompt_id}
        with self.database.read() as connection:
            sizes = [
                session_samples.sizes_of_samples(connection, **_which(period, **owner), limit=period.limit)
                for period in periods
            ]
        size = sum(map(sum, sizes))
        # More sessions may come before they are read.
        size += size // 8
        bytes_max = min(BYTES_MAX, max(SMALL_BYTES, size))
        if size + features_bytes <= SMALL_BYTES:
            yield self._read(periods, bytes_max, **owner)
        else:
            with self.large.hold(project_id, (bytes_max + features_bytes) * HELD_PER_BYTE):
                yield self._read(periods, bytes_max, **owner)

    def _read(
        self, periods: Sequence[Period], bytes_max: int, *, project_id: int, prompt_id: int
    ) -> list[ReadSessions]:
        reads = []
        with self.database.read() as connection:
            for period in periods:
                read, size = _read_sessions(connection, period, bytes_max, project_id=project_id, prompt_id=prompt_id)
                reads.append(read)
                bytes_max = 0 if read.left_out else bytes_max - size
        return reads


def _which(period: Period, project_id: int, prompt_id: int) -> dict[str, int]:
    times = {"from_ns": ns_of(period.since), "to_ns": ns_of(period.until)}
    return {"project_id": project_id, "prompt_id": prompt_id, **times}


def _read_sessions(
    connection: Connection, period: Period, bytes_max: int, *, project_id: int, prompt_id: int
) -> tuple[ReadSessions, int]:
    """Return the newest sessions of a period that fit, and the bytes of their fingerprints and figures."""
    which = _which(period, project_id, prompt_id)
    sizes = session_samples.sizes_of_samples(connection, **which, limit=period.limit + 1)
    totals = list(accumulate(sizes[: period.limit]))
    fitting = bisect_right(totals, bytes_max)
    kept = session_samples.list_samples(connection, **which, limit=fitting) if fitting else []
    made = [row for row in kept if row.fingerprint is not None]
    keys = [row.session_key for row in made]
    scored = session_samples.low_scores(connection, project_id=project_id, session_keys=keys, below=LOW_SCORE)
    low = {key for key, _, _ in scored}
    samples = [_sample(row, row.fingerprint, row.session_key in low) for row in made if row.fingerprint is not None]
    read = ReadSessions(samples, len(kept) - len(made), len(totals) - fitting, len(sizes) > fitting)
    return read, totals[fitting - 1] if fitting else 0


def _sample(row: SampleRow, fingerprint: bytes, has_low_score: bool) -> Sample:
    cost_usd = _load_counted(row.counted).figures.cost_usd if row.counted else 0.0
    scored = ScoredFingerprint(load(fingerprint), has_low_score)
    return Sample(row.session_key.hex(), row.start_ns, row.turns, cost_usd, scored)


def effects_of(tools: Sequence[ToolDefinition]) -> Effects:
    """Return a function that returns the effect of a tool by a prompt's definitions, else by its name."""
    defined = {tool.name: tool for tool in tools}

    @cache
    def effect_of(tool: str) -> Literal["read", "write"]:
        return resolve(tool, ToolRules(), defined.get(tool), None).effect

    return effect_of
