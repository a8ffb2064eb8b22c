"""Converters of other tools' exports into spans: each is a function from a record of the file to its spans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reprise_client.importers import langfuse, langsmith, openai_chat, phoenix
from reprise_client.importers.spans import ImportedSpan

Convert = Callable[[Mapping[str, Any], int], list[ImportedSpan]]
"""Accepts a record, and the time in Unix nanoseconds that counts where it has none. Raises `Unreadable`."""

CONVERTERS: Mapping[str, Convert] = {
    "langfuse": langfuse.convert,
    "langsmith": langsmith.convert,
    "phoenix": phoenix.convert,
    "openai-chat": openai_chat.convert,
}
