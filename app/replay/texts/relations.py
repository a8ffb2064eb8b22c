"""Detects two texts that relate the same values differently, or replace a value or name by another.

Both checks are guards and no verdicts, as they know nothing of what is related: a judge or a person decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.replay.texts.names import names_of, plain_words, standing_words
from app.replay.texts.number_words import find_spelled_out
from app.replay.texts.sources import Forms, Sources
from app.replay.texts.value_kinds import Value, plainly
from app.replay.texts.values import find_marked, find_values

LONGEST_TEXT = 20_000  # characters that are read
_SAME_KINDS = {"amount": "number", "marker": "label"}
_REPLACEABLE = ("code", "label", "amount", "email", "url")  # texts often leave out or change dates and numbers

Mention = tuple[str, str]  # what kind of value it is, and the value

_WORD = re.compile(r"[^\W\d_]++(?:['-][^\W\d_]++)*")


def values_exchanged(recorded: str, produced: str) -> bool:
    """Return True if two texts mention the same kinds of values one after the other, and two values changed places.

    "A for $5, B for $9" differs from "A for $9, B for $5", and not from "B for $9, A for $5", in which names and
    amounts moved alike. Values that follow one another in a list, as in "at 9:30 or 14:15", may come in any order.
    """
    one, other = recorded[:LONGEST_TEXT], produced[:LONGEST_TEXT]
    names = _names(one, other)
    before, after = list(_mentions(one, names)), list(_mentions(other, names))
    common = set(before) & set(after)
    before, after = ([each for each in dict.fromkeys(side) if each in common] for side in (before, after))
    if before == after or [kind for kind, _ in before] != [kind for kind, _ in after]:
        return False
    groups: dict[str, list[int]] = {}
    for index, (kind, _) in enumerate(before):
        groups.setdefault(kind, []).append(index)
    index_after = {each: index for index, each in enumerate(after)}
    several = [indexes for indexes in groups.values() if len(indexes) > 1]
    places = [{index: place for place, index in enumerate(indexes)} for indexes in several]
    moves = [
        [place[index_after[before[index]]] for index in indexes] for place, indexes in zip(places, several, strict=True)
    ]
    if len(several) > 1 and all(move == moves[0] for move in moves):
        return False
    spread = (indexes[-1] - indexes[0] >= len(indexes) for indexes in several)
    return any(move != sorted(move) and is_spread for move, is_spread in zip(moves, spread, strict=True))


def name_replaced(recorded: str, produced: str, sources: Sources) -> bool:
    """Return True if a name of the recorded text is missing, and the new text has one that occurs in no source."""
    one, other = recorded[:LONGEST_TEXT], produced[:LONGEST_TEXT]
    plain = plain_words(one) | plain_words(other)
    words, new_words = standing_words(one)[0], standing_words(other)[0]
    if not names_of(f"{one}\n{other}", plain).strong:  # in German every noun would be one
        return False
    if all(name.casefold() in new_words for name in names_of(one, plain).strong):
        return False
    new = (name for name in names_of(other, plain).strong if name.casefold() not in words)
    return any(not sources.mention(name) for name in new)


def value_replaced(recorded: str, produced: str) -> bool:
    """Return True if a code, an amount or an address is missing, and the new text has one that the recorded lacks.

    Facts find nothing lost and nothing invented if the user mentioned both, as in "refund A-1, not A-2". This also
    finds replaced numbers in words, which are no values by themselves: "twice a day" and "three times a day".
    """
    before, after = (find_values(text[:LONGEST_TEXT]) for text in (recorded, produced))
    words_before, words_after = (list(find_spelled_out(text[:LONGEST_TEXT])) for text in (recorded, produced))
    old, new = Forms((*before, *words_before)), Forms((*after, *words_after))
    missing = {value.kind for value in before if value not in new}
    if any(value.kind in _REPLACEABLE and value.kind in missing and value not in old for value in after):
        return True
    return any(value not in new for value in words_before) and any(value not in old for value in words_after)


def placed_values(text: str) -> Iterator[tuple[int, Value]]:
    """Yield the values of a text in their order, each with the place at which it begins."""
    end = 0
    for value in find_marked(text):
        end = max(text.find(value.spelling, end), end)
        yield end, value


def _names(one: str, other: str) -> frozenset[str]:
    plain = plain_words(one) | plain_words(other)
    return names_of(one, plain).strong | names_of(other, plain).strong


def _mentions(text: str, names: frozenset[str]) -> Iterator[Mention]:
    """Yield the values and names of a text in their order."""
    found = list[tuple[int, Mention]]()
    for start, value in placed_values(text):
        kind = _SAME_KINDS.get(value.kind, value.kind)
        is_quantity = kind == "number"
        form = value.form[:5] if kind == "time" else value.form  # texts often leave out or add seconds
        found.append((start, (f"{kind} {value.detail}" if is_quantity else kind, form)))
    found += ((word.start(), ("name", word[0])) for word in _WORD.finditer(plainly(text)) if word[0] in names)
    return (mention for _, mention in sorted(found, key=lambda each: each[0]))
