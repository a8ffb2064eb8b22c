"""The values that a turn's texts may use: those of its instruction, its messages, and its calls and their results."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from app.replay.text_reader import TextReader
from app.replay.texts.background import TextBackground
from app.replay.texts.names import Names, find_names, names_of, plain_words, words_and_titled
from app.replay.texts.value_forms import Forms, FormSet
from app.replay.texts.value_kinds import Value
from app.replay.texts.values import find_values
from app.replay.texts.words import NAME_KEYS, NO_NAME_KEYS
from app.values.storable import decode_json
from app.values.unicode import nfc

_NO_NAME_KEY = "type"  # as the key of a key, which is no name
_LAST_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")  # of `customer_name`, of `customerName`
_LONG_FRACTION = 5  # digits after the point that only arithmetic produces
_STEPS_PER_NUMBER = 50
_WORDS_PER_STEP = 16  # words that one step adds to a set
_LOOKED_UP = 2  # sets of forms in which one step looks a value up


class Sources:
    """The values that a turn's texts may use, built once for many comparisons.

    `user` is the text that the user sent in this turn, `messages` are the earlier messages. `arguments` and `results`
    are those of the turn's recorded calls: JSON values, of which every key and every leaf is read, also inside texts
    that are JSON. `before` are the sources of earlier turns: the values of their calls count, too, and are not read
    again. Turns that share a `background` read each message once. A `pool` has the values of `before`, and those of
    this turn's calls are added to it, so that a value is looked up once for all turns. All methods that read or look up
    raise `OverBudget` once the reader's budget is used up.
    """

    def __init__(
        self,
        *,
        instruction: str = "",
        user: str = "",
        messages: Sequence[str] = (),
        arguments: Sequence[Any] = (),
        results: Sequence[Any] = (),
        before: Sequence[Sources] = (),
        background: TextBackground | None = None,
        pool: Forms | None = None,
        reader: TextReader | None = None,
    ) -> None:
        self.reader = reader = reader or TextReader()
        self._lengths = set[int]()
        texts = [*_texts(arguments, reader), *_texts(results, reader, self._lengths)]
        self._user_forms = Forms(reader.values(user))
        values = [value for text, _ in texts for value in _source_values(text, reader)]
        background = background or TextBackground(reader)
        self._background = background.instruction(instruction), background.messages(messages)
        turns_before = sum(len(earlier._calls) for earlier in before)
        # The values of each turn's calls, and the sets of forms in which they are looked up: only one set with a pool.
        self._calls: tuple[Forms, ...] = (Forms(values),)
        self._call_forms: tuple[FormSet, ...] = (
            self._calls if pool is None else (pool.with_values(values, turns_before),)
        )
        plain = set[str]().union(*(plain_words(str(text)) for text, _ in texts), reader.plain_words(user))
        of_instruction = reader.plain_words(instruction)
        reader.budget.spend(len(of_instruction) // _WORDS_PER_STEP)
        plain |= of_instruction
        for earlier in before:
            self._add(earlier, plain, in_pool=pool is not None)
        self._longest = max(self._lengths, default=0)
        self._plain: frozenset[str] = frozenset(plain)
        self._user_words = words_and_titled(user)[0]
        self._names: Names = _names(texts, self._plain)
        for earlier in before:
            self._names = self._names.joined(earlier._names)
        self._all_names = self._names.joined(names_of(user, plain))

    def _add(self, earlier: Sources, plain: set[str], *, in_pool: bool) -> None:
        """Add what the calls of earlier turns have, and their words to `plain`; the names need all of these words."""
        names: Names = earlier._names
        added = len(earlier._plain) + len(earlier._lengths) + 4 * (len(names.strong) + len(names.weak))
        self.reader.budget.spend(added // _WORDS_PER_STEP)
        self._calls += earlier._calls
        if not in_pool:
            self._call_forms += earlier._call_forms
        self._lengths |= earlier._lengths
        plain |= earlier._plain

    def resolved(self, value: Value) -> Value:
        """Return a value of two readings with the reading that occurs clearly in a call, if only one does."""
        if not value.other or value.kind in ("code", "label"):
            return value
        either = [replace(value, form=form, other="") for form in (value.form, value.other)]
        self._spend_on_calls()
        clear = [reading for reading in either if any(forms.has_one_reading(reading) for forms in self._call_forms)]
        return clear[0] if len(clear) == 1 else value

    def bound(self, text: str, *, with_users_values: bool) -> list[Value]:
        """Return the values of a recorded text that a new one has to have, each once."""
        names = self._all_names if with_users_values else self._names
        values = (
            value
            for value in self.reader.values(text)
            if self._binds(self.resolved(value), with_users_values=with_users_values)
        )
        named_values = (
            name
            for name in find_names(text, names)
            if with_users_values or not self._user_words.issuperset(name.form.split())
        )
        return list({(value.form, value.detail): value for value in (*values, *named_values)}.values())

    def _is_from_user(self, value: Value) -> bool:
        """Return True if a value occurs in the user's message of this turn."""
        return value in self._user_forms

    def supports(self, value: Value, *, exactly: bool = False) -> bool:
        """Return True if a value occurs in any source, or counts the entries of a list there.

        With `exactly` it has to occur with its unit or year: a bare 20 does not support 20%.
        """
        self._spend_on_calls()
        sources = (*self._call_forms, self._user_forms, *self._background)
        if exactly:
            return any(forms.has_exact_detail(value) for forms in sources)
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

    def has_other_zone(self, value: Value) -> bool:
        """Return True if the calls and their results have a time of day, but only with another time zone."""
        if value.kind != "time" or not value.detail:
            return False
        self.reader.budget.spend(1 + len(self._calls) // _LOOKED_UP)
        return any(forms.has_other_detail(value) for forms in self._calls)

    def _binds(self, value: Value, *, with_users_values: bool) -> bool:
        if self._is_from_user(value):
            return with_users_values
        self._spend_on_calls()
        return any(value in forms for forms in self._call_forms)

    def _spend_on_calls(self) -> None:
        """Count the steps of looking a value up among the calls."""
        self.reader.budget.spend(1 + len(self._call_forms) // _LOOKED_UP)


def _source_values(leaf: str | float, reader: TextReader) -> Iterable[Value]:
    if isinstance(leaf, str):
        reader.spend_on_values(leaf)
        reader.spend_on_words(leaf)
        return find_values(leaf)
    reader.budget.spend(_STEPS_PER_NUMBER)
    digits = format(Decimal(repr(leaf)), "f")
    fraction = digits.partition(".")[2]
    rounded = find_values(f"{leaf:.2f}") if len(fraction) >= _LONG_FRACTION else []  # 33.333333333333336
    return [*find_values(digits), *rounded]


def _texts(values: Sequence[Any], reader: TextReader, lengths: set[int] | None = None) -> list[tuple[str | float, str]]:
    """Return the keys and leaves of JSON values, each leaf with its key; adds the lengths of lists to `lengths`."""
    texts: list[tuple[str | float, str]] = []
    pending: list[tuple[Any, str]] = [(value, "") for value in values]
    while pending:
        value, name = pending.pop()
        reader.budget.spend(1)
        if isinstance(value, str) and (decoded := json_of(value)) is not None:
            value = decoded
        if isinstance(value, dict):
            texts += ((nfc(key), _NO_NAME_KEY) for key in value)
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
