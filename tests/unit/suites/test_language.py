"""Languages and refusals in texts that were written for these tests."""

from __future__ import annotations

from collections import Counter

import pytest

from app.search.words import words_of
from app.suites.language import language_of
from app.suites.refusals import is_refusal, is_refused


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("When does the library close on Sunday?", "en"),
        ("Wann schließt die Bibliothek am Sonntag?", "de"),
        ("À quelle heure ferme la bibliothèque le dimanche ?", "fr"),
        ("¿A qué hora cierra la biblioteca el domingo?", "es"),
        ("A che ora chiude la biblioteca e dove si trova?", "it"),
        ("Hoe laat gaat de bibliotheek op zondag dicht?", "nl"),
        ("O której jest zamykana biblioteka i gdzie to jest?", "pl"),
        ("図書館は日曜日に何時に閉まりますか", "ja"),
        ("图书馆星期天几点关门", "zh"),
        ("도서관은 일요일 몇 시에 닫나요", "ko"),
        ("Во сколько закрывается библиотека?", "ru"),
        ("О котрій зачиняється бібліотека?", "uk"),
        ("متى تغلق المكتبة", "ar"),
        ("10042", ""),
        ("", ""),
    ],
)
def test_a_question_has_a_language(text: str, language: str) -> None:
    assert language_of([text], Counter(words_of(text))) == language


@pytest.mark.parametrize(
    "answer",
    [
        "I\u2019m sorry, but I can\u2019t share the details of another guest.",
        "Unfortunately, I am not able to change the price.",
        "Das kann ich leider nicht für Sie ändern.",
        "Lo siento, pero no puedo proporcionar esos datos.",
    ],
)
def test_a_refusal_is_recognized(answer: str) -> None:
    assert is_refusal(answer)


@pytest.mark.parametrize("answer", ["Your table is booked.", "I can help with that.", "", "x" * 500 + " I can't help"])
def test_other_answers_are_no_refusals(answer: str) -> None:
    assert not is_refusal(answer)


def test_a_vendor_may_end_a_call_with_a_refusal() -> None:
    assert is_refused({"gen_ai.response.finish_reasons": ["Content_Filter"]})
    assert not is_refused({"gen_ai.response.finish_reasons": ["stop"]})
    assert not is_refused({})
