"""The alignment of texts that were made from one template."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sessions import alignment
from app.sessions.alignment import align, are_similar

WORDS = st.lists(st.sampled_from(["a", "b", "to", "1.5", "é", " ", "\n", ":", "{{x}}", "long"]), max_size=30)


@given(st.lists(WORDS.map("".join), min_size=1, max_size=5))
def test_the_pieces_of_each_text_are_the_text(texts: list[str]) -> None:
    parts = align(texts)

    assert ["".join(part.texts[index] for part in parts) for index in range(len(texts))] == texts


@pytest.mark.parametrize(
    ("texts", "varying"),
    [
        (["Be kind.", "Be kind."], []),
        (["Today is 2026-11-26.", "Today is 2026-11-27."], [("2026-11-26", "2026-11-27")]),
        (["Hi Anna, plan: pro.", "Hi Bob, plan: free."], [("Anna", "Bob"), ("pro", "free")]),
        (["At 2026-11-26 14:20 now", "At 2026-11-27 15:01 now"], [("2026-11-26 14:20", "2026-11-27 15:01")]),
        (["From Monday to Friday.", "From May to June."], [("Monday", "May"), ("Friday", "June")]),
        (["Notes: red\nEnd", "Notes: \nEnd"], [("red", "")]),
        (["x {{day}} y", "x 26.11.2026 y"], [("{{day}}", "26.11.2026")]),
        (
            ["Notes: she wants it in red by Monday morning", "Notes: he lives far away in Rome with dogs"],
            [("she wants it in red by Monday morning", "he lives far away in Rome with dogs")],
        ),
    ],
)
def test_what_differs_is_a_part(texts: list[str], varying: list[tuple[str, ...]]) -> None:
    assert [part.texts for part in align(texts) if part.varies] == varying


@pytest.mark.parametrize(
    ("other", "similar"),
    [("You help the customers of our shop.", True), ("Translate to Spanish.", False), ("", False)],
)
def test_texts_are_similar_if_they_share_half_of_the_words(other: str, similar: bool) -> None:
    assert are_similar("You help the customers of a shop.", other) is similar


def test_the_work_grows_with_the_texts_and_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    unique = alignment._unique

    def counted(row: list[str], start: int, end: int) -> dict[str, int]:
        looked_at.append(end - start)
        return unique(row, start, end)

    monkeypatch.setattr(alignment, "_unique", counted)
    words = [f"w{number}" for number in range(2000)]
    mixed = [words, random.Random(1).sample(words, 2000), [word + "x" for word in words], words[::-1]]
    for rows in ([mixed[0], mixed[1]], [mixed[0], mixed[2]], [mixed[0], mixed[3]], [["a", "b"] * 1000, ["b"] * 2000]):
        looked_at.clear()
        texts = [" ".join(row) for row in rows]
        align(texts)

        assert sum(looked_at) <= (alignment.DEPTH_MAX + 1) * sum(2 * len(row) for row in rows)
