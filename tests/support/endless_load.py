"""Batches that come in without a pause, by a clock that the test turns."""

from __future__ import annotations

PIECE_S = 0.35


class EndlessLoad:
    """Each piece that a job does lasts `PIECE_S`: it looks at `busy` once after it."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def busy(self) -> bool:
        self.now_s += PIECE_S
        return True
