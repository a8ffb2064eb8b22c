"""The next change of an experiment."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from app.services.experiments.standing import Wanted


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next change of an experiment: results to reuse, replays to add, or the columns of its end.

    `total` is the number of replays planned so far. The unfinished replays of `stopped` arms are cancelled.
    """

    total: int
    summary: dict[str, Any]
    stopped: Collection[int] = ()
    reused: Sequence[tuple[Wanted, int]] = ()
    added: Sequence[Wanted] = ()
    end: dict[str, Any] | None = None
