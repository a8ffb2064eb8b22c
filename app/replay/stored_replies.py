"""Stored replies to the calls of a program's replay, so that its next request does not compare the calls again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec


class StoredReply(msgspec.Struct, frozen=True, array_like=True):
    """The recording's reply to a call. Steps are indexes in the turn, calls are numbers from 0 in the turn.

    - `accepted`: the steps that accept the call although their arguments are others.
    - `undecided`: the first step that was not compared, because the budget was used up. It and all later steps of the
      tool may accept the call.
    - `paired`: the step that answers the call.
    - `moved`: pairs (step, call) that this call changed.
    - `key`: the fingerprint of the call's arguments; empty in replies that an earlier release stored.

    The reply to a call that a rule forbids has only a `key`.
    """

    accepted: tuple[int, ...] = ()
    undecided: int | None = None
    paired: int | None = None
    moved: tuple[tuple[int, int], ...] = ()
    key: bytes = b""


@dataclass(slots=True)
class StoredReplies:
    """The replies to the calls of a replay in the order of the calls: `stored` ones, then `new` ones.

    An earlier release stored None for a call that a rule forbids.
    """

    stored: Sequence[StoredReply | None] = ()
    new: list[StoredReply | None] = field(default_factory=list)
    _used: int = field(default=0, init=False)

    def upcoming(self, calls: int) -> Sequence[StoredReply | None]:
        """Return the stored replies to the next calls, without advancing."""
        return self.stored[self._used : self._used + calls]

    def advance(self, calls: int) -> Sequence[StoredReply | None]:
        """Return the stored replies to the next calls, and advance by them; empty if none is stored."""
        self._used += calls
        return self.stored[self._used - calls : self._used]
