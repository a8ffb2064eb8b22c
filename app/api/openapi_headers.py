"""The headers of requests and answers, as the API's document has them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_COUNT: Json = {"type": "integer", "minimum": 0}

# Of requests, by name.
SENT: dict[str, Json] = {
    "If-Match": {"description": "The ETag of the draft that is meant; 412 when it changed since.", "schema": _TEXT},
    "Idempotency-Key": {
        "description": "The same key and body within 24 hours give the same run; with another body 409.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
    "Prefer": {"description": "`respond-async` answers 202 at once.", "schema": _TEXT},
    "Last-Event-ID": {"description": "The id of the last event that was seen.", "schema": _TEXT},
}
# Of answers, by name.
ANSWERED: dict[str, Json] = {
    "Location": {"description": "Where what was made is.", "schema": _TEXT},
    "ETag": {"description": "Of the draft, for If-Match; only when the draft is what is shown.", "schema": _TEXT},
    "X-Run-Id": {"description": "The run's id, for GET /api/v1/runs/{run_id}.", "schema": _TEXT},
    "X-Request-Id": {"description": "The caller's, or one that was made up.", "schema": _TEXT},
    "RateLimit-Limit": {"description": "Requests per minute and key.", "schema": _COUNT},
    "RateLimit-Remaining": {"description": "Requests left.", "schema": _COUNT},
    "RateLimit-Reset": {"description": "Seconds until there are more.", "schema": _COUNT},
    "Retry-After": {"description": "Seconds to wait before asking again.", "schema": _COUNT},
    "WWW-Authenticate": {"description": "Bearer.", "schema": _TEXT},
}
WITH_A_KEY = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
BY_STATUS = {201: ("Location",), 202: ("Location",), 401: ("WWW-Authenticate",), 429: ("Retry-After",)}
