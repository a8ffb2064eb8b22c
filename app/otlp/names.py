"""The attributes by which spans name their prompt, its version, their conversation, their user and their response."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.values.json import json_or_text

PROMPT_ID = "service.prompt.id"
PROMPT_VERSION = "service.prompt.version"
PROMPT_NAME = "gen_ai.prompt.name"
"""The prompt of a span that has no `PROMPT_ID`, if exactly one prompt of the project has this name."""
GENAI_VERSION = "gen_ai.prompt.version"
"""A version of the prompt if it is the hash of one. Libraries also write their own versions here."""

RESPONSE_ID = "gen_ai.response.id"
"""The id that the vendor gave the response of a model call."""
TOOL_CALL_ID_KEYS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id", "tool.call_id")
"""The id that the model gave its call of a tool."""

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
    "langsmith.metadata.session_id",
    "langsmith.metadata.conversation_id",
    "gen_ai.session.id",
    "gen_ai.thread.id",
    "spring.ai.chat.client.conversation.id",
    "gcp.vertex.agent.session_id",
    "genkit:sessionId",
    "lmnr.association.properties.session_id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.threadId",
    "ai.telemetry.metadata.conversationId",
    "mastra.metadata.threadId",
    "voltagent.conversation_id",
    "conversation.id",
    "conversation_id",
    "langwatch.thread.id",
    "judgment.session_id",
    "confident.trace.thread_id",
    "netra.session_id",
    "microsoft.session.id",
    "fastaiagent.thread.id",
    "cloudflare.agents.session.id",
    "ai.observability.conversation_id",
    "mirascope.ops.session.id",
    "rhesis.conversation.id",
    "ag.session.id",
    "scope.agentic.session",
    "openai_agents.group_id",
    "langflow.session_id",
    "lilypad.session_id",
    "mlflow.trace.session",
    "tfy.request.conversation_id",
    "coding_agent.session.id",
    "traceloop.association.properties.conversation_id",
    "metadata.session_id",
    "metadata.conversation_id",
    "session_id",
    "sessionId",
    "conversationId",
    "threadId",
)
"""The best first: it counts wherever in a trace it is."""
USER_KEYS = (
    "user.id",
    "enduser.id",
    "langfuse.user.id",
    "traceloop.association.properties.user_id",
    "langsmith.metadata.user_id",
    "gen_ai.user.id",
    "lmnr.association.properties.user_id",
    "ai.telemetry.metadata.userId",
    "llm.user",
    "mastra.metadata.resourceId",
    "trpc.go.agent.runner.user_id",
    "langwatch.user.id",
    "judgment.customer_user_id",
    "confident.trace.user_id",
    "netra.user_id",
    "langflow.user_id",
    "mlflow.trace.user",
    "metadata.user_id",
    "user_id",
    "userId",
)
_CONVERSATION_NAMES, _USER_NAMES = frozenset(CONVERSATION_KEYS), frozenset(USER_KEYS)
MAX_PROMPT_NAME = 128
"""Characters of the longest name that a prompt can have."""
MAX_CONVERSATION_ID = 512
"""Characters that are kept of one."""

_FAILED_NAMES = frozenset(
    {"error.type", "gen_ai.tool.status", "langfuse.observation.level", "lk.function_tool.is_error"}
)
_ABSENT = frozenset({"none", "null", "undefined", "unknown"})
_ABSENT_MAX = max(map(len, _ABSENT))
_HASH = re.compile(r"[0-9a-f]{64}")


def conversation_of(values: Mapping[str, Any]) -> tuple[int, str | None]:
    """Return a span's best name for its conversation, after its index in `CONVERSATION_KEYS`; None without any."""
    if name := id_of(values.get(CONVERSATION_KEYS[0])):
        return 0, name[:MAX_CONVERSATION_ID]
    if _CONVERSATION_NAMES.isdisjoint(values):
        return 0, None
    for rank, key in enumerate(CONVERSATION_KEYS):
        if name := id_of(values.get(key)):
            return rank, name[:MAX_CONVERSATION_ID]
    return 0, None


def user_of(values: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return a span's best name for its user, after the name's index in `USER_KEYS`; None without any."""
    if _USER_NAMES.isdisjoint(values):
        return None
    for rank, key in enumerate(USER_KEYS):
        if name := id_of(values.get(key)):
            return rank, name
    return None


def has_error_status(values: Mapping[str, Any]) -> bool:
    """Return whether attributes report a failure: `error.type` does by convention, and some libraries set no status."""
    # Hardly any span has one of these, and ingest asks each span.
    return not _FAILED_NAMES.isdisjoint(values) and (
        id_of(values.get("error.type")) != ""
        or values.get("gen_ai.tool.status") == "error"
        or values.get("langfuse.observation.level") == "ERROR"
        or values.get("lk.function_tool.is_error") is True
    )


def text_of(value: Any) -> str:
    """Return the text of a name or a number, "" for anything else."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def id_of(value: Any) -> str:
    """Return the text of an id, which MLflow writes as JSON, in quotes; "" for anything that is no text or number.

    It is "" for the words that libraries and languages write where there is no id, such as Micrometer's `none`, too.
    """
    name = text_of(value)
    if name.startswith('"'):
        name = text_of(json_or_text(name)) or name
    return "" if len(name) <= _ABSENT_MAX and name.lower() in _ABSENT else name


def version_hash(values: Mapping[str, Any]) -> str | None:
    """Return the value of `gen_ai.prompt.version` if it has the form of a version's hash."""
    value = values.get(GENAI_VERSION)
    return value if isinstance(value, str) and _HASH.fullmatch(value) else None
