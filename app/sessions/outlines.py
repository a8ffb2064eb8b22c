"""The part of a turn's facts that a list of turns shows: names and calls, which are most of them, are not decoded."""

from __future__ import annotations

import msgspec

from app.values.structs import decoder

Key = tuple[int, int, bytes]
"""Start, end and id of a span: the order in which "the first" of a turn is chosen."""
Opening = tuple[Key, str]
"""The text that a span opens its turn with."""


class TurnOutline(msgspec.Struct, frozen=True, gc=False):
    """The times, spans and errors of a turn, and what opens it. For the fields see `TurnFacts`."""

    start_ns: int
    end_ns: int
    span_count: int
    opening: Opening | None = None
    agent_opening: Opening | None = None
    root_opening: Opening | None = None
    errors: int = 0
    turns: int = 1

    @property
    def preview(self) -> str | None:
        """The text that the turn opens with."""
        opening = self.opening or self.agent_opening or self.root_opening
        return opening[1] if opening else None


class _Versions(msgspec.Struct, frozen=True, gc=False):
    prompt_versions: frozenset[str] = frozenset()


load_outline = decoder(TurnOutline)
"""Decode the outline in the facts that `app.sessions.facts.dump` wrote."""
_load_versions = decoder(_Versions)


def versions_in(dumped: bytes) -> frozenset[str]:
    """Return the versions that the facts of a turn name."""
    return _load_versions(dumped).prompt_versions
