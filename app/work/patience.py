"""Waits for a database that is away, where what is at stake is too dear to drop."""

from __future__ import annotations

import time
from collections.abc import Callable

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from app.errors import Unavailable

PATIENCE_S = 60.0
PAUSE_S = 1.0


def build_patience(sleep: Callable[[float], None] = time.sleep) -> Retrying:
    """Calls a function again while it raises `Unavailable`, for `PATIENCE_S` at most; then that error is raised."""
    return Retrying(
        retry=retry_if_exception_type(Unavailable),
        stop=stop_after_delay(PATIENCE_S),
        wait=wait_fixed(PAUSE_S),
        sleep=sleep,
        reraise=True,
    )
