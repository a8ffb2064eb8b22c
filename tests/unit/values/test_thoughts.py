"""Thoughts in a text are separated from the answer, in pieces as in one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.values.thoughts import ThoughtSplitter, separated
from tests.support.operations import growth_of

TAGS = st.sampled_from(["<think>", "</think>", "<", "</th", "`", "``", "```", "\n", " ", "a", "Rome 5", "<thinking>"])
TEXTS = st.lists(TAGS | st.text(max_size=3), max_size=12).map("".join)
FENCED = "A tag:\n```xml\n<think>\nHm.\n</think>\n```\n"


def in_pieces(pieces: list[str]) -> tuple[str, str]:
    splitter = ThoughtSplitter()
    read = [part for piece in pieces for part in splitter.read(piece)] + splitter.end()
    assert all(text for _, text in read)
    reasoning, answer = ("".join(text for kind, text in read if kind == name) for name in ("reasoning", "token"))
    return reasoning, answer


@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("<think>Hm.</think>Rome.", "Hm.", "Rome."),
        ("\n <think>\nHm.\n</think>\n\nRome.\n", "\nHm.\n", "Rome.\n"),
        ("<think></think>\n\nRome.", "", "Rome."),
        ("<think>Hm.</think>", "Hm.", ""),
        # Cut off: all of it are thoughts, but for the beginning of a tag.
        ("<think>Hm. Rome", "Hm. Rome", ""),
        ("<think>Hm. </thi", "Hm. </thi", ""),
        ("<think>", "", ""),
        # No thoughts.
        ("Rome.", None, "Rome."),
        ("", None, ""),
        (" <thin", None, " <thin"),
        ("<thinking>Hm.</thinking>", None, "<thinking>Hm.</thinking>"),
        ("</think>Rome.", None, "</think>Rome."),
        # What the answer has to do with the tag stays its text.
        ("Write <think>Hm.</think> first.", None, "Write <think>Hm.</think> first."),
        ("`<think>` begins thoughts.", None, "`<think>` begins thoughts."),
        ("```\n<think>Hm.</think>\n```", None, "```\n<think>Hm.</think>\n```"),
        ("<think>Hm.</think>Write <think>x</think>.", "Hm.", "Write <think>x</think>."),
        ("<think>Hm.</think><think>x</think>", "Hm.", "<think>x</think>"),
        # Tags in the code of thoughts do not end them.
        ("<think>They mean `</think>`.</think>Yes.", "They mean `</think>`.", "Yes."),
        ("<think>They mean `<think>x</think>`.\n</think>Yes.", "They mean `<think>x</think>`.\n", "Yes."),
        ("<think>``a ` </think>`` b</think>Yes.", "``a ` </think>`` b", "Yes."),
        (f"<think>{FENCED}</think>Yes.", FENCED, "Yes."),
        (f"<think>{FENCED}{FENCED}</think>{FENCED}", FENCED * 2, FENCED),
        # Code that was never closed hides no answer.
        ("<think>It isn`t.</think>Write `x`.", "It isn`t.", "Write `x`."),
        ("<think>`a\n</think>`b`", "`a\n", "`b`"),
        ("<think>```\nx = 1</think>```\nx = 2\n```", "```\nx = 1", "```\nx = 2\n```"),
        ("<think>`</think>", "`", ""),
    ],
)
def test_the_thoughts_at_the_beginning_are_no_answer(text: str, thoughts: str | None, answer: str) -> None:
    assert separated(text) == (thoughts, answer)
    assert in_pieces(list(text)) == (thoughts or "", answer)


@given(st.booleans(), TEXTS, st.data())
def test_pieces_of_any_size_are_the_whole_text(thinks: bool, text: str, data: st.DataObject) -> None:
    text = "<think>" * thinks + text
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    thoughts, answer = separated(text)

    assert in_pieces(pieces) == in_pieces(list(text)) == (thoughts or "", answer)
    if thoughts is None:
        assert answer == text
    else:  # only the tags and blanks are lost
        whole = {f"<think>{thoughts}</think>{answer}", f"<think>{thoughts}{answer}"}
        assert "".join(text.split()) in {"".join(parts.split()) for parts in whole}


@given(st.text(), st.text())
def test_an_answer_after_thoughts_in_words_is_the_answer(thoughts: str, answer: str) -> None:
    thoughts, answer = thoughts.replace("<", "").replace("`", ""), answer.lstrip()

    assert separated(f"<think>{thoughts}</think>\n\n{answer}") == (thoughts, answer)


@pytest.mark.parametrize("part", ["<think>", "</think>`", "`</think>` ", "```\n<think></think>\n```\n", "`", " ", "<"])
@pytest.mark.parametrize(("size", "parts"), [pytest.param(1, 40, marks=pytest.mark.slow), (7, 20), (10**6, 80)])
@pytest.mark.slow
def test_reading_costs_what_the_text_is_long(part: str, size: int, parts: int) -> None:
    # Each piece is read by hundreds of opcodes, each of which is counted: few small pieces show how the work grows.
    def prepare(count: int) -> Callable[[], object]:
        text = "<think>`" + part * count
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        return lambda: in_pieces(pieces)

    assert growth_of(prepare, parts) < 2.3
