"""Keeps turns and sessions up to date in the transaction that stores their spans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType

from msgspec import structs
from sqlalchemy import Connection

from app.models import queries, sessions, turns
from app.models.sessions import SessionRow
from app.models.spans import TurnKey
from app.models.turns import TurnRow
from app.otlp.span import Span
from app.sessions.facts import TurnFacts, dump, load, merge
from app.sessions.outlines import Opening
from app.sessions.recounting import has_several_calls, may_change_agent_tokens, may_share_calls
from app.sessions.sums import SessionTotals
from app.values.budget import UNLIMITED, WorkBudget

TURNS_AT_ONCE = 512
"""Turns of which the facts are in memory at once: those they had, and those they get."""
MOVED_AT_ONCE = 100
"""Turns with facts of any release that are moved to another session at once."""


@dataclass(frozen=True, slots=True)
class TurnPart:
    """The facts of one turn from the spans of a batch, and the key of the turn's session."""

    prompt_id: int
    trace_id: bytes
    facts: TurnFacts
    session_key: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "session_key", session_key(self.prompt_id, self.trace_id, self.facts))

    @property
    def key(self) -> TurnKey:
        return (self.prompt_id, self.trace_id)


def session_key(prompt_id: int, trace_id: bytes, facts: TurnFacts) -> bytes:
    """Return the 16-byte key of a turn's session.

    The turns of a conversation share it; a turn without a conversation is a separate session.
    """
    if facts.joined:
        return facts.joined
    return (
        conversation_key(prompt_id, facts.conversation[1]) if facts.conversation else _key(prompt_id, b"t" + trace_id)
    )


def conversation_key(prompt_id: int, conversation_id: str) -> bytes:
    """Return the session key of a conversation with a prompt."""
    return _key(prompt_id, f"c{conversation_id}".encode())


def _key(prompt_id: int, named: bytes) -> bytes:
    return blake2b(named, key=str(prompt_id).encode(), digest_size=16).digest()


Hashes = Mapping[int, Collection[str]]
"""Version hashes by prompt."""


def parts_of(
    ordered: Sequence[Span], hashes: Hashes = MappingProxyType({}), budget: WorkBudget = UNLIMITED
) -> list[TurnPart]:
    """Return the turns of spans, in key order; the budget is for reading messages, see `TurnFacts.of`."""
    key = attrgetter("prompt_id", "trace_id")
    turns_of = groupby(sorted(ordered, key=key), key=key)
    return [TurnPart(*turn, TurnFacts.of(group, hashes.get(turn[0], ()), budget)) for turn, group in turns_of]


def add_to_turns(
    connection: Connection, project_id: int, batch_id: int, fresh: Sequence[TurnPart]
) -> dict[TurnKey, int]:
    """Add the new spans' facts to their turns, and the turns to their sessions.

    Returns the turns that must be counted again from all of their spans (see `app/sessions/recounting.py`), with the
    numbers of their spans.
    """
    rows = [_turn_row(project_id, batch_id, turn) for turn in fresh]
    left: set[bytes] = set()
    before: dict[TurnKey, TurnFacts] = {}
    recounts = {part.key: part.facts.span_count for part in fresh if may_change_agent_tokens(part.facts)}
    if turns.insert_new(connection, rows) < len(rows):
        by_key = {turn.key: turn for turn in fresh}
        stored = turns.lock_existing(connection, project_id=project_id, keys=list(by_key), batch_id=batch_id)
        before = {row.key: load(row.facts) for row in stored}
        merged = {key: replace(by_key[key], facts=merge(facts, by_key[key].facts)) for key, facts in before.items()}
        recounted = [key for key, facts in before.items() if _must_be_recounted(by_key[key].facts, facts)]
        recounts = {key: count for key, count in recounts.items() if key not in before}
        recounts |= {key: merged[key].facts.span_count for key in recounted}
        turns.replace(connection, [_merged_row(row, batch_id, merged[row.key]) for row in stored])
        left = {row.session_key for row in stored if row.session_key != merged[row.key].session_key}
        fresh = list((by_key | merged).values())
    sessions.put(connection, session_rows(project_id, batch_id, fresh, before), project_id=project_id)
    sessions.settle(connection, project_id=project_id, session_keys=left)
    return recounts


def _must_be_recounted(facts: TurnFacts, before: TurnFacts) -> bool:
    return may_share_calls(before, facts) or may_change_agent_tokens(facts, before)


