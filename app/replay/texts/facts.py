"""Compares the values of a recorded text with those of a new one: which are kept, lost, or invented.

A value of the recorded text is *lost* if a source (a tool's result, an argument, the user's message) has it, too, and
the new text has it in no form. Answers may leave out values of the user's message, arguments may not. A value of the
new text is *invented* if neither the recorded text nor a source has it.

A whole number without a unit is not invented if a list in a tool's result has that many entries or more: "3 options",
"the 2nd". Numbers in words are no values. Which value belongs to what is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from app.replay.texts.names import words_and_titled
from app.replay.texts.sources import Sources
from app.replay.texts.value_forms import Forms
from app.replay.texts.value_kinds import Value
from app.values.unicode import nfc

_MARKED = re.compile(r"(\*\*|`)(?=\S)([^*`\n]{1,200})(?<=\S)\1")  # what Markdown shows in bold letters or as code


class Facts(msgspec.Struct, frozen=True):
    """The spellings of the recorded values that a new text kept and lost, and of the values that it invented."""

    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        """True if nothing is lost and nothing invented."""
        return not self.lost and not self.invented


def compare_facts(recorded: str, produced: str, sources: Sources, *, with_users_values: bool = False) -> Facts:
    """Compare a recorded text with a new one.

    `with_users_values` is for arguments, which must repeat values of the user's message; answers need not.

    The work grows in step with both texts. Raises `OverBudget`.
    """
    recorded, produced = nfc(recorded), _MARKED.sub(r"\2", nfc(produced))
    sources.reader.spend_on_words(recorded, produced)
    produced_values = sources.reader.values(produced)
    forms, names = Forms(produced_values), words_and_titled(produced)
    bound = sources.bound(recorded, with_users_values=with_users_values)
    repeated = [
        _has_name(value.form, *names) if value.kind == "name" else _is_repeated(value, forms, sources)
        for value in bound
    ]
    lost = tuple(value.spelling for value, here in zip(bound, repeated, strict=True) if not here)
    lost_spellings = frozenset(lost)
    recorded_values = sources.reader.values(recorded)
    before, resolved = Forms(recorded_values), Forms(map(sources.resolved, recorded_values))
    added = (value for value in produced_values if not _was_recorded(value, before, resolved, sources))
    others = _RecordedForms(value for value in recorded_values if value.spelling not in lost_spellings)
    new = [value for value in added if not _supported(value, others, sources)]
    return Facts(
        tuple(value.spelling for value, here in zip(bound, repeated, strict=True) if here),
        lost,
        tuple(dict.fromkeys(value.spelling for value in new)),
    )


def _is_repeated(value: Value, forms: Forms, sources: Sources) -> bool:
    """Return True if a new text has a recorded value, in its own spelling and as the sources read it."""
    return value in forms and sources.resolved(value) in forms


def _was_recorded(value: Value, before: Forms, resolved: Forms, sources: Sources) -> bool:
    """Return True if the recorded text has a value, in its own spelling and as the sources read it."""
    if value not in before or value not in resolved:
        return False
    return not (_is_share(value) or sources.has_other_zone(value)) or before.has_exact_detail(value)


class _RecordedForms:
    """The forms of the values of a recorded text, by which a value with a changed unit or order is found."""

    def __init__(self, values: Iterable[Value]) -> None:
        self.spaces, self.readings = set[tuple[str, str]](), set[tuple[str, str]]()
        for value in values:
            self.spaces.add((value.space, value.form))
            self.readings.add((value.form, value.other))


def _supported(value: Value, recorded_values: _RecordedForms, sources: Sources) -> bool:
    """Return True if a source supports a value that the recorded text does not have.

    `recorded_values` are the values that the recorded text and the produced one share. If one of them differs from
    `value` only in its unit or year, or if `value` is a percentage, the source must have the same unit or year; if it
    differs in the order of day and month, as 03/04 and 04/03, no source is enough.
    """
    if value.other and (value.other, value.form) in recorded_values.readings:
        return False
    changed = (value.space, value.form) in recorded_values.spaces
    return sources.supports(value, exactly=_is_share(value) or (changed and bool(value.detail)))


def _is_share(value: Value) -> bool:
    """Return True for a percentage, which a number without a sign does not mean: 35 items are not 35%."""
    return value.detail == "%"


def _has_name(name: str, words: frozenset[str], titled: frozenset[str]) -> bool:
    """Return True if a text has all words of a name, or its last one after a title."""
    parts = name.split()
    return words.issuperset(parts) or (len(parts) > 1 and parts[-1] in titled)
