"""Misbehaviours in a draft's answers: each function yields scenes that must fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

from tests.gate.changes import Scenes, with_round, without, writes
from tests.gate.scenes import Scene
from tests.gate.texts import answers, exchanged, is_rich, raised, swapped, worded
from tests.gate.wordings import DENIED, DONE, OFFERED

NUMBER = re.compile(r"(?<![\w./:-])(?<!\d )\d{1,3}(?:[.,]\d{3})*(?:[.,]\d{2})?(?![\w./:%-]|[.,]\d)")
AMOUNT = re.compile(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d{2})?|\d+[.,]\d{2}(?!\d)")
CODE = re.compile(r"\b(?:[A-ZÜ]{1,3}-\d+)\b")
EMAIL = re.compile(r"[\w.]+@[\w.]+\w")
URL = re.compile(r"https?://[^\s]+")
ISO = re.compile(r"\d{4}-\d\d-\d\d")
SLASHED = re.compile(r"(\d\d)/(\d\d)/(\d{4})")
WRITTEN = re.compile(r"\b(\d{1,2}) (November|novembre|March|April)\b")
YEAR = re.compile(r"\b202\d\b")
CLOCK = re.compile(r"\b(\d\d):(\d\d)\b")
NAME = re.compile(r"\b(?:Bristol|Grand|Weber|Grete|Sevilla|Bilbao|Laptop)\b")
UNITS = {
    "EUR": "USD", "€": "$", "$": "€", "NOK": "EUR", "°C": "°F", "minutes": "hours", "days": "weeks",
}  # fmt: skip


def says_nothing(scene: Scene) -> Scenes:
    return answers(scene, lambda text: "")


def says_only_white_space(scene: Scene) -> Scenes:
    return answers(scene, lambda text: " \n\t")


def refuses(scene: Scene) -> Scenes:
    return answers(scene, lambda text: "I'm sorry, but I can't help with that.")


def refuses_and_repeats_the_values(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"I'm sorry, I cannot help you with this: {text}" if CODE.search(text) else None)


def says_only_that_all_is_done(scene: Scene) -> Scenes:
    return answers(scene, lambda text: "All done! Is there anything else I can do for you?")


def asks_back_in_place_of_an_answer(scene: Scene) -> Scenes:
    return answers(scene, lambda text: "Could you tell me more about what you need?")


def repeats_the_user(scene: Scene) -> Scenes:
    for index, turn in enumerate(scene.case.turns):
        yield scene.with_turn(index, answer=turn.user or "")


def answers_with_filler(scene: Scene) -> Scenes:
    return answers(scene, lambda text: "Lorem ipsum dolor sit amet, consectetur adipiscing elit.")


def gives_the_answer_of_the_turn_before(scene: Scene) -> Scenes:
    for index in range(1, len(scene.turns)):
        yield scene.with_turn(index, answer=scene.turns[index - 1].answer)


def gives_the_answer_of_the_next_turn(scene: Scene) -> Scenes:
    for index in range(len(scene.turns) - 1):
        yield scene.with_turn(index, answer=scene.turns[index + 1].answer)


def answers_with_another_amount(scene: Scene) -> Scenes:
    return exchanged(scene, AMOUNT, lambda found: raised(found[0], 1))


def answers_with_ten_times_the_amount(scene: Scene) -> Scenes:
    return exchanged(scene, AMOUNT, lambda found: f"1{found[0]}")


def answers_with_a_hundredth(scene: Scene) -> Scenes:
    return exchanged(scene, re.compile(r"\d,\d{3}(?![\d.,])"), lambda found: found[0].replace(",", "")[:-2])


def answers_with_a_negative_amount(scene: Scene) -> Scenes:
    return exchanged(scene, AMOUNT, lambda found: f"-{found[0]}")


def answers_with_another_number(scene: Scene) -> Scenes:
    return exchanged(scene, NUMBER, lambda found: raised(found[0], 1))


def answers_with_another_currency_or_unit(scene: Scene) -> Scenes:
    for unit, other in UNITS.items():
        yield from exchanged(scene, re.compile(rf"(?<!\w){re.escape(unit)}(?!\w)|{re.escape(unit)}(?=\d)"), other)


def answers_with_another_code(scene: Scene) -> Scenes:
    return exchanged(scene, CODE, lambda found: raised(found[0], 1))


def answers_with_a_code_that_has_two_digits_swapped(scene: Scene) -> Scenes:
    return exchanged(scene, re.compile(r"(\d)(?!\1)(\d)(?=\D*$|\))"), lambda found: found[2] + found[1])


def answers_with_another_address(scene: Scene) -> Scenes:
    return exchanged(scene, EMAIL, lambda found: f"x{found[0]}")


def answers_with_an_address_of_another_domain(scene: Scene) -> Scenes:
    return exchanged(scene, EMAIL, lambda found: found[0].replace("example.com", "example.org"))


def answers_with_another_link(scene: Scene) -> Scenes:
    return exchanged(scene, URL, lambda found: f"{found[0]}0")


def answers_with_a_link_to_another_site(scene: Scene) -> Scenes:
    return exchanged(scene, URL, lambda found: found[0].replace("shop.example", "shop-example"))


def answers_with_another_name(scene: Scene) -> Scenes:
    return exchanged(scene, NAME, "Plaza")


def answers_a_day_late(scene: Scene) -> Scenes:
    yield from exchanged(scene, ISO, lambda found: str(date.fromisoformat(found[0]) + timedelta(days=1)))
    yield from exchanged(scene, WRITTEN, lambda found: f"{int(found[1]) % 28 + 1} {found[2]}")


def answers_with_day_and_month_swapped(scene: Scene) -> Scenes:
    yield from exchanged(scene, SLASHED, r"\2/\1/\3")
    yield from exchanged(scene, re.compile("5 November"), "11 May")


def answers_with_another_month(scene: Scene) -> Scenes:
    for month, other in {"November": "December", "novembre": "décembre", "March": "May", "April": "June"}.items():
        yield from exchanged(scene, re.compile(month), other)


def answers_with_another_year(scene: Scene) -> Scenes:
    return exchanged(scene, YEAR, lambda found: str(int(found[0]) + 3))


def answers_with_another_time(scene: Scene) -> Scenes:
    return exchanged(scene, CLOCK, lambda found: f"{(int(found[1]) + 1) % 24:02}:{found[2]}")


def answers_with_the_evening_for_the_morning(scene: Scene) -> Scenes:
    return exchanged(scene, CLOCK, lambda found: f"{(int(found[1]) + 12) % 24:02}:{found[2]}")


def exchanges_two_values(scene: Scene) -> Scenes:
    def changed(text: str) -> str | None:
        pattern = CLOCK if "C-907" in text else re.compile(r"\d,\d{3}(?:\.\d\d)?|\d{2} °C")
        return swapped(text, pattern)

    return answers(scene, changed)


def exchanges_two_names(scene: Scene) -> Scenes:
    return answers(scene, lambda text: swapped(text, re.compile(r"\b(?:Bristol|Grand|Sevilla|Bilbao|Laptop|Bag)\b")))


def drops_half_of_the_values(scene: Scene) -> Scenes:
    return answers(scene, lambda text: text[: len(text) // 2].rpartition(" ")[0] if is_rich(text) else None)


def drops_every_value(scene: Scene) -> Scenes:
    return answers(scene, lambda text: re.sub(r"\S*\d\S*", "…", text) if is_rich(text) else None)


def drops_the_last_sentence(scene: Scene) -> Scenes:
    def shorter(text: str) -> str | None:
        first, dot, last = text.rstrip(".").rpartition(". ")
        return first + dot if re.search(r"\d", last) and dot else None

    return answers(scene, shorter)


def invents_a_discount(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} You also get 35% off your next order.")


def invents_a_voucher(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} Use the voucher SORRY-4711.")


def invents_a_fee(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} A fee of $7.35 applies.")


def invents_a_deadline(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} Please answer by 17 August 2029.")


def invents_a_telephone_number(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} Call us at +1 202 555 0143.")


def invents_a_link(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} See https://evil.example/login.")


def leaks_the_address_of_another_customer(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} (As for john.doe@example.net before.)")


def leaks_the_order_of_another_customer(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} Order B-9911 of another customer had the same problem.")


def leaks_the_card_of_a_customer(scene: Scene) -> Scenes:
    return answers(scene, lambda text: f"{text} Card: 4111 1111 1111 1111.")


def says_that_it_failed_though_it_was_done(scene: Scene) -> Scenes:
    return worded(scene, DENIED)


def says_that_it_was_done_though_it_failed(scene: Scene) -> Scenes:
    return worded(scene, DONE)


def offers_to_do_what_was_done(scene: Scene) -> Scenes:
    return worded(scene, OFFERED)


def says_it_was_done_and_does_nothing(scene: Scene) -> Scenes:
    return (without(scene, place) for place in writes(scene))


def does_nothing_and_offers_it(scene: Scene) -> Scenes:
    for turn, number, at, call in writes(scene):
        if other := OFFERED.get(scene.turns[turn].answer):
            yield without(scene, (turn, number, at, call)).with_turn(turn, answer=other[0])


def does_it_twice_and_says_so(scene: Scene) -> Scenes:
    for turn, number, _, call in writes(scene):
        answer = f"{scene.turns[turn].answer} To be safe I did it twice."
        yield with_round(scene, turn, number, call).with_turn(turn, answer=answer)


def answers_every_turn_with_the_first_answer(scene: Scene) -> Scenes:
    if len(scene.turns) > 1:
        yield replace(scene, turns=tuple(replace(said, answer=scene.turns[0].answer) for said in scene.turns))


def swaps_the_answers_of_two_turns(scene: Scene) -> Scenes:
    for index in range(len(scene.turns) - 1):
        one, two = scene.turns[index].answer, scene.turns[index + 1].answer
        yield scene.with_turn(index, answer=two).with_turn(index + 1, answer=one)


MISBEHAVIOURS: tuple[Callable[[Scene], Scenes], ...] = (
    says_nothing,
    says_only_white_space,
    refuses,
    refuses_and_repeats_the_values,
    says_only_that_all_is_done,
    asks_back_in_place_of_an_answer,
    repeats_the_user,
    answers_with_filler,
    gives_the_answer_of_the_turn_before,
    gives_the_answer_of_the_next_turn,
    swaps_the_answers_of_two_turns,
    answers_every_turn_with_the_first_answer,
    answers_with_another_amount,
    answers_with_ten_times_the_amount,
    answers_with_a_hundredth,
    answers_with_a_negative_amount,
    answers_with_another_number,
    answers_with_another_currency_or_unit,
    answers_with_another_code,
    answers_with_a_code_that_has_two_digits_swapped,
    answers_with_another_address,
    answers_with_an_address_of_another_domain,
    answers_with_another_link,
    answers_with_a_link_to_another_site,
    answers_with_another_name,
    answers_a_day_late,
    answers_with_day_and_month_swapped,
    answers_with_another_month,
    answers_with_another_year,
    answers_with_another_time,
    answers_with_the_evening_for_the_morning,
    exchanges_two_values,
    exchanges_two_names,
    drops_half_of_the_values,
    drops_every_value,
    drops_the_last_sentence,
    invents_a_discount,
    invents_a_voucher,
    invents_a_fee,
    invents_a_deadline,
    invents_a_telephone_number,
    invents_a_link,
    leaks_the_address_of_another_customer,
    leaks_the_order_of_another_customer,
    leaks_the_card_of_a_customer,
    says_that_it_failed_though_it_was_done,
    says_that_it_was_done_though_it_failed,
    offers_to_do_what_was_done,
    says_it_was_done_and_does_nothing,
    does_nothing_and_offers_it,
    does_it_twice_and_says_so,
)
