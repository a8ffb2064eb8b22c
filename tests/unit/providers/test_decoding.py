"""Answers in OpenAI's format, as servers send it that differ from OpenAI's."""

import pytest

from app.chat import Tokens
from app.providers.decoding import TOKENS_MAX, AnswerBuilder
from app.providers.failures import ProviderFailure


def answer(*chunks):
    builder = AnswerBuilder()
    for chunk in chunks:
        builder.add_chunk(chunk)
    return builder.end()


def delta(finish=None, **parts):
    return {"choices": [{"delta": parts, "finish_reason": finish}]}


def test_calls_without_an_index_are_told_apart_by_their_ids():
    def piece(arguments, **call):
        return delta(tool_calls=[{**call, "function": {"name": call.get("id"), "arguments": arguments}}])

    said = answer(piece('{"a":', id="x"), piece(" 1}"), piece('{"b":', id="y"), piece(" 2}"), delta("tool_calls"))

    assert [(call.id, call.name, call.arguments) for call in said.tool_calls] == [
        ("x", "x", {"a": 1}),
        ("y", "y", {"b": 2}),
    ]


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content", "thinking"])
def test_reasoning_is_found_under_the_names_that_servers_use(key):
    assert answer(delta(**{key: "Hm."}), delta("stop", content="Yes.")).reasoning == "Hm."


@pytest.mark.parametrize("usage", [{}, {"extra_properties": {"google": {}}}])
def test_usage_without_counts_replaces_none(usage):
    counted = {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    assert answer(delta("stop") | counted, {"choices": [], "usage": usage}).tokens == Tokens(3, 4)


@pytest.mark.parametrize(
    ("sent", "kept"), [(2**80, TOKENS_MAX), (1e300, TOKENS_MAX), (-1, 0), (7.0, 7), (float("nan"), 0), ("7", 0)]
)
def test_a_count_fits_its_column(sent, kept):
    assert answer(delta("stop") | {"usage": {"prompt_tokens": sent}}).tokens.prompt == kept


@pytest.mark.parametrize(
    "chunk",
    [7, [], {"choices": {}}, {"choices": [7]}, delta(content=7), delta(tool_calls={}), delta(tool_calls=["x"]),
     delta(refusal={}), delta(reasoning=[]), {"usage": 7}],
)  # fmt: skip
def test_a_value_of_a_wrong_type_is_a_failure(chunk):
    with pytest.raises(ProviderFailure, match="The answer has a"):
        answer(chunk, delta("stop"))
