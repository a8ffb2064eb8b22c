"""Batch ids, which mark the spans and turns that one attempt at a batch stored, in order of time."""

from __future__ import annotations

import secrets
from datetime import datetime

_RANDOM_BITS = 21


def first_batch_id(when: datetime) -> int:
    """The lowest id of batches that were received at this time or later."""
    return int(when.timestamp() * 1000) << _RANDOM_BITS


def new_batch_id(now: datetime) -> int:
    """Milliseconds since 1970 and 21 random bits, which tell the attempts of one millisecond apart."""
    return first_batch_id(now) | secrets.randbits(_RANDOM_BITS)
