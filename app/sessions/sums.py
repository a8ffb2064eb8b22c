"""The sums over the turns of a session, kept with the session so that lists can filter and sort by it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from app.otlp.values import MAX_INT64
from app.sessions.bounds import count_within
from app.sessions.facts import EDITION, TurnFacts, cut_name
from app.sessions.model_calls import CallSums

Kind = Literal["model", "version", "tool", "failed_tool"]
NAMES_MAX = 400
"""Names kept of a session."""
NAMES_BYTES = 32 * 1024
"""Bytes of UTF-8 of the names kept of a session, and up to one name more: lists read them with each session."""
FULL_LENGTH_MIN = 4 * NAMES_MAX
"""The least length of a text with `NAMES_MAX` names: each has a mark, a colon, a character or more, and a line end."""
_TEXTS_AT_ONCE = 64
_MARKS: dict[Kind, str] = {"model": "m", "version": "v", "tool": "t", "failed_tool": "f"}


class SessionSums(NamedTuple):
    """Sums over turns; `errors` is None where the facts of some are of an earlier edition, so that they lack others."""

    turns: int = 0
    errors: int | None = 0
    tool_calls: int = 0
    tool_errors: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @classmethod
    def of(cls, facts: TurnFacts) -> SessionSums:
        errors = facts.errors if facts.edition == EDITION else None
        tokens = facts.usage
        return cls(facts.turns, errors, facts.tool_calls, facts.tool_errors, tokens.input_tokens, tokens.output_tokens)

    def plus(self, other: SessionSums, times: int = 1) -> SessionSums:
        """Add the other sums, or subtract them with `times` -1."""
        known = self.errors is not None and other.errors is not None
        return SessionSums(
            self.turns + times * other.turns,
            (self.errors or 0) + times * (other.errors or 0) if known else None,
            self.tool_calls + times * other.tool_calls,
            self.tool_errors + times * other.tool_errors,
            self.input_tokens + times * other.input_tokens,
            self.output_tokens + times * other.output_tokens,
        )


def names_of(facts: TurnFacts) -> str:
    """Return the names of a turn's models, versions and tools, as `with_names` writes them."""
    return _names(facts.models, facts.prompt_versions, facts.tools, facts.failed_tools)


@lru_cache(maxsize=64)  # most turns of a prompt have the same names, which may be 100 KB
def _names(
    models: frozenset[str], versions: frozenset[str], tools: frozenset[str], failed_tools: frozenset[str]
) -> str:
    named: tuple[tuple[Kind, Iterable[str]], ...] = (
        ("model", models),
        ("version", versions),
        ("tool", tools),
        ("failed_tool", failed_tools),
    )
    return _text({_line(kind, name) for kind, names in named for name in names})


_NOTHING = SessionSums()


class SessionTotals:
    """Adds up turns of one session. Their names are joined some at a time: each text may have `NAMES_MAX` of them."""

    def __init__(self) -> None:
        self.sums = _NOTHING
        self.calls = CallSums()
        self.active = 0
        self.start_ns, self.last_ns = MAX_INT64, 0
        # The start of the turn that names the user, and the user's id.
        self._user: tuple[int, str] | None = None
        self._names: set[str] = set()

    def add(self, facts: TurnFacts, before: TurnFacts | None = None) -> None:
        """Add a turn; `before` are the facts that the session has of it."""
        sums = SessionSums.of(facts)
        # Most sessions of a batch have one turn in it.
        self.sums = sums if self.sums is _NOTHING else self.sums.plus(sums)
        self.calls.add(facts.calls, before.calls if before else ())
        self.start_ns, self.last_ns = min(self.start_ns, facts.start_ns), max(self.last_ns, facts.end_ns)
        if before:
            self.sums = self.sums.plus(SessionSums.of(before), -1)
        self.active = max(self.active, int(facts.is_active))
        if facts.user and facts.user[2]:
            self._add_user((facts.start_ns, facts.user[2]))
        self._add_names({names_of(facts)})

    def join(self, other: SessionTotals) -> None:
        """Add other turns of the same session."""
        self.sums = self.sums.plus(other.sums)
        self.calls.add(other.calls.calls)
        self.start_ns, self.last_ns = min(self.start_ns, other.start_ns), max(self.last_ns, other.last_ns)
        self.active = max(self.active, other.active)
        if other._user:
            self._add_user(other._user)
        self._add_names(other._names)

    def join_names(self) -> None:
        """Join the names to one text, which needs less memory."""
        self._names = {self.names or ""}

    def _add_user(self, user: tuple[int, str]) -> None:
        """Note a user unless a turn that started earlier, or was added before, has one."""
        if not self._user or user[0] < self._user[0]:
            self._user = user

    def _add_names(self, names: set[str]) -> None:
        self._names |= names
        if len(self._names) > _TEXTS_AT_ONCE:
            self.join_names()

    @property
    def user_id(self) -> str | None:
        return self._user[1] if self._user else None

    @property
    def names(self) -> str | None:
        return with_names(*self._names or ("",)) or None


def with_names(*texts: str) -> str:
    """Return sets of names as lines of one text, which begins with a line end, so that each name can be found."""
    first, *others = texts
    if not others:
        return first
    known, added = set(first.split("\n")), set(chain.from_iterable(text.split("\n") for text in others))
    return first if added <= known else _text(known | added)


def may_lack_names(text: str) -> bool:
    """Return whether a session may have further names, which its text has no room for."""
    return text.count("\n") > NAMES_MAX or len(text.encode()) >= NAMES_BYTES


def names_in(text: str, kind: Kind) -> tuple[str, ...]:
    """Return the names of a kind, in order."""
    mark = f"{_MARKS[kind]}:"
    return tuple(line.removeprefix(mark) for line in text.split("\n") if line.startswith(mark))


def part_of_names(kind: Kind, name: str) -> str:
    """Return the part that the text of a session's names has if the name is among them."""
    return f"\n{_line(kind, name)}\n"


def _line(kind: Kind, name: str) -> str:
    one_line = name.replace("\n", " ")
    return f"{_MARKS[kind]}:{cut_name(one_line)}"


def _bytes_of(line: str) -> int:
    return len(line.encode())


def _text(lines: Iterable[str]) -> str:
    ordered = sorted(filter(None, lines))
    kept = ordered[: count_within(ordered, _bytes_of, most=NAMES_MAX, most_bytes=NAMES_BYTES)]
    return "\n" + "\n".join(kept) + "\n" if kept else ""
