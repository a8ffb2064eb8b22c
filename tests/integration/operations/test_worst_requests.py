"""The work of each route grows in step with what it is asked about, and the benchmark of the dearest forgets none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from app.process.application import build_app
from app.wiring.container import Container
from bench.worst import derived
from bench.worst.__main__ import cases
from bench.worst.case import Case
from bench.worst.fullest import fill
from bench.worst.last import is_last
from bench.worst.stage import Size, Stage, stage
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.operations import calls_of
from tests.support.statements import executed

SHARE = 0.004
# Twice as much to read may be this many times the work: bounds of pages and pieces make it grow in jumps.
GROWTH = 2.6


class Cost(NamedTuple):
    """Functions that the request's thread calls, statements that it executes, and bytes of the answer."""

    calls: int
    statements: int
    bytes: int


# Smaller differences are noise: a cache that has expired, a connection that is opened.
FLOOR = Cost(3_000, 12, 20_000)
# What waits for workers does more on a busy machine. A request that seems to grow is asked so often again, and its
# least cost counts.
AGAIN = 2
# They show the process's own metrics, which grow with its minutes and not with the stores.
OF_PROCESS = {"GET /metrics", "GET /projects/{project_id}/operations"}
Costs = dict[str, Cost]


@EMBEDDED_CONTAINER
def test_every_route_has_a_dearest_request(container: Container) -> None:
    app = build_app(container)
    routes = {f"{method} {route.path}" for route in app.routes for method in route.responders}

    assert routes == {case.route for case in cases(app)}


class Growing(NamedTuple):
    """A stage that is filled, and the statements that the requests' thread executes: workers execute others."""

    stage: Stage
    statements: list[str]


@pytest.fixture
def growing() -> Iterator[Growing]:
    with stage() as made, executed([made.world.container.database.engine], of_this_thread=True) as statements:
        made.ids |= _small_objects(made.ids)
        yield Growing(made, statements)


def _small_objects(ids: dict[str, Any]) -> dict[str, Any]:
    """Return the ids of the objects that are there before the stores are filled, by the names of the fullest."""
    return {
        name: ids[parameter]
        for parameter, names in derived.OBJECTS.items()
        if parameter in ids
        for name in names
        if name.startswith(parameter.removesuffix("_id"))
    }


def _is_read(case: Case) -> bool:
    return case.route.startswith("GET ") and case.route not in OF_PROCESS


def _is_change(case: Case) -> bool:
    """Return whether a request changes something and can be sent again: what removes is sent once."""
    return not case.route.startswith("GET ") and not is_last(case.route)


@pytest.mark.parametrize("is_asked", [_is_read, _is_change])
def test_twice_as_much_in_the_stores_is_at_most_about_twice_the_work_of_each_route(
    growing: Growing, is_asked: Callable[[Case], bool]
) -> None:
    asked = [*filter(is_asked, derived.requests(growing.stage.app, by_fields=False))]
    _costs(growing, asked)  # fills caches
    small = _costs(growing, asked)
    fill(growing.stage, Size(SHARE, 1))
    once = _costs(growing, asked)
    fill(growing.stage, Size(2 * SHARE, 2), listed=Size(SHARE, 2))  # which makes twice as much of what is listed, too
    twice = _costs(growing, asked)

    grown = {name for name in once if _grows(small, once, twice, name)}
    for _ in range(AGAIN):
        again = _costs(growing, [case for case in asked if _name_of(case) in grown])
        twice |= {name: Cost(*map(min, twice[name], cost)) for name, cost in again.items()}
        grown = {name for name in grown if _grows(small, once, twice, name)}

    assert {name: (small[name], once[name], twice[name]) for name in grown} == {}


@pytest.mark.parametrize(("power", "grows"), [(1, False), (2, True)])
def test_quadratic_work_is_found_behind_the_work_of_any_request(power: int, grows: bool) -> None:
    calls = (5_000 + 100 * size**power for size in (1, 40, 80))
    small, once, twice = ({"GET /": Cost(count, 5, 1_000)} for count in calls)

    assert _grows(small, once, twice, "GET /") is grows


def _grows(small: Costs, once: Costs, twice: Costs, name: str) -> bool:
    counts = zip(small[name], once[name], twice[name], FLOOR, strict=True)
    return any(after - none > GROWTH * max(before - none, floor) for none, before, after, floor in counts)


def _costs(growing: Growing, asked: Iterable[Case]) -> Costs:
    return {_name_of(case): _counted(growing, case) for case in asked}


def _name_of(case: Case) -> str:
    return f"{case.route} {case.name}"


def _counted(growing: Growing, case: Case) -> Cost:
    method, _, template = case.route.partition(" ")
    sizes: list[int] = []
    made, ask = growing.stage, case.ask(growing.stage)
    growing.statements.clear()
    calls = calls_of(lambda: sizes.append(len(made.answer(method, template, ask).content)), at_most=math.inf)
    return Cost(calls, len(growing.statements), sizes[0])
