"""Each attribute of the GenAI conventions is read, or has a reason for which it is not.

The names are those of the registry in November 2026, without the prefix `gen_ai.`, and older ones that are still sent.
Source: https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

from pathlib import Path

import pytest

from app.otlp.normalise.modalities import MODALITY_NAMES

APP = Path(__file__).parents[3] / "app"
ROOMS = ("otlp", "sessions", "services/ingest", "services/prompts")

READ = (
    *("agent.name", "conversation.compacted", "conversation.id", "operation.name", "provider.name", "system"),
    *("evaluation.explanation", "evaluation.name", "evaluation.score.label", "evaluation.score.value"),
    *("input.messages", "output.messages", "system_instructions", "output.type"),
    *("prompt.name", "prompt.variable.", "prompt.version", "request.model", "request.previous_response.id"),
    *("response.finish_reasons", "response.id", "response.model", "response.time_to_first_chunk"),
    *("tool.call.arguments", "tool.call.id", "tool.call.result", "tool.definitions", "tool.name"),
    *("usage.input_tokens", "usage.output_tokens", "usage.reasoning.output_tokens"),
    *("usage.cache_creation.input_tokens", "usage.cache_read.input_tokens", "usage.cache_write.input_tokens"),
    *("usage.audio.cache_read.input_tokens", "usage.audio.input_tokens", "usage.audio.output_tokens"),
    *("usage.image.cache_read.input_tokens", "usage.image.input_tokens", "usage.image.output_tokens"),
)
READ_BY_END = {"gen_ai.request.previous_response.id": "previous_response.id"}
DESCRIBES = "It describes what has a name already."
PARAMETER = "A version has the parameters of its calls; those of a trace are shown with its span."
SEARCHES = "A search of documents or memories is a step only if it is a tool."
AS_TEXT = "The tokens without a modality are those of text; vendors price video like text."
METRIC = "Only metrics have it."
NOT_READ = {
    **dict.fromkeys(("agent.description", "agent.id", "agent.version", "tool.description", "tool.type"), DESCRIBES),
    **dict.fromkeys(("workflow.name", "data_source.id"), DESCRIBES),
    **dict.fromkeys(("request.choice.count", "request.encoding_formats", "request.frequency_penalty"), PARAMETER),
    **dict.fromkeys(("request.max_tokens", "request.presence_penalty", "request.reasoning.level"), PARAMETER),
    **dict.fromkeys(("request.seed", "request.stop_sequences", "request.stream", "request.stream_cursor"), PARAMETER),
    **dict.fromkeys(("request.temperature", "request.top_k", "request.top_p", "response.status"), PARAMETER),
    **dict.fromkeys(("memory.query.text", "memory.record.count", "memory.record.id", "memory.records"), SEARCHES),
    **dict.fromkeys(("memory.store.id", "retrieval.documents", "retrieval.query.text", "retrieval.top_k"), SEARCHES),
    "embeddings.dimension.count": SEARCHES,
    **dict.fromkeys(("usage.text.input_tokens", "usage.text.output_tokens"), AS_TEXT),
    **dict.fromkeys(("usage.text.cache_read.input_tokens", "usage.video.input_tokens"), AS_TEXT),
    **dict.fromkeys(("token.type", "token.modality", "token.cache", "token.phase"), METRIC),
}


def test_no_attribute_is_both_read_and_not_read() -> None:
    assert not NOT_READ.keys() & set(READ)


@pytest.mark.parametrize("name", READ)
def test_an_attribute_is_read(name: str) -> None:
    assert is_read(f"gen_ai.{name}")


@pytest.mark.parametrize("name", NOT_READ)
def test_an_attribute_is_not_read(name: str) -> None:
    assert not is_read(f"gen_ai.{name}")


def is_read(attribute: str) -> bool:
    """The names of modalities are composed; any other name, or its end, is a text of a module that reads spans."""
    named = f'"{READ_BY_END.get(attribute, attribute)}"'
    sources = (path.read_text() for room in ROOMS for path in (APP / room).rglob("*.py"))
    return attribute in MODALITY_NAMES or any(named in source for source in sources)
