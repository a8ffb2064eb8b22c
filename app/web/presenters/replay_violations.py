"""The violations of a replay with their places on its page."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from app.replay.wording import shown_json
from app.web.presenters.replay_parts import StepPlace, places_of

# A call of these kinds has no recorded step, unless the recording answered it in spite of the rule.
BESIDES = frozenset({"extra_write", "extra_read", "never", "max_calls", "repeated_write"})
# Violations that the page lists. Each step also shows its kinds.
LISTED_MAX = 100


@dataclass(frozen=True, slots=True)
class ShownViolation:
    """A violation. `violation` is its JSON; `anchor` belongs to its step, or else to its turn."""

    violation: Mapping[str, Any]
    anchor: str
    is_step: bool

    @property
    def cut(self) -> bool:
        """Whether the message lacks arguments of the call, or has them truncated."""
        arguments = self.violation["arguments"]
        text = "" if arguments is None else shown_json(arguments)
        return text.endswith("…") or text not in self.violation["message"]


def placed_violations(result: Mapping[str, Any]) -> list[ShownViolation]:
    """Return the violations of a result with their places. `result` is the JSON of a `ReplayResult`, or empty."""
    violations = result.get("violations", ())
    if not violations:
        return []
    steps = _Steps(result.get("turns", ()))
    placed = []
    for violation in violations:
        anchor = steps.place(violation)
        placed.append(ShownViolation(violation, anchor or f"turn-{violation['turn'] + 1}", anchor is not None))
    return placed


def kinds_by_anchor(placed: Sequence[ShownViolation]) -> dict[str, list[str]]:
    """Return the kinds of violations by the anchors of steps."""
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for violation in placed:
        if violation.is_step:
            kinds[violation.anchor].append(violation.violation["kind"])
    return kinds


class _Steps:
    """Finds the step of each violation by turn, tool and arguments. A step belongs to at most one violation."""

    def __init__(self, turns: Sequence[Mapping[str, Any]]) -> None:
        # Steps and extra steps that made a call, and the first step with a tool in the recording.
        self._calls: defaultdict[Any, tuple[deque[str], deque[str]]] = defaultdict(lambda: (deque(), deque()))
        self._recorded: dict[tuple[int, str], str] = {}
        self._taken: set[str] = set()
        for place in places_of(turns):
            if not place.is_head and place.step["kind"] == "tool_call":
                self._add(place)

    def _add(self, place: StepPlace) -> None:
        is_extra = place.number is None
        if not is_extra:
            self._recorded.setdefault((place.turn, place.step["expected"]["name"]), place.anchor)
        call = place.step if is_extra else place.step["actual"]
        if call is not None:
            self._calls[_key(place.turn, call["name"], call["arguments"])][is_extra].append(place.anchor)

    def place(self, violation: Mapping[str, Any]) -> str | None:
        """Return the anchor of the first step with the violation's call that no other violation has."""
        anchor = self._anchor(violation)
        if anchor is not None:
            self._taken.add(anchor)
        return anchor

    def _anchor(self, violation: Mapping[str, Any]) -> str | None:
        turn, tool, kind = violation["turn"], violation["tool"], violation["kind"]
        if kind == "lost_tool":
            return self._recorded.get((turn, tool))
        steps, extra = self._calls.get(_key(turn, tool, violation["arguments"]), (deque(), deque()))
        for anchors in (extra, steps) if kind in BESIDES else (steps, extra):
            while anchors:
                if (anchor := anchors.popleft()) not in self._taken:
                    return anchor
        return None


def _key(turn: int, tool: str, arguments: Any) -> tuple[int, str, bytes]:
    return turn, tool, orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)
