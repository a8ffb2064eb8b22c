"""The attributes by which spans name their prompt, its version, their conversation and their user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PROMPT_ID = "service.prompt.id"
PROMPT_VERSION = "service.prompt.version"
GENAI_VERSION = "gen_ai.prompt.version"
"""A version of the prompt if it is the hash of one; libraries put versions of their own there as well."""

CONVERSATION_KEYS = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "thread_id",
    "langgraph.thread_id",
    "langsmith.metadata.thread_id",
    "metadata.thread_id",
    "traceloop.association.properties.thread_id",
)
"""The best first: it counts wherever in a trace it is."""
USER_KEYS = ("user.id", "enduser.id")
MAX_CONVERSATION_ID = 512
"""Characters that are kept of one."""

_HASH = re.compile(r"[0-9a-f]{64}")


def conversation_of(values: Mapping[str, Any]) -> tuple[int, str | None]:
    """Return the best name of a span for its conversation, after its index in `CONVERSATION_KEYS`; None without any."""
    for rank, key in enumerate(CONVERSATION_KEYS):
        if key in values and (name := text_of(values[key])):
            return rank, name[:MAX_CONVERSATION_ID]
    return 0, None


def text_of(value: Any) -> str:
    """Return the text of a name or a number, "" for anything else."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def version_hash(values: Mapping[str, Any]) -> str | None:
    """Return the value of `gen_ai.prompt.version` where it has the form of a version's hash."""
    value = values.get(GENAI_VERSION)
    return value if isinstance(value, str) and _HASH.fullmatch(value) else None
