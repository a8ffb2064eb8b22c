"""Sends each of the dearest requests alone, and prints what it takes of a processor: `python -m bench.worst`.

In one process on SQLite, with the workers in it, so that what a request leaves to them counts. Ends with an error when
a request takes more than a second.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from app.http.route_table import RoutedApp
from bench.worst import api, batches, last, pages
from bench.worst.case import CASES, Case
from bench.worst.stage import Stage, stage
from config import logging
from config.settings import Settings

GOAL_S = 1.0
SHOWN = 30
Taken = tuple[float, int, Case]


def cases(app: RoutedApp) -> Iterator[Case]:
    """All of them, those that change what the others cost last."""
    found = [*CASES, *api.of_bodies(app), *pages.of_forms(app)]
    yield from sorted(found, key=lambda case: last.is_last(case.route))


def measure(made: Stage, case: Case) -> Taken:
    """Says at once what is dear, as all of them take some minutes."""
    method, _, template = case.route.partition(" ")
    ask = case.ask(made)
    batches.note(case, ask)
    status, took = made.send(method, template, ask)
    if method == "GET":  # what changes nothing may be asked again, without what the first time costs
        took = min(took, made.send(method, template, ask)[1])
    if took > GOAL_S / 2 or status >= 500:
        print(line(took, status, case), file=sys.stderr, flush=True)
    return took, status, case


def line(took: float, status: int, case: Case) -> str:
    return f"  {took:6.2f}  {status}  {case.route}  {case.name}"


def show(taken: list[Taken], shown: int) -> None:
    taken.sort(key=lambda each: -each[0])
    routes = len({case.route for _, _, case in taken})
    print(f"{len(taken)} requests to {routes} routes; seconds of a processor, the dearest {shown}:")
    for took, status, case in taken[:shown]:
        print(line(took, status, case))
    over = sum(took > GOAL_S for took, _, _ in taken)
    print(f"over {GOAL_S:.0f} s: {over}    goal none")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of a route's or a request's name")
    parser.add_argument("--shown", type=int, default=SHOWN)
    asked = parser.parse_args()
    logging.configure(Settings(log_level="error"))
    with stage() as made:
        chosen = [case for case in cases(made.app) if asked.only in f"{case.route} {case.name}"]
        taken = [measure(made, case) for case in chosen]
    show(taken, asked.shown)
    batches.show(taken)
    sys.exit(any(took > GOAL_S for took, _, _ in taken))


if __name__ == "__main__":
    main()
