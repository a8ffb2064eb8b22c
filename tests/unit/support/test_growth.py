"""The work of a function is counted for it, whatever its callers do, and growth is seen behind linear work."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from tests.support.growth import OUTSIDE, grown, work_by_function
from tests.support.operations import APP

pytestmark = pytest.mark.slow

SOURCE = """
def linear(count):
    return [quiet(number) for number in range(count)]

def quiet(number):
    return number

def quadratic(count):
    return sum(1 for one in range(count) for other in range(count))

def calls(function, count):
    for _ in range(count):
        function()
"""


def functions(folder: str) -> dict[str, Callable[..., object]]:
    made: dict[str, Callable[..., object]] = {}
    exec(compile(SOURCE, f"{folder}loops.py", "exec"), made)
    return made


@pytest.mark.parametrize(("name", "grows"), [("linear", False), ("quadratic", True)])
def test_quadratic_work_of_a_function_is_seen_behind_the_linear_work_of_others(name: str, grows: bool) -> None:
    made = functions(APP)

    def work(count: int) -> dict[str, int]:
        return work_by_function(lambda: (made["linear"](200 * count), made[name](count)))

    assert set(grown(work(1), work(20), work(40), 100)) == ({"loops:quadratic"} if grows else set())


def test_work_outside_of_the_app_counts_for_the_function_that_causes_it() -> None:
    made, others = functions(APP), functions("/elsewhere/")

    work = work_by_function(lambda: made["calls"](lambda: others["linear"](100), 10))

    assert work["loops:calls"] > 1_000
    assert work_by_function(lambda: others["linear"](1_000))[OUTSIDE] > 1_000


def test_what_sqlite_does_counts_for_the_function_that_asks_it() -> None:
    made, connection = functions(APP), sqlite3.connect(":memory:")
    connection.set_progress_handler(lambda: None, 100)

    def ask() -> None:
        connection.execute(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 9999) SELECT max(n) FROM n"
        )

    assert work_by_function(lambda: made["calls"](ask, 1))["loops:calls"] > 500


@pytest.mark.parametrize(
    ("none", "once", "twice", "grows"),
    [
        (0, 1_000, 2_000, False),
        (0, 1_000, 4_000, True),
        (900, 1_000, 1_200, False),  # a page that changes with its first entries
        (0, 10, 40, False),
    ],
)
def test_growth_is_more_than_twice_in_all_and_of_what_is_added(none: int, once: int, twice: int, grows: bool) -> None:
    assert bool(grown({"f": none}, {"f": once}, {"f": twice}, floor=100)) is grows
