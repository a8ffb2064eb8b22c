"""Brings a call of GraphQL to one form: what its operation calls, with the values of variables in their places."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from app.replay.graphql import TEXT, is_graphql
from app.replay.text_kinds import LONGEST
from app.replay.texts.sources import json_of

_TOKEN = re.compile(TEXT + r"|#[^\n\r]*+|[A-Za-z_]\w*+|-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?|[^\s,]")
_DEEPEST = 50  # objects, lists and selections within one another
_MOST_INSERTED = 10 * LONGEST  # characters of variables, each counted where it is used
_KINDS = ("query", "mutation", "subscription")
_ABSENT = object()  # a variable without a value: its argument is left out, where null may clear what is stored

Form = tuple[Any, ...]


def graphql_form(document: str, variables: Any) -> Form | None:
    """Return the kind of a document's one operation and its fields that act; None for what can't be read.

    These are the fields at the top, those in fields without arguments, and all that have arguments.
    """
    values = (json_of(variables) if isinstance(variables, str) else variables) or {}
    if len(document) > LONGEST or not is_graphql(document) or not isinstance(values, dict):
        return None
    try:
        return _Document(document, values).operation()
    except (ValueError, RecursionError):
        return None


class _Document:
    """A document that is read from its begin; raises `ValueError` where it is broken or not plain."""

    def __init__(self, text: str, variables: Mapping[str, Any]) -> None:
        tokens = [*_TOKEN.finditer(text)]
        if any(token.lastindex for token in tokens):
            raise ValueError("a text without an end")
        self._tokens = [token[0] for token in tokens if token[0][0] != "#"]
        self._at = 0
        self._variables = {**variables}
        self._sizes, self._room = dict[str, int](), _MOST_INSERTED

    def operation(self) -> Form:
        kind = self._next() if self._peek() in _KINDS else "query"
        if self._peek().isidentifier():  # its name
            self._next()
        if self._peek() == "(":
            self._read_defaults()
        fields = self._selection(0, acts=True)
        if self._peek():
            raise ValueError("more than one definition")
        return kind, *fields

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self, *expected: str) -> str:
        token = self._peek()
        if not token or (expected and token not in expected):
            raise ValueError(f"unexpected {token!r}")
        self._at += 1
        return token

    def _accept(self, token: str) -> bool:
        """Read a token if it is the next one, and return whether it is."""
        is_next = self._peek() == token
        self._at += is_next
        return is_next

    def _name(self) -> str:
        if not self._peek().isidentifier():
            raise ValueError("no name")
        return self._next()

    def _read_defaults(self) -> None:
        """Read the definitions of variables, of which some have a default."""
        self._next("(")
        while not self._accept(")"):
            self._next("$")
            name = self._name()
            while self._peek() not in ("=", "$", ")"):
                self._next()
            if self._accept("="):
                self._variables.setdefault(name, self._value(0))

    def _selection(self, depth: int, *, acts: bool) -> list[Form]:
        self._next("{")
        if depth > _DEEPEST:
            raise ValueError("too deep")
        fields = list[Form]()
        while not self._accept("}"):
            name = self._name()
            if self._accept(":"):  # it was an alias
                name = self._name()
            arguments = self._arguments(depth) if self._accept("(") else {}
            inner = self._selection(depth + 1, acts=acts and not arguments) if self._peek() == "{" else []
            if acts or arguments or inner:
                fields.append((name, json.dumps(arguments, sort_keys=True), *inner))
        return fields

    def _arguments(self, depth: int, end: str = ")") -> dict[str, Any]:
        """Return the arguments of a field or the members of an object, but for variables without a value."""
        arguments = {}
        while not self._accept(end):
            name = self._name()
            self._next(":")
            arguments[name] = self._value(depth + 1)
        return {name: value for name, value in arguments.items() if value is not _ABSENT}

    def _variable(self, name: str) -> Any:
        value = self._variables.get(name, _ABSENT)
        if isinstance(value, str | dict | list):
            self._sizes.setdefault(name, len(json.dumps(value)))
            self._room -= self._sizes[name]
        if self._room < 0:
            raise ValueError("the values of variables are too long")
        return value

    def _value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("too deep")
        word = self._next()
        if word == "$":
            return self._variable(self._name())
        if word == "{":
            return self._arguments(depth, "}")
        if word == "[":
            entries = []
            while not self._accept("]"):
                entries.append(self._value(depth + 1))
            return [None if entry is _ABSENT else entry for entry in entries]
        if word.startswith('"""'):
            return word[3:-3].strip()
        # A word is a value of an enumeration, which a variable has as a text.
        is_name = word.isidentifier() and word not in ("true", "false", "null")
        return word if is_name else json.loads(word)
