"""Answers that several nouns share, where they were."""

from __future__ import annotations

from app.schemas.common import Cost, Error, ModelName, Tokens, ToolCall, TraceError
from app.schemas.common import PlaceholdersUsed as Resolved

__all__ = ["Cost", "Error", "ModelName", "Resolved", "Tokens", "ToolCall", "TraceError"]
