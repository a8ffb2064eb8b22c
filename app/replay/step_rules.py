"""The rules of tools and of checks as comparisons use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.replay.arguments import CallRules
from app.replay.case_types import CheckedCall, Effect, StringKind
from app.replay.effects import Tool
from app.replay.json_differences import ignored_paths
from app.replay.matcher_places import RankedMatchers, ranked
from app.replay.matchers import parse_matchers
from app.values.budget import WorkBudget
from app.values.json_pointer import PointerTree, parse_pointer
from app.values.unicode import nfc

_STEPS_PER_POINTER = 5  # to parse it


class StepRules:
    """Reads the rules of each tool, each check and each call once, however often they are compared."""

    def __init__(self, tools: Mapping[str, Tool], budget: WorkBudget) -> None:
        self._tools = tools
        self._budget = budget
        # By the ids of calls' arguments and of steps, which are kept so that no others get the same ids.
        self._effects: dict[tuple[str, int], tuple[Any, Effect]] = {}
        self._checks: dict[int, tuple[CheckedCall, RankedMatchers, PointerTree[bool]]] = {}
        self._kinds: dict[str, PointerTree[StringKind]] = {}

    def effect(self, name: str, arguments: Any) -> Effect:
        """Return the effect of a call."""
        tool = self._tools.get(name)
        if tool is None:
            return "write"
        key = name, id(arguments)
        if key not in self._effects:
            self._effects[key] = arguments, tool.called_with(arguments).effect
        return self._effects[key][1]

    def matchers(self, step: CheckedCall) -> Mapping[str, Any]:
        """Return the matchers of a recorded call by JSON pointer."""
        of_tool = self._tools[step.name].arguments if step.name in self._tools else {}
        return {**of_tool, **step.check.arguments} if isinstance(step.check.arguments, dict) else of_tool

    def check(self, step: CheckedCall) -> tuple[RankedMatchers, PointerTree[bool]]:
        """Return the matchers of a recorded call, and the pointers that its check ignores. Raises `OverBudget`."""
        if id(step) not in self._checks:
            matchers, ignored = self.matchers(step), step.check.ignore_paths
            self._budget.spend(_STEPS_PER_POINTER * (len(matchers) + len(ignored)))
            self._checks[id(step)] = step, ranked(parse_matchers(matchers)), ignored_paths(ignored)
        return self._checks[id(step)][1:]

    def of_call(self, step: CheckedCall, arguments: Any) -> CallRules:
        """Return the rules of two calls; if one of them writes, so do both. Raises `OverBudget`."""
        tool = self._tools.get(step.name)
        if tool is None:
            return CallRules()
        if step.name not in self._kinds:
            self._budget.spend(_STEPS_PER_POINTER * len(tool.kinds))
            kinds = {parse_pointer(nfc(pointer)): kind for pointer, kind in tool.kinds.items()}
            self._kinds[step.name] = PointerTree(kinds)
        effects = {self.effect(step.name, called_with) for called_with in (step.arguments, arguments)}
        effect: Effect = "write" if "write" in effects else "read"
        return CallRules(effect, tool.schema, self._kinds[step.name], step.name)
