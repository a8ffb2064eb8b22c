"""Retries calls that failed: exponential back-off with full jitter, Retry-After, and a deadline."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from app.errors import ProviderTimeout
from app.providers.failures import ProviderFailure

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retry:
    """The number of attempts and the pauses between them; tests replace `monotonic`, `sleep` and `uniform`.

    The n-th pause is drawn from 0 to min(`longest_s`, `first_s` · 2ⁿ), and is never shorter than the vendor's
    Retry-After.
    """

    attempts: int = 4
    first_s: float = 0.5
    longest_s: float = 8.0
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform

    def call(self, attempt: Callable[[float], T], timeout_s: float) -> T:
        """Call `attempt` with the seconds that are left until the deadline, up to `attempts` times.

        Raises the last failure when it isn't retryable, attempts are used up, or the pause would not end
        before the deadline; `ProviderTimeout` when no time is left for an attempt.
        """
        deadline = self.monotonic() + timeout_s
        for ordinal in range(self.attempts):
            left = deadline - self.monotonic()
            if left <= 0:
                break
            try:
                return attempt(left)
            except ProviderFailure as failed:
                backoff = self.uniform(0.0, min(self.longest_s, self.first_s * 2**ordinal))
                pause = max(backoff, failed.retry_after_s or 0.0)
                last = ordinal == self.attempts - 1
                if last or not failed.retryable or self.monotonic() + pause >= deadline:
                    raise
            self.sleep(pause)
        raise ProviderTimeout(f"No answer within {timeout_s:g} s.")
