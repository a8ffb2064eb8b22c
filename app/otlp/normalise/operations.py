"""The operations of spans, in the spellings of libraries."""

from __future__ import annotations

import re
from functools import lru_cache

from app.otlp.normalise.convention import AGENT, AGENTS, CHAT, FETCH, TOOL

OPERATIONS = AGENTS.union(
    (CHAT, TOOL, FETCH, "generate_content", "text_completion", "generate_live_content", "realtime_inference"),
    ("embeddings", "retrieval", "create_agent", "plan"),
)
"""The operations that the conventions name."""
_ALIASES = {
    **dict.fromkeys(("chat_completion", "chat_completions", "completion", "acompletion"), CHAT),
    **dict.fromkeys(("response", "responses", "aresponses", "anthropic_messages"), CHAT),
    **dict.fromkeys(("call_llm", "llm_call", "llm_request", "llm", "generate", "inference"), CHAT),
    **dict.fromkeys(("tool", "tool_call", "call_tool"), TOOL),
    **dict.fromkeys(("agent", "agent_run"), AGENT),
    **dict.fromkeys(("text_completions", "atext_completion"), "text_completion"),
    **dict.fromkeys(("embedding", "aembedding"), "embeddings"),
}
"""What libraries call them: LiteLLM names its own functions, Tracy the objects of vendors, any-agent its callbacks."""
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SIGNS = str.maketrans(".- ", "___")
_NAME_MAX = 64


@lru_cache(maxsize=256)
def operation_named(name: str) -> str:
    """Return the operation that a name means in any spelling, such as `Chat`, `GenerateContent` or `chat.completion`.

    Other names are returned unchanged.
    """
    if len(name) > _NAME_MAX:
        return name
    plain = _WORD.sub("_", name).lower().translate(_SIGNS)
    return plain if plain in OPERATIONS else _ALIASES.get(plain, name)
