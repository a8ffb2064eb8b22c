"""Answers that other projects recorded from vendors are read over HTTP; see tests/data/vendor_answers/README.md."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.providers.failures import refused
from app.values.thoughts import separated
from tests.fakes.models import request
from tests.fakes.upstream import Reply

FOLDER = Path(__file__).parents[2] / "data" / "vendor_answers"
RECORDED = [(path.stem, entry) for path in sorted(FOLDER.glob("*.json")) for entry in json.loads(path.read_text())]
ANSWERS = [(host, entry) for host, entry in RECORDED if entry["kind"] != "error"]
ERRORS = [entry for _, entry in RECORDED if entry["kind"] == "error"]

CHAT_COMPLETIONS = [entry for _, entry in ANSWERS if entry["kind"] == "whole" and '"choices"' in entry["sent"]]


def ids(entries):
    return [f"{host}-{number}" for number, (host, _) in enumerate(entries)]


def read(upstream, providers, entry):
    """The answer, asked for in the form in which it was recorded, and its streamed pieces."""
    upstream.script(Reply(raw=entry["sent"].encode()))
    pieces = []
    asked = request(upstream, entry["vendor"])
    if entry["kind"] == "whole":
        return providers.complete(asked), pieces
    return providers.stream(asked, pieces.append), pieces


@pytest.mark.parametrize(("host", "entry"), ANSWERS, ids=ids(ANSWERS))
def test_a_recorded_answer_is_read_completely(upstream, providers, host, entry):
    answer, pieces = read(upstream, providers, entry)

    tokens = answer.tokens
    assert entry["answer"] == {
        "text": answer.text,
        "reasoning": answer.reasoning,
        "calls": [[call.name, call.arguments] for call in answer.tool_calls],
        "finish": answer.finish_reason,
        "tokens": [tokens.prompt, tokens.completion, tokens.cache_read, tokens.cache_write, tokens.reasoning],
    }
    if pieces:
        assert "".join(piece.text for piece in pieces if piece.kind == "token") == answer.text


@pytest.mark.parametrize("entry", CHAT_COMPLETIONS)
def test_a_recorded_answer_of_openais_format_has_what_its_fields_have(entry):
    """Read independently of the wires: names and arguments of calls, and the counts of prompt and completion."""
    sent = json.loads(entry["sent"])
    message, usage = sent["choices"][0]["message"], sent["usage"]
    calls = [
        [call["function"]["name"], json.loads(call["function"].get("arguments") or "{}")]
        for call in message.get("tool_calls") or ()
    ]

    assert entry["answer"]["calls"] == calls
    assert entry["answer"]["tokens"][:2] == [usage["prompt_tokens"], usage["completion_tokens"]]
    if isinstance(message.get("content"), str):
        thoughts, text = separated(message["content"])
        assert entry["answer"]["text"] == text
        assert thoughts in (None, entry["answer"]["reasoning"])


@pytest.mark.parametrize("entry", ERRORS)
def test_a_recorded_error_has_its_words(entry):
    failure = refused("OPENAI", None, datetime(2026, 1, 1, tzinfo=UTC), 400, {}, entry["sent"].encode())

    assert str(failure) == f"OPENAI answered 400: {entry['words']}"
    assert "{" not in entry["words"][:1]


def test_every_project_is_represented():
    assert len(ANSWERS) >= 90
    assert {"anthropic-sdk-python", "openai-python", "openrouter.ai", "api.mistral.ai"} <= {host for host, _ in ANSWERS}
