"""The values of what a turn's texts can draw on: its instruction, its messages, and what tools got and gave."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from app.replay.reader import Reader
from app.replay.texts.names import Names, find_names, names_of, plain_words, standing_words
from app.replay.texts.value_kinds import Value
from app.replay.texts.values import find_values
from app.replay.texts.words import NAME_KEYS, NO_NAME_KEYS
from app.values.storable import decode_json
from app.values.unicode import nfc

Form = tuple[str, str]  # what kind of form it is, and the form

_A_KEY = "type"  # as the key of a key, which is no name
_LAST_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")  # of `customer_name`, of `customerName`
_LONG_FRACTION = 5  # digits after the point that only arithmetic produces
_STEPS_OF_A_NUMBER = 50
_UNITED = 16  # words that one step adds to a set
_LOOKED_UP = 2  # turns in which one step looks a value up

_NONE: frozenset[str] = frozenset()


class Forms:
    """The forms of many values; `value in forms` is True if one of them means the same."""

    def __init__(self, values: Iterable[Value] = ()) -> None:
        self._details: dict[Form, set[str]] = {}
        for value in values:
            self.add(value)

    def add(self, value: Value) -> None:
        for form, detail in _offered(value):
            self._details.setdefault(form, set()).update(detail.split("|"))

    def __contains__(self, value: Value) -> bool:
        return any(self._holds(form, value.detail) for form in _accepted(value))

    def holds_clearly(self, value: Value) -> bool:
        """Return True if a value occurs in a form that has one reading."""
        return self._holds((value.space, value.form), value.detail)

    def spell_out(self, value: Value) -> bool:
        """Return True if a value occurs with its exact unit or year."""
        details = value.detail.split("|")
        return any(not self._details.get(form, _NONE).isdisjoint(details) for form in _accepted(value))

    def contradict(self, value: Value) -> bool:
        """Return True if a value occurs in its form, but always with another detail."""
        return value not in self and replace(value, detail="") in self

    def _holds(self, form: Form, detail: str) -> bool:
        details = self._details.get(form, _NONE)
        return bool(details) and (not detail or "" in details or not details.isdisjoint(detail.split("|")))


class Sources:
    """The values that a turn's texts may use, built once for many comparisons.

    `user` is the text that the user sent in this turn, `messages` are the earlier messages. `arguments` and `results`
    are those of the turn's recorded calls: any JSON values, of which every leaf and every key is read, also of texts
    that are JSON. `before` has the calls of earlier turns; their values count like those of this turn
    and are not read again. All methods that read or look up raise `OverBudget` once the reader's budget is used up.
    """

    def __init__(
        self,
        *,
        instruction: str = "",
        user: str = "",
        messages: Sequence[str] = (),
        arguments: Sequence[Any] = (),
        results: Sequence[Any] = (),
        before: Sources | None = None,
        reader: Reader | None = None,
    ) -> None:
        self.reader = reader = reader or Reader()
        texts, lengths = _texts(arguments, reader), set[int]()
        texts += _texts(results, reader, lengths)
        self._said = Forms(reader.values(user))
        self._tools = Forms(value for text, _ in texts for value in _source_values(text, reader))
        self._background = Forms(value for text in (instruction, *messages) for value in reader.values(text))
        plain = set[str]().union(*(plain_words(str(text)) for text, _ in texts), reader.plain_words(user))
        plain |= reader.plain_words(instruction)
        self._calls: tuple[Forms, ...] = (self._tools,)
        if before:
            names: Names = before._names
            reader.budget.spend(
                (len(before._plain) + len(before._lengths) + 4 * (len(names.strong) + len(names.weak))) // _UNITED
            )
            self._calls += before._calls
            lengths |= before._lengths
            plain |= before._plain
        self._lengths: set[int] = lengths
        self._longest = max(lengths, default=0)
        self._plain: frozenset[str] = frozenset(plain)
        self._said_words = standing_words(user)[0]
        self._names: Names = _names(texts, self._plain)
        if before:
            self._names = self._names.joined(before._names)
        self._all_names = self._names.joined(names_of(user, plain))

    def resolved(self, value: Value) -> Value:
        """Return a value of two readings with the reading that occurs clearly in a call, if only one does."""
        if not value.other or value.kind in ("code", "label"):
            return value
        either = [replace(value, form=form, other="") for form in (value.form, value.other)]
        self._spend_on_calls()
        clear = [reading for reading in either if any(forms.holds_clearly(reading) for forms in self._calls)]
        return clear[0] if len(clear) == 1 else value

    def bound(self, text: str, *, keep_said: bool) -> list[Value]:
        """Return the values of a recorded text that a new one has to have, each once."""
        names = self._all_names if keep_said else self._names
        values = (value for value in self.reader.values(text) if self._binds(self.resolved(value), keep_said=keep_said))
        named_values = (
            name for name in find_names(text, names) if keep_said or not self._said_words.issuperset(name.form.split())
        )
        return list({(value.form, value.detail): value for value in (*values, *named_values)}.values())

    def said(self, value: Value) -> bool:
        """Return True if a value occurs in the user's message of this turn."""
        return value in self._said

    def support(self, value: Value, *, exactly: bool = False) -> bool:
        """Return True if a value occurs in any source, or counts the entries of a list there.

        With `exactly` it has to occur with its unit or year: a bare 20 does not support 20%.
        """
        self._spend_on_calls()
        sources = (*self._calls, self._said, self._background)
        if exactly:
            return any(forms.spell_out(value) for forms in sources)
        if any(value in forms for forms in sources):
            return True
        if value.kind == "ordinal":
            return int(value.form) <= self._longest
        return (
            value.kind == "number"
            and value.form.isdecimal()
            and len(value.form) < 10
            and int(value.form) in self._lengths
        )

    def contradict_zone(self, value: Value) -> bool:
        """Return True if what tools got and gave has a time of day in another zone only."""
        self._spend_on_calls()
        return value.kind == "time" and bool(value.detail) and any(forms.contradict(value) for forms in self._calls)

    def _binds(self, value: Value, *, keep_said: bool) -> bool:
        if self.said(value):
            return keep_said
        self._spend_on_calls()
        return any(value in forms for forms in self._calls)

    def _spend_on_calls(self) -> None:
        """Count the steps of looking a value up among the calls of each turn."""
        self.reader.budget.spend(1 + len(self._calls) // _LOOKED_UP)


def _accepted(value: Value) -> Iterator[Form]:
    """Yield the forms of a value; one of them has to occur elsewhere.

    A value that can be read in two ways agrees with either reading if that one is clear. It agrees with another
    ambiguous value only if both are written alike: 11/05 is not 05/11.
    """
    space = value.space
    yield space, value.form
    if value.kind == "code":
        if value.other:
            yield "number", value.other
    elif value.kind == "label":
        yield "label", value.form
        yield "bare number", value.other
    elif value.other:
        yield space, value.other
        yield f"{space} in two ways", value.form
    else:
        yield f"{space} either way", value.form
    if value.kind == "ordinal":
        yield "number", value.form
    elif space == "number":
        yield "number of a code", value.form
        if not value.detail:
            yield "number of a label", value.form
    elif value.kind == "time" and len(value.form) > 5:
        yield "time without seconds", value.form[:5]
        yield "time either way", value.form[:5]


def _offered(value: Value) -> Iterator[tuple[Form, str]]:
    """Yield the forms, with their details, that a value includes: a whole date includes its month and year."""
    space, form, detail = value.space, value.form, value.detail
    if value.kind == "code":
        yield ("code", form), ""
        yield ("number of a code", value.other), ""
    elif value.kind == "label":
        yield ("label", form), ""
        yield ("number of a label", value.other), ""
    elif value.other:
        yield (f"{space} in two ways", form), detail
        yield (f"{space} either way", form), detail
        yield (f"{space} either way", value.other), detail
    else:
        yield (space, form), detail
        if space == "time":
            yield ("time" if len(form) > 5 else "time without seconds", form[:5]), detail
    if space in ("number", "ordinal"):
        yield from _offered_by_number(value)
    elif value.kind == "date":
        yield ("date", form[:2]), detail
        if detail:
            yield ("number", detail), ""
        if len(form) > 2:
            yield ("ordinal", form[3:].lstrip("0")), ""


def _offered_by_number(value: Value) -> Iterator[tuple[Form, str]]:
    """Yield the other meanings of a number: without its minus ("a refund of $5"), a place, the number of a label."""
    if value.form.startswith("-"):
        yield ("number", value.form[1:]), value.detail
        return
    yield ("number" if value.kind == "ordinal" else "ordinal", value.form), ""
    if not value.detail:
        yield ("bare number", value.form), ""


def _source_values(leaf: str | float, reader: Reader) -> Iterable[Value]:
    if isinstance(leaf, str):
        reader.spend_on_values(leaf)
        reader.spend_on_words(leaf)
        return find_values(leaf)
    reader.budget.spend(_STEPS_OF_A_NUMBER)
    digits = format(Decimal(repr(leaf)), "f")
    fraction = digits.partition(".")[2]
    rounded = find_values(f"{leaf:.2f}") if len(fraction) >= _LONG_FRACTION else []  # 33.333333333333336
    return [*find_values(digits), *rounded]


def _texts(values: Sequence[Any], reader: Reader, lengths: set[int] | None = None) -> list[tuple[str | float, str]]:
    """Return the keys and leaves of JSON values, each leaf with its key; adds the lengths of lists to `lengths`."""
    texts: list[tuple[str | float, str]] = []
    pending: list[tuple[Any, str]] = [(value, "") for value in values]
    while pending:
        value, name = pending.pop()
        reader.budget.spend(1)
        if isinstance(value, str) and (decoded := json_of(value)) is not None:
            value = decoded
        if isinstance(value, dict):
            texts += ((nfc(key), _A_KEY) for key in value)
            pending += ((child, nfc(key)) for key, child in value.items())
        elif isinstance(value, list):
            pending += ((child, name) for child in value)
            if lengths is not None:
                lengths.add(len(value))
        elif isinstance(value, str):
            texts.append((nfc(value), name))
        elif _is_number(value):
            texts.append((value, name))
    return texts


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def json_of(text: str) -> Any:
    """Return the list or object that a text is as JSON; None for other texts."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return decode_json(text)
    except ValueError:
        return None


def _names(texts: Sequence[tuple[str | float, str]], plain: frozenset[str]) -> Names:
    strong, weak = set[str](), set[str]()
    for text, key in texts:
        last = (_LAST_WORD.findall(key) or [""])[-1].lower()
        if isinstance(text, str) and last not in NO_NAME_KEYS:
            names = names_of(text, plain, is_name=last in NAME_KEYS)
            strong |= names.strong
            weak |= names.weak
    return Names(frozenset(strong), frozenset(weak - strong))
