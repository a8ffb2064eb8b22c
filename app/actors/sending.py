"""What happens when messages of work that is stored can't be sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis

from app.errors import Unavailable


@contextmanager
def logged_if_unsent(log: Any, event: str, **about: object) -> Iterator[None]:
    """Log `event`, with the fields `about`, if Redis or the database is away while the block sends messages."""
    try:
        yield
    except (redis.RedisError, Unavailable) as error:
        log.warning(event, **about, error=str(error))
