"""One trial: clients and faults at the same time, then the check of the recorded history."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tests.histories.checker import Call, contradiction
from tests.histories.clients import Crowd, Objects, Send, Versions, sender
from tests.histories.systems import Recordable
from tests.support.waiting import wait_until

CLIENTS = 6
FAULTS = 2
CALLS = 100
SHOWN = 12


@dataclass(frozen=True)
class Trial:
    """The outcome of one seed. `unanswered` counts changes without an answer."""

    seed: int
    faults: tuple[str, ...]
    calls: int
    unanswered: int
    objects: int
    wrong: tuple[str, ...]

    HEADINGS = ("seed", "faults", "objects", "calls", "changes without an answer", "contradictions")

    def cells(self) -> tuple[str, ...]:
        numbers = (self.objects, self.calls, self.unanswered, len(self.wrong))
        return (str(self.seed), ", ".join(self.faults) or "none", *map(str, numbers))


def run_trial(
    recordable: Recordable,
    versions: Versions,
    seed: int,
    *,
    faults: int = FAULTS,
    calls: int = CALLS,
    send: Send | None = None,
) -> Trial:
    """Let clients act while faults happen, and return the contradictions between their answers.

    There are `calls` before each fault, and after the last. `send` replaces the clients' way to send, to plant faults.
    """
    chooser = random.Random(seed)
    objects = Objects(send or sender(recordable.clients), versions)
    chosen = chooser.choices(sorted(recordable.harms), k=faults)
    with Crowd(objects, seed, CLIENTS):
        for name in chosen:
            objects.wait_for_calls(calls)
            recordable.harms[name](chooser)
        wait_until(recordable.ready, "the system to be ready", interval_s=0.1)
        objects.wait_for_calls(calls)
    objects.read_all()
    recorded = objects.recorded.calls
    return Trial(
        seed,
        tuple(chosen),
        len(recorded),
        sum(not call.answered for call in recorded),
        len(objects.models),
        (*objects.recorded.wrong, *_contradictions(objects)),
    )


def _contradictions(objects: Objects) -> list[str]:
    calls = defaultdict[str, list[Call]](list)
    for call in objects.recorded.calls:
        calls[call.object].append(call)
    unexplained = ((name, contradiction(calls[name], model)) for name, model in objects.models.items())
    return [f"{name}: {_shown(history)}" for name, history in unexplained if history]


def _shown(history: Sequence[Call]) -> str:
    """Show the last calls of a history, by their end."""
    ended = sorted(history, key=lambda call: call.ended)[-SHOWN:]
    return "; ".join(
        f"[{call.began:.3f} {call.ended:.3f}] {'read' if call.reads else f'write {call.argument}'} -> {call.result}"
        for call in ended
    )
