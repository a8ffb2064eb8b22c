"""Options that several actors share."""

from __future__ import annotations

from typing import Any

from app.redis_store.broker import MAX_AGE_MS

RETRIED: dict[str, Any] = {"min_backoff": 500, "max_backoff": 15_000, "max_age": MAX_AGE_MS}
"""The pauses between retries of an actor, and the age of a message after which it is dropped, in milliseconds.

The actor adds `max_retries`.
"""
