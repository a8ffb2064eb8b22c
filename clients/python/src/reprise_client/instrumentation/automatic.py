"""Starts the installed instrumentations of model clients and agent libraries."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec

logger = logging.getLogger("reprise_client.instrumentation")

_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
# The client of Anthropic records its calls itself where this is set; so it may be for programs without that client.
_ANTHROPIC = "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE"
# Every instrumentor of OpenInference is of a model client or an agent library.
_OPENINFERENCE = "openinference_instrumentor"
_OPENTELEMETRY = "opentelemetry_instrumentor"
# What the names of such instrumentors begin with in OpenTelemetry's group, which also has those of web servers.
_LIBRARIES = (
    "agno",
    "anthropic",
    "autogen",
    "bedrock",
    "claude",
    "cohere",
    "crewai",
    "dspy",
    "gen",
    "google",
    "groq",
    "haystack",
    "langchain",
    "langgraph",
    "litellm",
    "llama",
    "mistral",
    "ollama",
    "openai",
    "smolagents",
    "together",
    "transformers",
    "vertexai",
)


def start_installed(*, capture_content: bool) -> list[str]:
    """Start each installed instrumentor once; return their names.

    One that can't start is logged as a warning, unless its library is not installed.
    """
    if capture_content:
        os.environ.setdefault(_CAPTURE, "SPAN_ONLY")
    started = [name for name, entry in _installed() if _starts(entry)]
    if not started and not (os.environ.get(_ANTHROPIC) and find_spec("anthropic")):
        logger.warning("No instrumentation is installed: see docs/connect for that of your library")
    return started


def _installed() -> Iterator[tuple[str, EntryPoint]]:
    """Yield the instrumentors, of two of a library that of OpenInference."""
    names: set[str] = set()
    for group in (_OPENINFERENCE, _OPENTELEMETRY):
        for entry in entry_points(group=group):
            name = entry.name.lower().replace("-", "_")
            if name not in names and (group == _OPENINFERENCE or name.startswith(_LIBRARIES)):
                names.add(name)
                yield name, entry


def _starts(entry: EntryPoint) -> bool:
    try:
        entry.load()().instrument()
    except ModuleNotFoundError as error:
        # Its library is not installed, so that there is nothing to record.
        logger.debug("The instrumentation %s does not start: %s", entry.name, error)
        return False
    except Exception as error:  # noqa: BLE001 - a library's instrumentation stops no application
        logger.warning("The instrumentation %s does not start: %s: %s", entry.name, type(error).__name__, error)
        return False
    return True
