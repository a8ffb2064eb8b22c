"""The parts into which the requests of `bench.worst` can be divided."""

from __future__ import annotations

from itertools import chain

import pytest

from bench.worst.__main__ import Part, chosen
from bench.worst.case import Ask, Case

ROUTES = ("GET /api/v1/prompts", "POST /api/v1/prompts", "GET /projects", "POST /api/v1/runs", "DELETE /api/v1/runs")
ALL = [Case(route, name, lambda _stage: Ask()) for route in ROUTES for name in ("small", "large")]


def chosen_names(**options: object) -> list[str]:
    options = {"routes": "", "method": "", "name": "", "part": Part(1, 1)} | options
    return [f"{case.route} {case.name}" for case in chosen(ALL, **options)]  # type: ignore[arg-type]


def test_all_parts_have_all_requests_once() -> None:
    parts = [chosen_names(part=Part(number, 3)) for number in (1, 2, 3)]
    assert sorted(chain(*parts)) == sorted(chosen_names())
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_requests_are_chosen_by_their_method_and_the_beginning_of_their_path() -> None:
    assert chosen_names(method="POST", routes="/api/v1/r", name="large") == ["POST /api/v1/runs large"]
    assert chosen_names(routes="/projects") == ["GET /projects small", "GET /projects large"]


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "1/x"])
def test_a_part_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Part.parse(text)


def test_a_part_is_read() -> None:
    assert Part.parse("2/4") == Part(2, 4)
