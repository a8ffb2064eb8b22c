"""Finds out by the name of a tool or of an operation whether it reads or acts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from app.replay.tables import TABLES, words
from app.values.unicode import without_accents

_LAST = words("verbs", "last")
_LANGUAGES = [language for language in TABLES["verbs"] if language != "last"]
_ENGLISH = words("verbs", "english")
_READING_SECOND = _ENGLISH & words("verbs", "english_nouns") | {"read"}  # as in `drive_read_file`
READING = frozenset[str]().union(*(words("verbs", language) for language in _LANGUAGES))
# Verbs that may come last in a name.
READING_LAST = frozenset[str]().union(*(words("verbs", language) for language in _LAST))
ACTING_PAIRS = frozenset(tuple(pair.split()) for pair in TABLES["acting_pairs"]["pairs"])
READING_PAIRS = frozenset(tuple(pair.split()) for pair in TABLES["reading_pairs"]["pairs"])
_ALWAYS_JOINING = words("joining", "always")
JOINING, VERB_ENDINGS = words("joining", "words"), tuple(words("joining", "endings"))
ALWAYS_ACTING = words("actions", "always")
ACTING_VERBS = ALWAYS_ACTING | words("actions", "verbs")
ACTION_WORDS = ACTING_VERBS | words("actions", "nouns")  # the nouns are verbs as well, as `charge`
_THINGS, _ACTING_ON_THINGS = words("actions", "things"), words("actions", "of_things")
_BULK = words("actions", "bulk")
ACTING_IN_OTHER_LANGUAGES = words("acting", "words")
_THOUGHTS = words("thoughts", "names")
_ACTING_FIRST = ACTING_IN_OTHER_LANGUAGES | words("acting", "first")
_ACTING_UNSPACED = tuple(words("acting", "unspaced"))
# A script without spaces between its words: the verb is at either end of the name.
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
SUBCOMMANDS = {program: frozenset(names.split()) for program, names in TABLES["programs"]["subcommands"].items()}
_NAMESPACE = re.compile(r"__|[./:]")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


def effect_of_name(name: str) -> Literal["read"] | None:
    """Return `read` for a name with a verb of `READING` first, or last as some languages have it; otherwise None.

    In English some come last or second, too, as in `order_get` and `drive_read_file`.

    A namespace, as of MCP, is dropped. In `get.order` the first part is the verb and no namespace, unless a word for an
    action follows. A second verb after a joining word, as in `get_or_create`, has to read, too.
    """
    parts = [part for part in _NAMESPACE.split(name) if part]
    if not parts:
        return None
    last, first = words_of_name(parts[-1]), words_of_name(parts[0])
    if is_thought(name):
        return "read"
    if _begins_or_ends_reading(parts[-1], last):
        return "read"
    if len(parts) != 2 or len(first) != 1 or first[0] not in READING or (first[0], *last[:1]) in ACTING_PAIRS:
        return None
    acting = ALWAYS_ACTING if first[0] == "get" else ACTION_WORDS
    return None if acting.intersection(last) else "read"


def is_thought(name: str) -> bool:
    """Return whether a tool of this name only has the thoughts of the model as its arguments."""
    return "_".join(words_of_name(_NAMESPACE.split(name)[-1])) in _THOUGHTS


def is_named_for_an_action(name: str) -> bool:
    """Return True for a name that begins with a word for an action, such as `refund_order`."""
    words = words_of_name(name)
    if _ACTING_FIRST.intersection(words[:1]) or name.startswith(_ACTING_UNSPACED):
        return True
    return bool(words) and words[0] in ACTION_WORDS and READING.isdisjoint(words)


def _begins_or_ends_reading(part: str, words: Sequence[str]) -> bool:
    if not words or tuple(words[:2]) in ACTING_PAIRS or _joins_an_action(words):
        return False
    if words[0] in _THINGS and not _ACTING_ON_THINGS.isdisjoint((words[-1], *words[1:2])):
        return False
    if _UNSPACED.search(part):
        return _reads_unspaced(part)
    if words[0] in READING or tuple(words[:2]) in READING_PAIRS:
        return ACTING_IN_OTHER_LANGUAGES.isdisjoint(words[1:]) or words[0] in _ENGLISH
    is_acting = words[0] in _ACTING_FIRST or not (ACTION_WORDS | ACTING_IN_OTHER_LANGUAGES).isdisjoint(words)
    ends_reading = words[-1] in READING_LAST or (words[-1] == "list" and words[-2][-1] == "s")
    reads_second = len(words) > 2 and words[1] in _READING_SECOND
    return ((ends_reading or reads_second) and not is_acting) or " ".join(words[1:]) in SUBCOMMANDS.get(words[0], ())


def _reads_unspaced(part: str) -> bool:
    if part.startswith(_ACTING_UNSPACED) or part.endswith(_ACTING_UNSPACED):
        return False
    if part.removesuffix("する").endswith(tuple(READING_LAST)):
        return True
    return part.startswith(tuple(READING_LAST)) and not any(word in part for word in _ACTING_UNSPACED)


def _joins_an_action(words: Sequence[str]) -> bool:
    if _ALWAYS_JOINING.intersection(words[1:2]) and len(words) > 2 and words[2] not in READING:
        return True  # nothing but a verb follows, as in `fetch_and_store`
    joined = (after for before, after in pairwise(words[1:]) if before in JOINING and after not in READING)
    return any(word in ACTION_WORDS | ACTING_IN_OTHER_LANGUAGES or word.endswith(VERB_ENDINGS) for word in joined)


def begins_acting(part: str) -> bool:
    """Return whether a part of an address begins with a word for an action, as `deleteAll` and `bulk-delete`."""
    words = words_of_name(part)
    return not ACTING_VERBS.isdisjoint(words[1:2] if _BULK.intersection(words[:1]) else words[:1])


def words_of_name(part: str) -> list[str]:
    """Return the words of a part of a name, in lower case, without accents that the tables do not have."""
    found = map(str.lower, _WORD.findall(part))
    return [word if word.isascii() or word in READING else without_accents(word) for word in found]
