"""Operations in the spellings of libraries."""

from __future__ import annotations

import pytest

from app.otlp.normalise.operations import OPERATIONS, operation_named
from tests.support.normalized_spans import normal


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        *(("Chat", "chat"), ("GenerateContent", "generate_content"), ("TextCompletion", "text_completion")),
        *(("chat.completion", "chat"), ("chat.completions", "chat"), ("response", "chat"), ("call_llm", "chat")),
        *(("invoke-agent", "invoke_agent"), ("Execute Tool", "execute_tool"), ("aembedding", "embeddings")),
        *(("tool", "execute_tool"), ("agent", "invoke_agent"), ("text.completions", "text_completion")),
    ],
)
def test_an_operation_is_read_in_any_spelling(name: str, operation: str) -> None:
    assert operation_named(name) == operation
    assert normal({"gen_ai.operation.name": name}).operation == operation


@pytest.mark.parametrize("name", ["planning", "Weather Agent", "", "c" * 65, "CHAT" + " " * 70, "\ud800", "chat\n"])
def test_other_names_are_unchanged(name: str) -> None:
    assert operation_named(name) == name


def test_the_conventions_names_are_themselves() -> None:
    assert {name: operation_named(name) for name in OPERATIONS} == {name: name for name in OPERATIONS}
