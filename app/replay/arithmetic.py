"""Reads arithmetic and the notation of dice: `2d6 + 3` is `2d6+3`, `d20` is `1d20`, and `**` is `^`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from app.replay.condition_algebra import NotRead

_LONGEST = 500  # characters
_MOST_NESTED = 50  # parentheses, powers and negative factors
_DICE = re.compile(r"(\d{0,4})d(\d{1,5}|%)((?:kh|kl|dh|dl|k|!|ro?|mi|ma)?[0-9<>=]{0,4})", re.ASCII)
_TOKEN = re.compile(
    rf"\s*+(?:({_DICE.pattern}(?![\w.]))|(\d{{1,30}}(?:\.\d{{1,30}})?(?![\w.]))|(\*\*|[-+*/^()×÷−]))", re.ASCII
)
_SAME = {"**": "^", "×": "*", "÷": "/", "−": "-"}
_Form = tuple[Any, ...]


def has_dice(form: _Form) -> bool:
    """Return True for the form of an expression with dice."""
    return "dice" in repr(form)


def arithmetic_form(text: str) -> _Form | None:
    """Return the form of an expression, in which terms and factors have an order; None for what is no expression."""
    if len(text) > _LONGEST:
        return None
    try:
        return _Expression(_tokens(text)).whole()
    except NotRead:
        return None


def _tokens(text: str) -> list[str | _Form]:
    tokens = list[str | _Form]()
    plain, at = text.strip().lower(), 0
    while at < len(plain):
        if not (token := _TOKEN.match(plain, at)):
            raise NotRead
        if token[1]:
            sides = "100" if token[3] == "%" else token[3]
            tokens.append(("dice", int(token[2] or 1), int(sides), token[4]))
        elif token[5]:
            tokens.append(("number", f"{Decimal(token[5]).normalize():f}"))
        else:
            tokens.append(_SAME.get(token[6], token[6]))
        at = token.end()
    return tokens


class _Expression:
    """A descent through sums, products and powers, which bind in this order."""

    def __init__(self, tokens: Sequence[str | _Form]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def whole(self) -> _Form:
        form = self._sum()
        if self._at < len(self._tokens):
            raise NotRead
        return form

    def _next(self, *wanted: str) -> str:
        """Return the next token and go on, if it is wanted; otherwise ""."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else ""
        if not isinstance(token, str) or token not in wanted:
            return ""
        self._at += 1
        return token

    def _sum(self) -> _Form:
        terms = [*_signed(self._next("-", "+") or "+", self._product())]
        while sign := self._next("-", "+"):
            terms += _signed(sign, self._product())
        kept = [term for term in terms if term[1] != ("number", "0")]
        if len(kept) == 1 and kept[0][0] == "+":
            form: _Form = kept[0][1]
            return form
        return ("sum", *sorted(kept, key=repr)) if kept else ("number", "0")

    def _product(self) -> _Form:
        factors = [("*", self._power())]
        while sign := self._next("*", "/"):
            factors.append((sign, self._power()))
        return factors[0][1] if len(factors) == 1 else ("product", *sorted(factors, key=repr))

    def _power(self) -> _Form:
        if self._next("-"):
            self._deepen()
            return ("sum", *_signed("-", self._power()))
        base = self._atom()
        if not self._next("^"):
            return base
        self._deepen()
        return ("power", base, self._power())

    def _atom(self) -> _Form:
        if self._next("("):
            self._deepen()
            form = self._sum()
            if not self._next(")"):
                raise NotRead
            return form
        token = self._tokens[self._at] if self._at < len(self._tokens) else ""
        if isinstance(token, str):
            raise NotRead
        self._at += 1
        return token

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise NotRead


def _signed(sign: str, term: _Form) -> Iterator[_Form]:
    """Yield the terms of a sum with their signs."""
    if term[0] != "sum":
        yield sign, term
        return
    for inner, part in term[1:]:
        yield ("+" if inner == sign else "-"), part
