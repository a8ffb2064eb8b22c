"""Sentences of prompts: wrapped lines, lists, headings, fenced blocks, and hostile texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.guard.sentences import sentences


def texts(text: str) -> list[str]:
    return [sentence.piece.text for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Be kind. Be brief!", ["Be kind.", "Be brief!"]),
        ("Be kind\nBe brief", ["Be kind", "Be brief"]),
        ("Greet the customer by\nname. Then ask.", ["Greet the customer by\nname.", "Then ask."]),
        ("- Be kind\n- be brief", ["- Be kind", "- be brief"]),
        ("# Rules\n\nBe kind.", ["Be kind."]),
        ("{{context}}\n---\nBe kind.", ["Be kind."]),
        ("Answer so:\n```\n{}\n\na. b.\n```\nEnd.", ["Answer so:", "```\n{}\n\na. b.\n```", "End."]),
        ("A block without an end:\n```\nfirst\n", ["A block without an end:", "first"]),
        ("Ask Dr. Meier first.", ["Ask Dr. Meier first."]),
        ("必ず確認してください。短く答えて。", ["必ず確認してください。", "短く答えて。"]),
        ("", []),
        ("\n \n", []),
    ],
)
def test_a_text_is_split_into_sentences(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_lines_count_from_one() -> None:
    found = sentences("# Title\n\nFirst. Second.\n\n- Third\n")
    assert [(sentence.number, sentence.line) for sentence in found] == [(0, 3), (1, 3), (2, 5)]


@given(st.text(st.sampled_from("aA. \n-#`~|{}1)é。"), max_size=300))
def test_sentences_are_parts_of_the_text_in_order(text: str) -> None:
    end = 0
    for number, sentence in enumerate(sentences(text)):
        piece = sentence.piece
        assert (sentence.number, text[piece.begin : piece.end]) == (number, piece.text)
        assert end <= piece.begin < piece.end
        assert sentence.line == text.count("\n", 0, piece.begin) + 1
        end = piece.end
