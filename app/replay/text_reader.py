"""Reads the values of the texts of one replay within its budget, and each text only once."""

from __future__ import annotations

import re
from typing import Any

from app.replay.call_arguments import arguments_of
from app.replay.fingerprints import Fingerprints
from app.replay.scalar_forms import scalar_form
from app.replay.texts.names import plain_words
from app.replay.texts.value_kinds import Value
from app.replay.texts.values import find_values
from app.values.budget import UNLIMITED, WorkBudget
from app.values.regex import Patterns
from app.values.unicode import nfc

COMPARISON_STEPS_MAX = 3_000_000
"""Steps that the comparisons of one replay may have, or those of one calibration: some seconds of a processor."""

_STEPS_PER_VALUE = 20
_STEPS_PER_KNOWN_VALUE = 3  # to put it into the sources of one more turn
_NUMBER = re.compile("[0-9]++")


class TextReader:
    """The values of texts that repeat from turn to turn: the instruction and earlier messages."""

    def __init__(self, budget: WorkBudget = UNLIMITED) -> None:
        self.budget = budget
        self._values: dict[str, tuple[Value, ...]] = {}
        self._plain: dict[str, frozenset[str]] = {}
        # By the ids of the arguments, which are kept so that no others get them.
        self._composed: dict[int, tuple[Any, Any]] = {}
        self._patterns = Patterns(budget)
        self.fingerprints = Fingerprints(budget)
        self.forms = Fingerprints(budget, scalar_form)

    def values(self, text: str) -> tuple[Value, ...]:
        """Return what `find_values` finds. Raises `OverBudget`."""
        if text not in self._values:
            self.spend_on_values(text)
            self._values[text] = find_values(nfc(text))
        self.budget.spend(1 + _STEPS_PER_KNOWN_VALUE * len(self._values[text]))
        return self._values[text]

    def composed(self, arguments: Any) -> Any:
        """Return what `arguments_of` returns. Each call's arguments are read once. Raises `OverBudget`."""
        if id(arguments) not in self._composed:
            self._composed[id(arguments)] = arguments, arguments_of(arguments, self.budget)
        return self._composed[id(arguments)][1]

    def plain_words(self, text: str) -> frozenset[str]:
        """Return what `names.plain_words` finds. Raises `OverBudget`."""
        if text not in self._plain:
            self.spend_on_words(text)
            self._plain[text] = frozenset(plain_words(nfc(text)))
        return self._plain[text]

    def matches_pattern(self, pattern: str, text: str) -> bool:
        """Return whether a pattern matches anywhere in a text.

        Raises `OverBudget`, and `ValueError` for a pattern that RE2 does not know.
        """
        pattern = nfc(pattern)
        if not self._patterns.supports(pattern):
            raise ValueError(f"{pattern!r} is no pattern of RE2")
        return self._patterns.match(pattern, nfc(text))

    def spend_on_values(self, text: str) -> None:
        """Count the steps of finding the values of a text, which are more the more numbers it has."""
        self.spend_on_words(text)
        self.budget.spend(_STEPS_PER_VALUE * sum(1 for _ in _NUMBER.finditer(text)))

    def spend_on_words(self, *texts: str) -> None:
        """Count the steps of looking for names and other words in texts: a microsecond a character."""
        self.budget.spend(1 + sum(map(len, texts)))
