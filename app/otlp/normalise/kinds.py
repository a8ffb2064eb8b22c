"""The type of a part of a message, under each of its names."""

from __future__ import annotations

import re
from typing import Any

_SUFFIX = "Block"
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def kind_of(part: dict[str, Any]) -> str | None:
    """Return the type of a part; None if it has none, "" for a type that is no text.

    .NET names it `$type`, and pydantic-ai `part_kind`. Classes of blocks name themselves: `ToolUseBlock` is `tool_use`.
    """
    kind = part.get("type") or part.get("$type") or part.get("kind") or part.get("part_kind")
    if not isinstance(kind, str):
        return "" if kind else None
    return _WORD.sub("_", kind.removesuffix(_SUFFIX)).lower() if kind.endswith(_SUFFIX) else kind
