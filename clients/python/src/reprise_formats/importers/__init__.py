"""Converters of other tools' exports, by tool: into spans of sessions, and into test cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reprise_formats.importers import datasets, langfuse, langsmith, openai_chat, otlp, phoenix, promptfoo
from reprise_formats.importers.datasets import ConvertCase
from reprise_formats.importers.spans import Sendable

Convert = Callable[[Mapping[str, Any], int], Sequence[Sendable]]
"""Accepts a record, and the time in Unix nanoseconds that counts where it has none. Raises `Unreadable`."""

CONVERTERS: Mapping[str, Convert] = {
    "langfuse": langfuse.convert,
    "langsmith": langsmith.convert,
    "phoenix": phoenix.convert,
    "otlp": otlp.Otlp(),
    "openai-chat": openai_chat.convert,
}
CASE_CONVERTERS: Mapping[str, ConvertCase] = {
    "langsmith-dataset": datasets.langsmith_example,
    "braintrust-dataset": datasets.braintrust_row,
    "promptfoo": promptfoo.convert,
}
PROMPTS = "langfuse-prompts"
