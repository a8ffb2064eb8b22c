"""Sends each of the dearest requests separately, and prints its processor seconds: `python -m bench.worst`.

One process on SQLite has the workers, too, so that what a request leaves to them counts. Ends with an error when a
request costs more than a second, unless its answer is streamed or a worker plays what it starts. All requests together
need an hour and more: `--part 1/4` to `--part 4/4` send a quarter of the chosen ones each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Self

from app.http.route_table import RoutedApp
from bench.worst import api, batches, derived, last, pages
from bench.worst.case import CASES, Case
from bench.worst.fullest import full_stage
from bench.worst.stage import Sent, Stage
from config import logging
from config.settings import Settings

GOAL_S = 1.0
SHOWN = 30
DEAR_BYTES = 8_000_000
# Requests that start replays.
IN_WORKERS = ("/replays", "/replay", "/calibrations", "/calibrate", "/experiments", "/experiments/new")
Taken = tuple[Sent, Case]


def cases(app: RoutedApp) -> Iterator[Case]:
    """All requests; the ones that make others dearer come last."""
    all_cases = [*derived.requests(app), *CASES, *api.of_bodies(app), *pages.of_forms(app)]
    yield from sorted(all_cases, key=lambda case: last.is_last(case.route))


@dataclass(frozen=True, slots=True)
class Part:
    """One of several parts of a list; each has entries from everywhere in it, so that all cost about as much."""

    number: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> Self:
        number, _, parts = text.partition("/")
        part = cls(int(number), int(parts))
        if not 1 <= part.number <= part.parts:
            raise ValueError(text)
        return part

    def of(self, entries: Iterable[Case]) -> list[Case]:
        return list(islice(entries, self.number - 1, None, self.parts))


def chosen(all_cases: Iterable[Case], *, routes: str, method: str, name: str, part: Part) -> list[Case]:
    """Return the requests of a method to paths that begin with `routes`, with `name` in their route or their name."""
    return part.of(
        case
        for case in all_cases
        if case.route.startswith(f"{method} " if method else "")
        and case.route.partition(" ")[2].startswith(routes)
        and name in f"{case.route} {case.name}"
    )


def measure(made: Stage, case: Case) -> Taken:
    """Prints at once what is dear, because all requests together last some minutes."""
    method, _, template = case.route.partition(" ")
    ask = case.ask(made)
    batches.note(case, ask)
    sent = made.send(method, template, ask)
    if method == "GET":  # what changes nothing may be asked again, without what the first time costs
        sent = min(sent, made.send(method, template, ask), key=lambda sent: sent.seconds)
    if sent.seconds > GOAL_S / 2 or sent.status >= 500 or sent.size > DEAR_BYTES:
        print(line(sent, case), file=sys.stderr, flush=True)
    return sent, case


def goes_on(app: RoutedApp, case: Case) -> str:
    """Return why a request may cost more than a second; "" for any other."""
    method, _, path = case.route.partition(" ")
    streamed = {route.path for route in app.routes if method in getattr(route.resource, "exports", ())}
    if path in streamed:
        return "streamed"
    return "in a worker" if method == "POST" and path.endswith(IN_WORKERS) else ""


def is_over(app: RoutedApp, pair: Taken) -> bool:
    return pair[0].seconds > GOAL_S and not goes_on(app, pair[1])


def line(sent: Sent, case: Case) -> str:
    return f"  {sent.seconds:6.2f}  {sent.size / 1e6:6.1f}  {sent.status}  {case.route}  {case.name}"


def show(app: RoutedApp, taken: list[Taken], shown: int) -> None:
    taken.sort(key=lambda pair: -pair[0].seconds)
    routes = len({case.route for _, case in taken})
    print(f"{len(taken)} requests to {routes} routes; seconds of a processor and MB of answer, the dearest {shown}:")
    for sent, case in taken[:shown]:
        print(line(sent, case), goes_on(app, case))
    for name in ("streamed", "in a worker"):
        dearest = next((pair for pair in taken if goes_on(app, pair[1]) == name), None)
        if dearest:
            print(f"dearest {name}: {line(*dearest)}")
    over = sum(is_over(app, pair) for pair in taken)
    print(f"over {GOAL_S:.0f} s: {over}    goal none    {'missed' if over else 'reached'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routes", default="", metavar="PREFIX", help="the beginning of the paths")
    parser.add_argument("--method", default="", type=str.upper, help="the method, such as GET")
    parser.add_argument("--only", default="", help="a part of a route's or a request's name")
    parser.add_argument("--part", default=Part(1, 1), type=Part.parse, metavar="1/4", help="a part of these requests")
    parser.add_argument("--share", type=float, default=1.0, help="the part of the limits to which stores are filled")
    parser.add_argument("--shown", type=int, default=SHOWN)
    asked = parser.parse_args()
    logging.configure(Settings(log_level="error"))
    with full_stage(asked.share) as made:
        asked_cases = chosen(
            cases(made.app), routes=asked.routes, method=asked.method, name=asked.only, part=asked.part
        )
        taken = [measure(made, case) for case in asked_cases]
        show(made.app, taken, asked.shown)
        batches.show((sent.seconds, sent.status, case) for sent, case in taken)
    sys.exit(any(is_over(made.app, pair) for pair in taken))


if __name__ == "__main__":
    main()
