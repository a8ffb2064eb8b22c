"""Harmless variations of a draft's answers: each function yields scenes that must pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tests.gate.bad_answers import AMOUNT
from tests.gate.changes import Scenes
from tests.gate.scenes import Scene
from tests.gate.texts import answers, exchanged, worded
from tests.gate.wordings import REWORDED

VALUE = re.compile(r"[$€]?\b[A-ZÜ\d][\w/:.,-]*\d\b(?: (?:EUR|NOK|€|°C|days|minutes))?")


def words_an_answer_anew(scene: Scene) -> Scenes:
    return worded(scene, REWORDED)


def words_every_answer_anew(scene: Scene) -> Scenes:
    turns = tuple(replace(said, answer=REWORDED.get(said.answer, (said.answer,))[-1]) for said in scene.turns)
    if turns != scene.turns:
        yield replace(scene, turns=turns)


def begins_with_a_greeting(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{greeting(text)} {text}")


def begins_with_thanks(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"Thank you for your message! {text}" if is_english(text) else None)


def begins_with_a_promise_to_help(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"I'd be happy to help with that. {text}" if is_english(text) else None)


def ends_with_an_offer(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} {offer(text)}")


def ends_with_polite_words_of_its_language(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text}\n\n{farewell(text)}")


def ends_with_a_smile(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} 😊")


def writes_in_capitals(scene: Scene) -> Scenes:
    return answers(scene, lambda text: None if "http" in text else text.upper())


def breaks_the_lines_elsewhere(scene: Scene) -> Scenes:
    return answers(scene, lambda text: re.sub(r"([.,;:]) ", r"\1\n", text))


def lists_in_place_of_a_sentence(scene: Scene) -> Scenes:
    return answers(scene, lambda text: listed(text) if ";" in text or ", " in text else None)


def marks_its_values(scene: Scene) -> Scenes:
    return answers(scene, lambda text: None if "http" in text else VALUE.sub(r"**\g<0>**", text))


def quotes_its_codes(scene: Scene) -> Scenes:
    return answers(scene, lambda text: None if "http" in text else re.sub(r"\b([A-Z]+-\d+)\b", r"`\1`", text))


def leaves_cents_out(scene: Scene) -> Scenes:
    return exchanged(scene, re.compile(r"(\d)[.,]00(?!\d)"), r"\1")


def leaves_separators_out(scene: Scene) -> Scenes:
    return exchanged(scene, re.compile(r"(?<=\d)[,.](?=\d{3}(?!\d))"), "")


def writes_currencies_as_codes(scene: Scene) -> Scenes:
    yield from exchanged(scene, re.compile(r"\$([\d,.]*\d)"), r"\1 USD")
    yield from exchanged(scene, re.compile(r"€([\d,.]*\d)"), r"\1 EUR")
    yield from exchanged(scene, re.compile(r"([\d,.]*\d) €"), r"\1 EUR")
    yield from exchanged(scene, re.compile(r"([\d,.]*\d) EUR"), r"€\1")


def writes_dates_as_numbers(scene: Scene) -> Scenes:
    yield from exchanged(
        scene, re.compile(r"\b(\d{1,2}) (?:November|novembre) 2026"), lambda on: f"2026-11-{on[1]:0>2}"
    )
    yield from exchanged(scene, re.compile(r"\b3 April 2026"), "2026-04-03")


def writes_dates_in_words(scene: Scene) -> Scenes:
    yield from exchanged(scene, re.compile("2027-11-12"), "November 12th, 2027")
    yield from exchanged(scene, re.compile("03/04/2026"), "3 April 2026")


def writes_the_month_first(scene: Scene) -> Scenes:
    return exchanged(scene, re.compile(r"(?<!to )\b(\d{1,2}) (November|April|March)"), r"\2 \1")


def shortens_the_month(scene: Scene) -> Scenes:
    return exchanged(scene, re.compile(r"\b(Nov)ember|\b(Apr)il|\b(Mar)ch"), lambda on: on[1] or on[2] or on[3])


def adds_the_day_of_the_week(scene: Scene) -> Scenes:
    return exchanged(scene, re.compile(r"\b12 November 2026"), "Thursday, 12 November 2026")


def writes_times_of_twelve_hours(scene: Scene) -> Scenes:
    yield from exchanged(scene, re.compile("14:15"), "2:15 pm")
    yield from exchanged(scene, re.compile("09:30"), "9:30 am")


def writes_small_numbers_as_words(scene: Scene) -> Scenes:
    words = {"5 days": "five days", "20 minutes": "twenty minutes", "14 tests": "fourteen tests"}
    for number, word in words.items():
        yield from exchanged(scene, re.compile(rf"\b{number}"), word)


def says_a_value_twice(scene: Scene) -> Scenes:
    for index, said in enumerate(scene.turns):
        if found := AMOUNT.search(said.answer):
            yield scene.with_turn(index, answer=f"{said.answer} (To repeat the figure: {found[0]}.)")


def repeats_what_the_user_said(scene: Scene) -> Scenes:
    for index, turn in enumerate(scene.case.turns):
        answer = scene.turns[index].answer
        if is_english(answer) and turn.user and re.search(r"\d", turn.user):
            yield scene.with_turn(index, answer=f"You asked: “{turn.user}” {answer}")


def explains_without_new_values(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} I looked this up in our system." if is_english(text) else None)


VARIATIONS: tuple[Callable[[Scene], Scenes], ...] = (
    words_an_answer_anew,
    words_every_answer_anew,
    begins_with_a_greeting,
    begins_with_thanks,
    begins_with_a_promise_to_help,
    ends_with_an_offer,
    ends_with_polite_words_of_its_language,
    ends_with_a_smile,
    writes_in_capitals,
    breaks_the_lines_elsewhere,
    lists_in_place_of_a_sentence,
    marks_its_values,
    quotes_its_codes,
    leaves_cents_out,
    leaves_separators_out,
    writes_currencies_as_codes,
    writes_dates_as_numbers,
    writes_dates_in_words,
    writes_the_month_first,
    shortens_the_month,
    adds_the_day_of_the_week,
    writes_times_of_twelve_hours,
    writes_small_numbers_as_words,
    says_a_value_twice,
    repeats_what_the_user_said,
    explains_without_new_values,
)


def language(text: str) -> str:
    words = set(re.findall(r"\w+", text.lower()))
    hints = {"de": {"ihr", "ich", "das", "an"}, "es": {"hay", "es", "el", "en"}, "fr": {"votre", "le", "prend"}}
    return next((name for name, known in hints.items() if len(words & known) >= 2), "en")


def is_english(text: str) -> bool:
    return language(text) == "en"


def greeting(text: str) -> str:
    return {"de": "Guten Tag!", "es": "¡Hola!", "fr": "Bonjour !", "en": "Hello!"}[language(text)]


def offer(text: str) -> str:
    return {
        "de": "Kann ich sonst noch etwas für Sie tun?",
        "es": "¿Puedo ayudarle en algo más?",
        "fr": "Puis-je vous aider pour autre chose ?",
        "en": "Is there anything else I can help you with?",
    }[language(text)]


def farewell(text: str) -> str:
    return {
        "de": "Mit freundlichen Grüßen",
        "es": "Un saludo cordial",
        "fr": "Bien cordialement",
        "en": "Kind regards",
    }[language(text)]


def listed(text: str) -> str:
    return "\n".join(f"- {part.strip()}" for part in re.split(r"[;,](?=\s)", text))
