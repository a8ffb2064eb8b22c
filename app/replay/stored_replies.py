"""What answered the calls of a program's replay, so that its next request does not compare them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec


class CallReply(msgspec.Struct, frozen=True, array_like=True):
    """What the recording found for a call. Steps are those of the turn, by index.

    `accepted` are the steps that accept the call with other arguments than theirs. From `undecided` on all that can be
    compared may accept it, because the budget was used up. `paired` is the step that answers. `moved` are pairs of a
    step and the call that has it now, counted from 0 in the turn. `key` is the fingerprint of the call's arguments,
    empty in the replies of an earlier release. A call that a rule forbids has only its key.
    """

    accepted: tuple[int, ...] = ()
    undecided: int | None = None
    paired: int | None = None
    moved: tuple[tuple[int, int], ...] = ()
    key: bytes = b""


@dataclass(slots=True)
class Replies:
    """The replies to the calls of a replay, in their order: `known` ones, and `new` ones.

    An earlier release has None in the place of a call that a rule forbids.
    """

    known: Sequence[CallReply | None] = ()
    new: list[CallReply | None] = field(default_factory=list)
    _used: int = field(default=0, init=False)

    def next_known(self, calls: int) -> Sequence[CallReply | None]:
        """Return what `known_of` returns for the next calls, which stay the next ones."""
        return self.known[self._used : self._used + calls]

    def known_of(self, calls: int) -> Sequence[CallReply | None]:
        """Return the replies to the next calls, which a model made at once; empty if these are not known."""
        self._used += calls
        return self.known[self._used - calls : self._used]