def move_turns(connection: Connection, project_id: int, batch_id: int, keys: Sequence[TurnKey], session: bytes) -> None:
    """Move locked turns to another session."""
    left: set[bytes] = set()
    for piece in queries.pieces(keys, MOVED_AT_ONCE):
        rows = turns.lock_existing(connection, project_id=project_id, keys=piece)
        left |= {row.session_key for row in rows}
        before = {row.key: load(row.facts) for row in rows}
        moved = [TurnPart(*key, structs.replace(facts, joined=session)) for key, facts in before.items()]
        pairs = zip(rows, moved, strict=True)
        turns.replace(connection, [replace(row, session_key=session, facts=dump(part.facts)) for row, part in pairs])
        sessions.put(connection, session_rows(project_id, batch_id, moved, before), project_id=project_id)
    sessions.settle(connection, project_id=project_id, session_keys=left)


def add_openings(
    connection: Connection,
    project_id: int,
    batch_id: int,
    keys: Sequence[TurnKey],
    openings: Mapping[TurnKey, Opening],
) -> None:
    """Replace the openings of turns by earlier ones, and mark turns with new log records as unsettled.

    Turns that are no longer stored are skipped.
    """
    for piece in queries.pieces(sorted(keys), TURNS_AT_ONCE):
        stored = turns.lock_existing(connection, project_id=project_id, keys=piece)
        turns.replace(connection, _with_openings(stored, batch_id, openings))


def _with_openings(stored: Sequence[TurnRow], batch_id: int, openings: Mapping[TurnKey, Opening]) -> list[TurnRow]:
    """Return the rows that change."""
    changed = []
    for row in stored:
        facts, opening, new = load(row.facts), openings.get(row.key), row
        if has_several_calls(facts) and row.unsettled is None:
            new = replace(new, unsettled=batch_id)
        if opening and (facts.opening is None or opening < facts.opening):
            facts = structs.replace(facts, opening=opening, agent_opening=None)
            new = replace(new, opening=opening[1], facts=dump(facts))
        if new is not row:
            changed.append(new)
    return changed


def session_rows(
    project_id: int, batch_id: int, fresh: Sequence[TurnPart], before: Mapping[TurnKey, TurnFacts]
) -> list[SessionRow]:
    """Return the sessions of turns, each with what the turns add to it.

    `before` are the facts that some turns already had.
    """
    turns_of: dict[bytes, list[TurnPart]] = defaultdict(list)
    for turn in fresh:
        turns_of[turn.session_key].append(turn)
    return [_session_row(project_id, batch_id, turns_of[key], before) for key in sorted(turns_of)]


def _session_row(
    project_id: int, batch_id: int, parts: Sequence[TurnPart], before: Mapping[TurnKey, TurnFacts]
) -> SessionRow:
    """Return the session of one or more turns that share its key."""
    first, totals = parts[0], SessionTotals()
    for turn in parts:
        earlier = before.get(turn.key)
        same = earlier and session_key(turn.prompt_id, turn.trace_id, earlier) == turn.session_key
        totals.add(turn.facts, earlier if same else None)
    return SessionRow(
        first.session_key,
        project_id,
        first.prompt_id,
        first.facts.conversation[1] if first.facts.conversation else None,
        totals.start_ns,
        totals.last_ns,
        *totals.sums,
        duration_ns=totals.last_ns - totals.start_ns,
        user_id=totals.user_id,
        names=totals.names,
        uncounted=batch_id,
        active=totals.active,
        calls=totals.calls.lines,
    )


def _turn_row(project_id: int, batch_id: int, turn: TurnPart) -> TurnRow:
    return TurnRow(
        project_id,
        turn.prompt_id,
        turn.trace_id,
        turn.session_key,
        turn.facts.start_ns,
        turn.facts.end_ns,
        turn.facts.preview,
        dump(turn.facts),
        batch_id,
        response_key=turns.response_key(turn.facts.response[1]) if turn.facts.response else None,
        unsettled=batch_id if may_change_agent_tokens(turn.facts) or turn.facts.may_have_turns else None,
    )


def _merged_row(row: TurnRow, batch_id: int, turn: TurnPart) -> TurnRow:
    """Return the row of a turn with spans of a further batch, in which some calls may be copies of earlier ones."""
    new = _turn_row(row.project_id, batch_id, turn)
    unsettled = (
        batch_id if has_several_calls(turn.facts) or turn.facts.counts_agents else new.unsettled or row.unsettled
    )
    return replace(new, unsettled=unsettled)
