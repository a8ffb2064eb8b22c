"""The texts of a turn are read until they are many, however short they are."""

from __future__ import annotations

from app.sessions.turn_texts import TEXT_MIN, TURN_MAX, LoneTurn, texts_in
from app.sessions.types import Step


def test_tiny_texts_count_as_longer_ones() -> None:
    answer = Step("answer", span_id="1" * 16, text="\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}")
    texts = list(texts_in(LoneTurn((), (answer,) * (TURN_MAX // TEXT_MIN * 2), ())))

    assert len(texts) == TURN_MAX // TEXT_MIN
