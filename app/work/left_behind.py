"""Ages of what the clock watches, measured by this process: no machine's clock is trusted to be right."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

# A little more than the pause between two rounds of the clock.
STEP_S = 6.0
UNSENT_S = 10.0
# A row that looks too old must look so for as long: the clock of its maker may have been wrong.
DOUBT_S = 60.0


@dataclass(slots=True, kw_only=True)
class Watch(Generic[K]):
    """Measures for how many seconds this process has seen each key unchanged.

    The time between two looks counts for `STEP_S` at most: when the database was away, or this process stood still,
    the workers may have done so as well, and get the time to move again.
    """

    monotonic: Callable[[], float] = time.monotonic
    _looked_at: float | None = field(default=None, init=False)
    _ages_s: dict[K, float] = field(default_factory=dict, init=False)

    def look(self, keys: Iterable[K]) -> dict[K, float]:
        """The ages of `keys`; all other keys are forgotten."""
        now = self.monotonic()
        step_s = 0.0 if self._looked_at is None else min(STEP_S, now - self._looked_at)
        self._looked_at = now
        self._ages_s = {key: self._ages_s[key] + step_s if key in self._ages_s else 0.0 for key in keys}
        return self._ages_s


@dataclass(slots=True)
class Resending:
    """Decides when the message of a waiting row is sent again: at `UNSENT_S`, and each time the age has doubled.

    Most waiting rows have a message, behind many others. The first time all are sent: an in-process Redis is empty
    when it begins, and one message too many does no harm.
    """

    _first: bool = True
    _sent_at_age_s: dict[int, float] = field(default_factory=dict, init=False)

    def due(self, ages_s: Mapping[int, float]) -> list[int]:
        """The ids to send now, of those that wait."""
        sent = self._sent_at_age_s
        due = [id_ for id_, age_s in ages_s.items() if self._first or age_s >= max(UNSENT_S, 2 * sent.get(id_, 0.0))]
        self._sent_at_age_s = {id_: sent[id_] for id_ in ages_s if id_ in sent} | {id_: ages_s[id_] for id_ in due}
        self._first = False
        return due
