"""Proposes which arguments of a recorded call are free text: texts that a model words differently in every run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from unicodedata import category

from app.replay.texts.sources import json_of
from app.replay.texts.vocabulary import PARTICLES
from app.values.budget import UNLIMITED, OverBudget, WorkBudget
from app.values.json_pointer import PointerTree, follow, format_pointer

FREE_KEYS = frozenset({"query", "body", "message", "reason", "note", "subject", "summary"})
SEVERAL_WORDS = 3

_FIXED_BY_SCHEMA = ("enum", "const", "format", "pattern")  # keywords of a text that is not worded freely
_FREE_BY_DESCRIPTION = ("free text", "free-text", "freetext", "free form", "free-form", "natural language")

_AROUND_WORDS = ".,;:!?…\"'()[]“”„‘’«»¿¡*_"

SEARCHED_MAX = 100_000_000
"""Characters that are searched for the texts of all calls of a conversation: about half a second at most."""
# CPython looks at each character of a text below this length again for many of the text that it looks for.
_SHORT_TEXT = 30_000
_COMPARED = 8  # characters of the text that it looks for, which take it as long as a character that it searches


class SeenResults:
    """The texts of the tool results that came before a call."""

    def __init__(self, results: Iterable[Any] = ()) -> None:
        self._budget = WorkBudget(SEARCHED_MAX)
        self._parts: list[str] = []
        self._seen = set[str]()
        self._searched: dict[str, int] = {}  # the characters of the results that do not have a text
        self._user = self._folded_user = ""
        for result in results:
            self.add(result)

    def add(self, result: Any) -> None:
        self._parts += [folded(text) for _, _, text in _texts(result, None)]

    def have(self, text: str, user: str) -> bool:
        """Return whether a folded text is in the user's message or in one of the results.

        True once `SEARCHED_MAX` characters were searched.
        """
        if user != self._user:
            self._user, self._folded_user = user, folded(user)
        try:
            return self._has(self._folded_user, text) or self._results_have(text)
        except OverBudget:
            return True

    def _results_have(self, text: str) -> bool:
        if text in self._seen:
            return True
        if len(self._parts) > 1:
            self._parts = ["\n".join(self._parts)]  # no folded text has a line break
        results = "".join(self._parts)
        if self._has(results, text, self._searched.get(text, 0)):
            self._seen.add(text)
            return True
        self._searched[text] = len(results)
        return False

    def _has(self, searched: str, text: str, start: int = 0) -> bool:
        length = len(searched) - start
        self._budget.spend(length * (1 + len(text) // _COMPARED if length < _SHORT_TEXT else 1))
        return searched.find(text, start) >= 0


def free_paths(
    arguments: Any,
    schema: Mapping[str, Any] | None = None,
    *,
    is_read: bool = False,
    user: str = "",
    results: SeenResults | None = None,
) -> dict[str, str]:
    """Return `{POINTER: MATCHER}` for the texts of a call that are free, with `*` for the places of a list.

    A text is free if its key is one of `FREE_KEYS` in any case and at any depth, or if the description in the tool's
    schema calls it free text. It is also free if it has `SEVERAL_WORDS`, not all of them names, and occurs neither in
    the user's message nor in a tool's result. It is not free if the schema fixes it by an enum or a format. Under such
    a key, or with such a description, it is a search if the tool `is_read`: `any` fits. Otherwise it is compared by
    `facts`.
    """
    matcher = "any" if is_read else "facts"
    seen = SeenResults() if results is None else results
    return {
        pointer: matcher if is_named else "facts"
        for pointer, part, text in _texts(arguments, schema)
        if not any(keyword in part for keyword in _FIXED_BY_SCHEMA)
        and ((is_named := _key(pointer) in FREE_KEYS or _described_as_free(part)) or _is_worded(text, user, seen))
    }


def fixed_arguments(arguments: Any, free: PointerTree[Any], budget: WorkBudget = UNLIMITED) -> Iterator[dict[str, Any]]:
    """Yield the leaves of a call's arguments to which no pointer in `free` leads, each under its key.

    They are what a call brings to the sources of facts: what the model worded itself binds no other text. Raises
    `OverBudget`.
    """
    pending: list[tuple[str, Any, Sequence[PointerTree[Any]]]] = [("", arguments, [free])]
    while pending:
        name, inner, trees = pending.pop()
        budget.spend(1 + len(trees))
        if any(tree.value is not None for tree in trees):
            continue
        if isinstance(inner, dict):
            pending += [(key, child, follow(trees, key)) for key, child in reversed(inner.items())]
        elif isinstance(inner, list):
            pending += [(name, child, follow(trees, n)) for n, child in reversed(list(enumerate(inner)))]
        else:
            yield {name: inner}


def _is_worded(text: str, user: str, seen: SeenResults) -> bool:
    shown = folded(text)
    return len(shown.split()) >= SEVERAL_WORDS and _has_plain_words(text) and not seen.have(shown, user)


def _has_plain_words(text: str) -> bool:
    """Return True unless a text is of names and numbers only, as an address or an IBAN is, or JSON.

    A script without case does not show its names.
    """
    if json_of(text) is not None:
        return False
    words = (word.strip(_AROUND_WORDS) for word in text.split())
    return any(len(word) > 1 and word.isalpha() and word.islower() and word not in PARTICLES for word in words) or any(
        char > "\xff" and category(char) == "Lo" for char in text
    )


def _described_as_free(schema: Mapping[str, Any]) -> bool:
    description = str(schema.get("description") or "").lower()
    return any(phrase in description for phrase in _FREE_BY_DESCRIPTION)


def _key(pointer: str) -> str:
    """Return the last key of a pointer; that of a list for its places."""
    return pointer.removesuffix("/*").rpartition("/")[2].casefold()


def folded(text: str) -> str:
    """Return the text trimmed, with runs of white space as one space and without regard to case."""
    return " ".join(text.split()).casefold()


def _texts(value: Any, schema: Mapping[str, Any] | None) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Yield the pointer, the schema and the text of every text in a JSON value."""
    pending: list[tuple[tuple[str, ...], Any, Any]] = [((), schema, value)]
    while pending:
        path, part, inner = pending.pop()
        part = part if isinstance(part, Mapping) else {}
        if isinstance(inner, dict):
            properties = part.get("properties")
            known = properties if isinstance(properties, Mapping) else {}
            pending += [((*path, key), known.get(key), child) for key, child in reversed(inner.items())]
        elif isinstance(inner, list):
            pending += [((*path, "*"), part.get("items"), child) for child in reversed(inner)]
        elif isinstance(inner, str):
            yield format_pointer(path), part, inner
