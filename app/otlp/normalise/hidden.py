"""What instrumentations write in place of content that they are set not to record."""

from __future__ import annotations

from typing import Any

_HIDDEN = frozenset({"<elided>", "<REDACTED>", "<redacted>", "__REDACTED__", "HIDDEN:non-empty"})
_LENGTH_MAX = max(map(len, _HIDDEN))


def is_hidden(text: Any) -> bool:
    """Return whether a text only shows that there was content: ADK, Claude Code, Koog and OpenInference write one."""
    return isinstance(text, str) and len(text) <= _LENGTH_MAX and text in _HIDDEN
