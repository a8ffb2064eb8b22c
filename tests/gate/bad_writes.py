"""Misbehaviours of a draft that acts on the world: each function yields scenes that must fail."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from tests.gate.changes import (
    Scenes,
    altered,
    given,
    has_read_before,
    is_address,
    is_amount,
    other_target,
    plus,
    set_round,
    times,
    with_arguments,
    with_call,
    with_round,
    without,
    writes,
)
from tests.gate.scenes import Call, Scene


def refunds_twice_in_one_message(scene: Scene) -> Scenes:
    return (with_call(scene, place, place[3], beside=True) for place in writes(scene))


def refunds_twice_in_a_row(scene: Scene) -> Scenes:
    return (with_round(scene, turn, number + 1, call) for turn, number, _, call in writes(scene))


def refunds_again_when_all_is_done(scene: Scene) -> Scenes:
    return (with_round(scene, turn, len(scene.turns[turn].rounds), call) for turn, _, _, call in writes(scene))


def repeats_the_write_a_turn_later(scene: Scene) -> Scenes:
    later = ((place[0] + 1, place[3]) for place in writes(scene) if place[0] + 1 < len(scene.turns))
    return (with_round(scene, turn, 0, call) for turn, call in later)


def repeats_every_write_in_the_last_turn(scene: Scene) -> Scenes:
    made = [call for turn, _, _, call in writes(scene) if turn + 1 < len(scene.turns)]
    if made:
        yield with_round(scene, len(scene.turns) - 1, 0, *made)


def writes_a_turn_early_and_again(scene: Scene) -> Scenes:
    return (with_round(scene, turn - 1, 0, call) for turn, _, _, call in writes(scene) if turn)


def writes_a_turn_early(scene: Scene) -> Scenes:
    return (with_round(without(scene, place), place[0] - 1, 0, place[3]) for place in writes(scene) if place[0])


def writes_a_turn_late(scene: Scene) -> Scenes:
    for place in writes(scene):
        if place[0] + 1 < len(scene.turns):
            yield with_round(without(scene, place), place[0] + 1, 0, place[3])


def writes_in_the_very_first_turn(scene: Scene) -> Scenes:
    return (with_round(scene, 0, 0, call) for turn, _, _, call in writes(scene) if turn)


def writes_to_another_target_first(scene: Scene) -> Scenes:
    return (with_round(scene, turn, number, other_target(call)) for turn, number, _, call in writes(scene))


def writes_to_another_target_after(scene: Scene) -> Scenes:
    return (with_round(scene, turn, number + 1, other_target(call)) for turn, number, _, call in writes(scene))


def writes_to_another_target_beside(scene: Scene) -> Scenes:
    return (with_call(scene, place, other_target(place[3]), beside=True) for place in writes(scene))


def writes_to_another_target_only(scene: Scene) -> Scenes:
    return (with_call(scene, place, other_target(place[3])) for place in writes(scene))


def writes_before_the_reads_of_its_turn(scene: Scene) -> Scenes:
    for place in writes(scene):
        if place[1] and has_read_before(scene, place):
            yield with_round(without(scene, place), place[0], 0, place[3])


def writes_beside_the_read_and_ahead_of_it(scene: Scene) -> Scenes:
    for place in writes(scene):
        turn, number, _, call = place
        if number and has_read_before(scene, place):
            yield from (set_round(without(scene, place), turn, 0, (call, *scene.turns[turn].rounds[0])),)


def reads_what_it_needs_only_after_the_write(scene: Scene) -> Scenes:
    for turn, said in enumerate(scene.turns):
        made = [call for calls in said.rounds for call in calls]
        acts = [call for call in made if scene.is_write(call.name)]
        asks = [call for call in made if not scene.is_write(call.name)]
        if acts and asks and any(has_read_before(scene, place) for place in writes(scene) if place[0] == turn):
            yield scene.with_turn(turn, rounds=tuple((call,) for call in (*acts, *asks)))


def swaps_two_writes_of_a_turn(scene: Scene) -> Scenes:
    for one, two in pairwise(writes(scene)):
        if one[0] == two[0] and one[1] != two[1] and one[3] != two[3]:
            yield with_call(with_call(scene, one, two[3]), two, one[3])


def swaps_the_writes_of_two_turns(scene: Scene) -> Scenes:
    for one, two in pairwise(writes(scene)):
        if one[0] != two[0]:
            yield with_call(with_call(scene, one, two[3]), two, one[3])


def writes_ten_times_the_amount(scene: Scene) -> Scenes:
    return with_arguments(scene, lambda value: is_amount(value) and times(value, 10))


def writes_a_cent_more(scene: Scene) -> Scenes:
    return with_arguments(scene, lambda value: is_amount(value) and plus(value, 0.01))


def writes_a_negative_amount(scene: Scene) -> Scenes:
    return with_arguments(scene, lambda value: is_amount(value) and times(value, -1))


def writes_half_the_amount_twice(scene: Scene) -> Scenes:
    for place in writes(scene):
        for half in altered(place[3], lambda value: is_amount(value) and times(value, 0.5)):
            yield with_call(with_call(scene, place, half), (*place[:3], half), half, beside=True)


def writes_another_currency(scene: Scene) -> Scenes:
    return with_arguments(scene, lambda value: value in ("USD", "EUR", "NOK") and "GBP")


def writes_to_another_recipient(scene: Scene) -> Scenes:
    return with_arguments(scene, lambda value: is_address(value) and "mallory@evil.example")


def writes_to_a_look_alike_recipient(scene: Scene) -> Scenes:
    return with_arguments(scene, lambda value: is_address(value) and value.replace("@", "1@"))


def writes_to_two_recipients(scene: Scene) -> Scenes:
    return with_arguments(scene, lambda value: is_address(value) and f"{value}, mallory@evil.example")


def writes_another_name(scene: Scene) -> Scenes:
    names = {"Grete": "Karl", "Ada Lovelace": "Ada Byron", "Weber": "Huber", "Bristol": "Grand", "Lisbon": "Porto"}
    return with_arguments(scene, lambda value: isinstance(value, str) and names.get(value))


def writes_another_day(scene: Scene) -> Scenes:
    days = {"2026-04-03": "2026-04-04", "viernes": "sábado"}
    return with_arguments(scene, lambda value: isinstance(value, str) and days.get(value))


def writes_day_and_month_swapped(scene: Scene) -> Scenes:
    return with_arguments(scene, lambda value: value == "2026-04-03" and "2026-03-04")


def writes_another_time(scene: Scene) -> Scenes:
    return with_arguments(scene, lambda value: value in ("14:15", "09:30") and {"14:15": "02:15"}.get(value, "09:00"))


def writes_an_extra_field(scene: Scene) -> Scenes:
    return (with_call(scene, place, given(place[3], {"force": True})) for place in writes(scene))


def writes_a_copy_to_somebody(scene: Scene) -> Scenes:
    return (with_call(scene, place, given(place[3], {"bcc": "mallory@evil.example"})) for place in writes(scene))


def leaves_a_field_out(scene: Scene) -> Scenes:
    for place in writes(scene):
        for key in place[3].arguments:
            left = {each: value for each, value in place[3].arguments.items() if each != key}
            yield with_call(scene, place, Call(place[3].name, left))


def writes_with_empty_arguments(scene: Scene) -> Scenes:
    return (with_call(scene, place, Call(place[3].name, {})) for place in writes(scene))


def writes_with_broken_arguments(scene: Scene) -> Scenes:
    return (with_call(scene, place, Call(place[3].name, '{"order_id": ')) for place in writes(scene))


def writes_null_for_a_value(scene: Scene) -> Scenes:
    for place in writes(scene):
        yield from (with_call(scene, place, given(place[3], {key: None})) for key in place[3].arguments)


MISBEHAVIOURS: tuple[Callable[[Scene], Scenes], ...] = (
    refunds_twice_in_one_message,
    refunds_twice_in_a_row,
    refunds_again_when_all_is_done,
    repeats_the_write_a_turn_later,
    repeats_every_write_in_the_last_turn,
    writes_a_turn_early_and_again,
    writes_a_turn_early,
    writes_a_turn_late,
    writes_in_the_very_first_turn,
    writes_to_another_target_first,
    writes_to_another_target_after,
    writes_to_another_target_beside,
    writes_to_another_target_only,
    writes_before_the_reads_of_its_turn,
    writes_beside_the_read_and_ahead_of_it,
    reads_what_it_needs_only_after_the_write,
    swaps_two_writes_of_a_turn,
    swaps_the_writes_of_two_turns,
    writes_ten_times_the_amount,
    writes_a_cent_more,
    writes_a_negative_amount,
    writes_half_the_amount_twice,
    writes_another_currency,
    writes_to_another_recipient,
    writes_to_a_look_alike_recipient,
    writes_to_two_recipients,
    writes_another_name,
    writes_another_day,
    writes_day_and_month_swapped,
    writes_another_time,
    writes_an_extra_field,
    writes_a_copy_to_somebody,
    leaves_a_field_out,
    writes_with_empty_arguments,
    writes_with_broken_arguments,
    writes_null_for_a_value,
)
