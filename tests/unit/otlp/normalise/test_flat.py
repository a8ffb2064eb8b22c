"""Messages that were recorded as texts without roles, as lines, or in pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise import NormalisedMessage
from app.otlp.normalise.flat import joined, joined_texts, read_lines, read_prompt

USER = NormalisedMessage("user", "Hi")


@pytest.mark.parametrize(
    "prompt",
    [
        '["Help.", "Hi"]',
        ["Help.", "Hi"],
        '["Help.", "Hi", ""]',
        '["Help.", "First?", "Yes.", "Hi"]',
        '["Hi"]',
        "Hi",
        '[{"role": "user", "content": "Hi"}]',
        [json.dumps({"role": "user", "content": "Hi"})],
    ],
)
def test_of_several_texts_only_the_last_is_the_user_s(prompt: Any) -> None:
    assert read_prompt(prompt) == (USER,)


def test_a_list_of_messages_that_are_json_each_keeps_them_all() -> None:
    messages = [json.dumps({"role": role, "content": "Hi"}) for role in ("system", "user")]

    assert read_prompt(messages) == (NormalisedMessage("system", "Hi"), USER)


@pytest.mark.parametrize("prompt", ["", "[", '["", " "]', None, 7, "[]"])
def test_a_prompt_without_words_has_no_messages(prompt: Any) -> None:
    assert not any(message.text and message.text.strip() for message in read_prompt(prompt) or ())


def test_lines_after_a_role_are_messages_until_the_next_role() -> None:
    read = read_lines("system: Help.\nBe kind.\nuser: a: b\nassistant:\nuser: Hi")

    assert read == (
        NormalisedMessage("system", "Help.\nBe kind."),
        NormalisedMessage("user", "a: b"),
        NormalisedMessage("assistant"),
        USER,
    )


@pytest.mark.parametrize("text", ["Hi", "Note: users", "username: x", '["Help.", "Hi"]'])
def test_a_text_that_begins_with_no_role_is_a_prompt_as_others(text: str) -> None:
    assert read_lines(text) == read_prompt(text)


def test_pieces_of_a_stream_are_one_message() -> None:
    call = ToolCall("", "t", {})
    pieces = (NormalisedMessage("assistant", "He"), NormalisedMessage("assistant", "llo", (call,), reasoning="r"))

    assert joined(pieces) == NormalisedMessage("assistant", "Hello", (call,), "r")


@pytest.mark.parametrize(
    ("value", "text"), [('["a", "b"]', "ab"), ("a", "a"), (["a"], "a"), ("[1]", "[1]"), ("", None), (None, None)]
)
def test_texts_of_a_list_are_one_text(value: Any, text: str | None) -> None:
    assert joined_texts(value) == text
