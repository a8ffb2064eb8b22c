"""Finds out by the name of a tool or of an operation whether it reads or acts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from app.replay.tables import TABLES, words

_LAST = frozenset(TABLES["verbs"]["last"])
_LANGUAGES = [language for language in TABLES["verbs"] if language != "last"]
READING = frozenset[str]().union(*(words("verbs", language) for language in _LANGUAGES))
# Verbs that may come last in a name.
READING_LAST = frozenset[str]().union(*(words("verbs", language) for language in _LAST))
ACTING_PAIRS = frozenset(tuple(pair.split()) for pair in TABLES["acting_pairs"]["pairs"])
READING_PAIRS = frozenset(tuple(pair.split()) for pair in TABLES["reading_pairs"]["pairs"])
JOINING, VERB_ENDINGS = words("joining", "words"), tuple(words("joining", "endings"))
ACTING = words("actions", "always")
ACTING_VERBS = ACTING | words("actions", "verbs")
ACTING_OR_NAMED = ACTING_VERBS | words("actions", "nouns")
# A script without spaces between its words: the verb is at either end of the name.
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_NAMESPACE = re.compile(r"__|[./:]")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


def effect_of_name(name: str) -> Literal["read"] | None:
    """Return `read` for a name with a verb of `READING` first, or last as some languages have it; otherwise None.

    A namespace, as of MCP, is dropped. In `get.order` the first part is the verb and no namespace, unless a word for an
    action follows. A second verb after a joining word, as in `get_or_create`, has to read, too.
    """
    parts = [part for part in _NAMESPACE.split(name) if part]
    if not parts:
        return None
    last, first = words_of_name(parts[-1]), words_of_name(parts[0])
    if _begins_or_ends_reading(parts[-1], last):
        return "read"
    if len(parts) != 2 or len(first) != 1 or first[0] not in READING or (first[0], *last[:1]) in ACTING_PAIRS:
        return None
    acting = ACTING if first[0] == "get" else ACTING_OR_NAMED
    return None if acting.intersection(last) else "read"


def is_named_for_an_action(name: str) -> bool:
    """Return True for a name that begins with a word for an action, such as `refund_order`."""
    words = words_of_name(name)
    return bool(words) and words[0] in ACTING_OR_NAMED and READING.isdisjoint(words)


def _begins_or_ends_reading(part: str, words: Sequence[str]) -> bool:
    if not words or tuple(words[:2]) in ACTING_PAIRS or _joins_an_action(words):
        return False
    if _UNSPACED.search(part):
        return part.startswith(tuple(READING_LAST)) or part.removesuffix("する").endswith(tuple(READING_LAST))
    if words[0] in READING or tuple(words[:2]) in READING_PAIRS:
        return True
    return words[-1] in READING_LAST and not ACTING_OR_NAMED.intersection(words)


def _joins_an_action(words: Sequence[str]) -> bool:
    joined = (after for before, after in pairwise(words[1:]) if before in JOINING and after not in READING)
    return any(word in ACTING_OR_NAMED or word.endswith(VERB_ENDINGS) for word in joined)


def words_of_name(part: str) -> list[str]:
    """Return the words of a part of a name, in lower case."""
    return [word.lower() for word in _WORD.findall(part)]
