"""Two workers, a clock and a web process in any order: messages are lost or doubled, answers are lost, processes die.

A state machine of Hypothesis chooses what happens next. After each step of a process the rows are compared with those
before it. At the end the faults are repaired, and all work must end.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import ClassVar, Literal

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.states.processes import Fault
from tests.states.site import CLOCK, WEB, WORKERS
from tests.states.steps import ROUND_S, Steps, nth_of

MESSAGES_MAX = 2
"""How many of the waiting messages a worker may receive next."""
CHANGES = (1, 1, 2, 2, 2, 3, 4, 8)
QUERIES = (0, 0, 0, 1, 2)
"""Steps that a process makes in one turn: so many changes, then so many queries."""
IN_WORK = (2, 3, 4)
"""Changes after which a worker has claimed work and not ended it."""
EVENT_SHARE, CLAIM_SHARE = 0.75, 0.9
"""The shares of turns after which something happens: to any process, and to one that has claimed work."""
SEEDS = st.integers(0, 2**32 - 1)
Event = Literal["hang", "die", "die in a transaction"] | Fault
EVENTS: Sequence[Event] = ("hang", "hang", "hang", "die", "die", "die in a transaction", "request", "answer", "redis")
"""What happens to a process between two of its steps; an example has some of them."""


class Machine(Steps, RuleBasedStateMachine):
    """The rules: which process goes on, and what happens to it.

    A worker without a heartbeat counts as dead after `dead_after_s`.
    """

    dead_after_s: ClassVar[float]

    def choices(self, random: Random) -> Iterator[tuple[int, Callable[[], str]]]:
        """Yield what may happen next, with its weight: a process goes on, or begins; each returns its name."""
        messages = self.site.outside.mail.messages
        for name in self.busy:
            yield (8 if name in WORKERS else 4), partial(str, name)
        if not self.is_busy(WEB):
            yield (1 if len(messages) > MESSAGES_MAX else 6), partial(self.ask, random.randrange(8))
        if idle := [worker for worker in WORKERS if not self.is_busy(worker)]:
            for message in messages[:MESSAGES_MAX]:
                yield 6, partial(self.receive, random.choice(idle), message, is_copied=False)
                yield 1, partial(self.receive, random.choice(idle), message, is_copied=True)
        if not self.is_busy(CLOCK):
            yield 2, partial(self.sweep, random.choice(self.sweeps(self.site.stations[CLOCK])))

    # The rules. There is one for all processes, because Hypothesis leaves rules out of some examples. A seed chooses
    # what it does, because Hypothesis prefers small numbers: half of all steps would be none.

    @initialize(seed=SEEDS)
    def choose_events(self, seed: int) -> None:
        """Choose what happens to processes in this example."""
        random = Random(seed)
        self.events = random.sample(EVENTS, random.randint(2, len(EVENTS)))

    @rule(seed=SEEDS)
    def happen(self, seed: int) -> None:
        """A process goes on for some steps. Then it waits for another turn, or something happens."""
        random = Random(seed)
        weights, choices = zip(*self.choices(random), strict=True)
        (choice,) = random.choices(choices, weights)
        name = choice()
        changes, queries = random.choice(CHANGES), random.choice(QUERIES)
        note(f"the {name} makes {changes} changes and {queries} queries")
        self.go_on(name, changes, queries)
        if self.is_busy(name):
            if random.random() < (CLAIM_SHARE if self.process(name).beats else EVENT_SHARE):
                self.happen_to(name, random.choice(self.events), random)
        elif random.random() < EVENT_SHARE:
            happen = random.choice((self.lose_message, self.pass_time, self.change_outside))
            happen(random.randrange(8))

    def happen_to(self, name: str, event: Event, random: Random) -> None:
        note(f"the {name}: {event}")
        process = self.process(name)
        match event:
            case "hang":
                self.hang(name, random)
            case "die":
                process.kill()
                self.restart(name)
                self.observe(name)
            case "die in a transaction":
                process.die_after(random.randrange(8))
            case fault:
                process.lose(fault)

    def hang(self, name: str, random: Random) -> None:
        """All others do what they can while a process hangs; in enough rounds the clock gives its work away."""
        others = [other for other in (WEB, *WORKERS, CLOCK) if other != name]
        worker = next(other for other in others if other in WORKERS)
        rounds = 2 + math.ceil(self.dead_after_s / ROUND_S)
        rounds, is_worker_fast = random.choice(((1, True), (rounds, True), (rounds, False), (rounds, False)))
        for other in others:
            self.finish(other)
        for _ in range(rounds):
            if is_worker_fast:
                self.receive_all(worker)
            if name != CLOCK:
                self.do_round()
        if messages := self.site.outside.mail.messages:
            for _ in range(random.randrange(len(messages))):
                self.receive(worker, messages[0], is_copied=False)
                self.finish(worker)
            self.receive(worker, messages[0], is_copied=False)
            self.go_on(worker, random.choice(IN_WORK), 0)
        if random.random() < EVENT_SHARE:
            self.go_on(name, CHANGES[-1], 0)

    def lose_message(self, nth: int) -> None:
        messages = self.site.outside.mail.messages
        if messages:
            messages.remove(nth_of(messages, nth))

    def pass_time(self, nth: int) -> None:
        """The workers send heartbeats, and the clock does its jobs."""
        for _ in range(1 + nth % 3):
            for worker in WORKERS:
                for heartbeat in list(self.process(worker).beats):
                    heartbeat.beat(self.site.world.container.database)
                    self.observe(worker)
            self.do_round()

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.settle()
        finally:
            for station in self.site.stations.values():
                if station.process.is_busy:
                    station.process.kill()
