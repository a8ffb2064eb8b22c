"""Splits a long replay into parts of the size of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import orjson

# Steps of a part, and bytes of their JSON. A larger step is a part by itself.
PART_STEPS, PART_BYTES = 100, 300_000


@dataclass(frozen=True, slots=True)
class StepPlace:
    """The place of a turn's head, a step, or an extra call or answer.

    `index` is the step's index in its turn. `number` counts the steps of all turns from 0; only steps have one.
    """

    turn: int
    step: Mapping[str, Any]
    anchor: str
    index: int = 0
    number: int | None = None
    is_head: bool = False


@dataclass(frozen=True, slots=True)
class ReplayPart:
    """Part `number` of the `parts` of a replay, counted from 1. `turns` are the JSON of all turns of the replay."""

    turns: Sequence[Mapping[str, Any]]
    places: Sequence[StepPlace]
    number: int
    parts: int


def part_of(
    result: Mapping[str, Any], *, part: int | None = None, turn: int | None = None, anchor: str = ""
) -> ReplayPart:
    """Return the part of a result with this number, turn or anchor; by default the first.

    `result` is the JSON of a `ReplayResult`, or empty. Numbers and turns count from 1.
    """
    turns = result.get("turns", ())
    parts = list(_parts(places_of(turns))) or [[]]
    wanted = anchor or (f"turn-{turn}" if turn else "")
    index = next(
        (n for n, places in enumerate(parts) if any(place.anchor == wanted for place in places)), (part or 1) - 1
    )
    index = min(max(index, 0), len(parts) - 1)
    return ReplayPart(turns, parts[index], index + 1, len(parts))


def places_of(turns: Sequence[Mapping[str, Any]]) -> Iterator[StepPlace]:
    """Yield the places of all turns in the order of the page."""
    numbers = count()
    for index, turn in enumerate(turns):
        yield StepPlace(index, {"user": turn.get("user")}, f"turn-{index + 1}", is_head=True)
        for n, step in enumerate(turn["steps"]):
            number = next(numbers)
            yield StepPlace(index, step, f"step-{number}", n, number)
        for n, step in enumerate(turn["extra"], 1):
            yield StepPlace(index, step, f"turn-{index + 1}-extra-{n}")


def _parts(places: Iterator[StepPlace]) -> Iterator[list[StepPlace]]:
    part: list[StepPlace] = []
    size = 0
    for place in places:
        place_size = len(orjson.dumps(place.step))
        if part and (len(part) >= PART_STEPS or size + place_size > PART_BYTES):
            yield part
            part, size = [], 0
        part.append(place)
        size += place_size
    if part:
        yield part
