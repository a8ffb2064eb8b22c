"""Options that several actors share."""

from __future__ import annotations

from typing import Any

from app.redis_store.broker import MAX_AGE_MS

RETRIED: dict[str, Any] = {"min_backoff": 500, "max_backoff": 15_000, "max_age": MAX_AGE_MS}
"""The options of an actor that Dramatiq retries; the actor adds `max_retries`."""
