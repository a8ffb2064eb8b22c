"""Stored conversations by the million, written by the functions that ingest writes with."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache

from msgspec import structs
from sqlalchemy import insert

from app.database.transactions import Database
from app.models import scores, sessions, spans, turns, usage
from app.models.runs import runs
from app.models.span_bodies import RewrittenSpan, joined_by_turn
from app.models.turns import TurnRow
from app.otlp.decode import decode
from app.services.ingest.turns import TurnPart, session_key, session_rows
from app.sessions.facts import TurnFacts, dump, load
from bench.spans import ASKED, SPANS_PER_TURN, batch

TURNS_PER_SESSION = 4
TURNS_AT_ONCE = 400
DAY_NS = 86_400 * 10**9
SPREAD_DAYS = 90
# Users that conversations belong to, and of how many conversations one has a tool that fails.
USERS, FAILING_OF = 1_000, 20
# The words that occur only in one of this many conversations.
RARE, RARE_OF = "Is refund 4711 not possible in 東京? ", 500


@dataclass(frozen=True)
class Maker:
    """Writes into a project's prompts; the first of them gets half of everything."""

    database: Database
    project_id: int
    prompt_ids: Sequence[int]

    def spans(self, count: int) -> float:
        """Write about so many spans with their turns and sessions; spans a second."""
        started = time.perf_counter()
        made = 0
        while made < count:
            rows = [
                row for _ in range(TURNS_AT_ONCE // TURNS_PER_SESSION) for row in self._conversation(TURNS_PER_SESSION)
            ]
            made += self._write(rows)
        return made / (time.perf_counter() - started)

    def long_session(self, turns_of_it: int) -> str:
        """One conversation of so many turns; its id."""
        rows = list(self._conversation(turns_of_it, self.prompt_ids[0]))
        self._write(rows)
        return rows[0].session_key.hex()

    def runs(self, count: int, model_id: int) -> None:
        """Write runs, and what they add to the usage of their days."""
        now = datetime.now(UTC)
        days: Counter[tuple[date, int, int]] = Counter()
        for start in range(0, count, 2000):
            values = [
                {
                    "project_id": self.project_id,
                    "prompt_id": self._prompt(),
                    "source": "api",
                    "status": "done",
                    "request": {"format": "XML", "files": [], "config": {}, "resolved": {}, "ignored": []},
                    "question": "What is the weather in Paris?",
                    "answer": "Sun in the morning, clouds at noon, light rain towards the evening.",
                    "language_model_id": model_id,
                    "created_at": now - timedelta(seconds=secrets.randbelow(SPREAD_DAYS * 86_400)),
                }
                for _ in range(start, min(start + 2000, count))
            ]
            with self.database.write() as connection:
                connection.execute(insert(runs), values)
            days.update(
                (run["created_at"].date(), run["prompt_id"], place % usage.SLOTS) for place, run in enumerate(values)
            )
        spent = [
            {
                "day": day,
                "prompt_id": prompt_id,
                "slot": slot,
                **asdict(usage.Spent(runs=made, prompt_tokens=900 * made)),
            }
            for (day, prompt_id, slot), made in days.items()
        ]
        named = {"project_id": self.project_id, "language_model_id": model_id, "api_key_id": 0, "source": "api"}
        with self.database.write() as connection:
            # As if a version were committed before each call: no row is there yet.
            version = {"commit_hash": secrets.token_hex(32)}
            connection.execute(insert(usage.usage_daily), [row | named | version for row in spent])

    def _prompt(self) -> int:
        return self.prompt_ids[0] if secrets.randbits(1) else secrets.choice(self.prompt_ids)

    def _conversation(self, length: int, prompt_id: int = 0) -> Iterator[TurnRow]:
        prompt_id = prompt_id or self._prompt()
        start_ns = time.time_ns() - secrets.randbelow(SPREAD_DAYS * DAY_NS)
        pattern, conversation = _facts(prompt_id), secrets.token_hex(8)
        user_id = f"user-{secrets.randbelow(USERS)}"
        if not secrets.randbelow(FAILING_OF):
            pattern = structs.replace(pattern, errors=1, tool_errors=1, failed_tools=pattern.tools)
        for place in range(length):
            begun = start_ns + place * 60 * 10**9
            named = ((begun, begun + 10**9, secrets.token_bytes(8)), conversation)
            user = (0, named[0], user_id)
            facts = structs.replace(pattern, conversation=named, user=user, start_ns=begun, end_ns=begun + 10**9)
            trace_id = secrets.token_bytes(16)
            opening = facts.opening[1] if facts.opening else None
            key = session_key(prompt_id, trace_id, facts)
            batch_id = (begun // 10**6) << 21 | secrets.randbits(21)
            yield TurnRow(
                self.project_id, prompt_id, trace_id, key, begun, facts.end_ns, opening, dump(facts), batch_id
            )

    def _write(self, rows: Sequence[TurnRow]) -> int:
        batch_ids = {row.trace_id: row.batch_id for row in rows}
        made = sorted(
            RewrittenSpan(row.trace_id, secrets.token_bytes(8), row.prompt_id, "bench", body)
            for row in rows
            for body in _bodies(RARE if not int.from_bytes(row.session_key[:4], "big") % RARE_OF else ASKED)
        )
        stored = joined_by_turn(made)
        written = [spans.row_of(self.project_id, batch_ids[span.trace_id], span, stored[span[:2]]) for span in made]
        parts = [TurnPart(row.prompt_id, row.trace_id, load(row.facts)) for row in rows]
        with self.database.write() as connection:
            spans.insert_new(connection, written)
            turns.insert_new(connection, sorted(rows, key=lambda row: row.key))
            scores.insert_new(connection, [_score(row) for row in rows])
            added = session_rows(self.project_id, rows[0].batch_id, parts, {})
            sessions.put(connection, added, project_id=self.project_id)
        return len(written)


def _score(row: TurnRow) -> scores.NewScore:
    """Return a score of a turn, as a model call's."""
    value = secrets.randbelow(100) / 100
    given = ("helpful", value, None, "It answers the question.", "otlp", None)
    digest, span_id = secrets.token_bytes(16), secrets.token_bytes(8)
    return (row.project_id, digest, row.prompt_id, row.trace_id, span_id, row.start_ns, *given)


_FACTS: dict[int, TurnFacts] = {}


def _facts(prompt_id: int) -> TurnFacts:
    if prompt_id not in _FACTS:
        _FACTS[prompt_id] = TurnFacts.of(decode(batch(prompt_id, SPANS_PER_TURN, start_ns=10**18)).spans)
    return _FACTS[prompt_id]


@cache
def _bodies(asked: str) -> list[bytes]:
    """Return the spans of a turn that begins so; nothing else differs, as only their size and words matter."""
    made = decode(batch(1, SPANS_PER_TURN, start_ns=10**18, asked=asked))
    return [bytes(span.raw) for span in made.spans]
