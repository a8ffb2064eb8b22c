"""API keys, as answers show them."""

from __future__ import annotations

from app.schemas.answers.shapes import choice, integer, many, shape, text, time
from app.services.accounts.keys import SCOPES

ApiKey = shape(
    "ApiKey",
    {
        "id": integer(),
        "name": text(),
        "lastFour": text(),
        "scopes": many(choice(*sorted(SCOPES))),
        "createdAt": time(),
        "expiresAt": time(allow_none=True),
        "revokedAt": time(allow_none=True),
        "lastUsedAt": time(allow_none=True),
    },
)
CreatedApiKey = shape("CreatedApiKey", {"key": text()}, ApiKey)
ApiKeys = shape("ApiKeys", {"apiKeys": many(ApiKey)})
