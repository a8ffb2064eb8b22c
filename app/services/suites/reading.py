"""Reads the sessions of a prompt for suites: fingerprints, scores, costs, and the effects of tools."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import accumulate
from typing import Literal

import msgspec
from sqlalchemy import Connection

from app.chat import ToolDefinition
from app.models import session_samples
from app.models.session_samples import SampleRow
from app.replay.effects import resolve
from app.replay.types import ToolRules
from app.services.replays.doubts import LOW
from app.suites.features import Effects, ScoredFingerprint
from app.suites.fingerprints import load
from app.suites.samples import Sample
from app.timestamps import ns_of
from app.values.structs import decoder

SESSIONS_MAX = 10_000
"""Sessions that are read at once, the newest ones."""
BYTES_MAX = 16 * 1024 * 1024
"""Bytes of their fingerprints. Ordinary ones have some hundred bytes, the widest 49 KB."""


class _Figures(msgspec.Struct, frozen=True):
    cost_usd: float = 0.0


class _Counted(msgspec.Struct, frozen=True):
    """The part of `app.sessions.figures.Counted` that is read here."""

    figures: _Figures


_load_counted = decoder(_Counted)


@dataclass(frozen=True, slots=True)
class ReadSessions:
    """Sessions, the newest first. `unread` have no fingerprint yet; `is_cut` if there are older ones, too."""

    samples: Sequence[Sample]
    unread: int
    is_cut: bool


def read_sessions(
    connection: Connection,
    *,
    project_id: int,
    prompt_id: int,
    since: datetime,
    until: datetime,
    limit: int = SESSIONS_MAX,
) -> ReadSessions:
    """Return the newest sessions that began in [since, until)."""
    which = {"project_id": project_id, "prompt_id": prompt_id, "from_ns": ns_of(since), "to_ns": ns_of(until)}
    sizes = session_samples.sizes_of_samples(connection, **which, limit=limit + 1)
    many = bisect_right(list(accumulate(sizes[:limit])), BYTES_MAX)
    kept = session_samples.list_samples(connection, **which, limit=many) if many else []
    made = [row for row in kept if row.fingerprint is not None]
    keys = [row.session_key for row in made]
    low = set(session_samples.with_low_score(connection, project_id=project_id, session_keys=keys, below=LOW))
    samples = [_sample(row, row.fingerprint, row.session_key in low) for row in made if row.fingerprint is not None]
    return ReadSessions(samples, len(kept) - len(made), len(sizes) > many)


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
