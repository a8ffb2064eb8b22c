"""Compares numbers as they are written, and texts by their letters, for the matchers `number` and `text`."""

from __future__ import annotations

import re
import unicodedata
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal, InvalidOperation
from typing import Any

from app.replay.texts.value_kinds import plainly
from app.values.budget import UNLIMITED, WorkBudget
from app.values.unicode import folded

# Exact where floats are not, and without an exception for the largest exponents; distances are rounded up.
_EXACT = Context(prec=28, rounding=ROUND_UP, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
_SIGNS = ("Sc", "Sm")  # Unicode's categories of the signs of currencies and of mathematics
_OTHER_SIGNS = "%‰°"
_DIGITS_PER_STEP = 16  # characters of a number that a step reads
_STEPS_PER_GAP = 2
_FOLDED_PER_STEP = 8  # characters of a folded text that a step searches for gaps
_NO_LETTERS = re.compile(r"[\W_]+")


def distance(left: Any, right: Any, budget: WorkBudget = UNLIMITED) -> Decimal | None:
    """Return how far two numbers are apart, None unless both are numbers or texts that are. Raises `OverBudget`."""
    budget.spend(sum(len(side) // _DIGITS_PER_STEP for side in (left, right) if isinstance(side, str)))
    first, other = _number(left), _number(right)
    return None if first is None or other is None else _EXACT.abs(_EXACT.subtract(first, other))


def letters(text: str, budget: WorkBudget = UNLIMITED) -> str:
    """Return a text in lower case, and without white space and punctuation.

    Signs are no punctuation ($, %, <, the minus of a number), and punctuation between two digits stays: 1.5 is not 15.
    Raises `OverBudget`.
    """
    budget.spend(len(text))
    plain = folded(plainly(" ".join(text.split())))
    budget.spend(_STEPS_PER_GAP * sum(1 for _ in _NO_LETTERS.finditer(plain)) + len(plain) // _FOLDED_PER_STEP)
    return _NO_LETTERS.sub(_signs, plain)


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value).strip())
    except (InvalidOperation, ValueError):
        return None
    return number if number.is_finite() else None


def _signs(between: re.Match[str]) -> str:
    """Return the signs of what is between two words; between two numbers there is always something."""
    run, text, end = between[0], between.string, between.end()
    before_digit = text[end : end + 1].isdecimal()
    after_digit = text[between.start() - 1 : between.start()].isdecimal()
    minus = _minus(run, is_first=between.start() == 0) if before_digit else None
    kept = "".join([char for index, char in enumerate(run) if index == minus or _is_sign(char)])
    if kept or not (before_digit and after_digit):
        return kept
    return " " if " " in run else run


def _minus(run: str, *, is_first: bool) -> int | None:
    """Return the index of the minus of the number after a run, which has only signs after it; None without one.

    A hyphen that follows a word is no minus.
    """
    last = next((index for index in reversed(range(len(run))) if not _is_sign(run[index])), -1)
    return last if last >= 0 and run[last] == "-" and (last or is_first) else None


def _is_sign(char: str) -> bool:
    return char in _OTHER_SIGNS or unicodedata.category(char) in _SIGNS
