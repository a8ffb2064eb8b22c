"""Tells if two texts differ in what they say was done: refused or failed, done, or only promised.

It looks for words, in the language that the text seems to be in, and knows nothing of what they refer to. So it is a
guard and no verdict: where it sees a difference, a judge or a person decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.replay.polarity_scripts import BY_SCRIPT
from app.replay.polarity_words import LATIN
from app.replay.value_kinds import plainly

LONGEST_TEXT, LONGEST_WORD = 20_000, 40  # characters that are read


@dataclass(frozen=True, slots=True)
class Polarity:
    """The claims of a text: that something was refused or failed; that it was done; that it is still to be done."""

    negative: bool = False
    done: bool = False
    pending: bool = False


def polarity(text: str, beside: str = "") -> Polarity:
    """Return what a text says of success; a text of which nothing is known has no polarity.

    A text that does not show its language is in that of the one `beside` it.
    """
    read = _read(text)
    known = _language(read)
    language = _LANGUAGES[_language(_read(beside)) or 0 if known is None else known]
    tables = _TABLES[language]
    sentence = tables["harmless"].sub(" ", " ".join(_words(read)) if language.spaced else "".join(read.split()))
    return Polarity(*(tables[name].search(sentence) is not None for name in ("negative", "done", "pending")))


def polarity_differs(recorded: str, produced: str) -> bool:
    """Return True if only one text refuses, denies or fails, or one has done what the other promises or offers."""
    one, other = polarity(recorded, produced), polarity(produced, recorded)
    if one.negative != other.negative:
        return True
    undone = other if one.done else one
    return one.done != other.done and undone.pending


def _read(text: str) -> str:
    """Return the beginning of a text in lower case, with one spelling of the letters that writers spell in several."""
    return plainly(text[:LONGEST_TEXT]).lower().translate(_LETTERS)


def _words(read: str) -> list[str]:
    return [word[:LONGEST_WORD] for word in _TOKEN.findall(read)]


def _language(read: str) -> int | None:
    """Return the index of the language with most of its hints, or words of its script, None if there are none."""
    words = frozenset(_words(read))
    hits = [
        len(frozenset(script.findall(read)) if script else words & hints)
        for script, hints in zip(_SCRIPTS, _HINTS, strict=True)
    ]
    return hits.index(max(hits)) if any(hits) else None


def _pattern(table: str, *, spaced: bool) -> re.Pattern[str]:
    choices = "".join(line.strip() for line in table.splitlines()).replace("%", r"\w*")
    return re.compile(rf"(?<![\w'-])(?:{choices})(?![\w'-])" if spaced else choices)


_TOKEN = re.compile(r"[\w'-]+|[.!?؟]")
_LETTERS = str.maketrans("ёأإآى", "еاااي", "\u0640\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652")
_LANGUAGES = (*LATIN, *BY_SCRIPT)
_HINTS = [frozenset(language.hints.split()) for language in _LANGUAGES]
_SCRIPTS = [re.compile(language.script) if language.script else None for language in _LANGUAGES]
_TABLES = {
    language: {
        name: _pattern(getattr(language, name), spaced=language.spaced)
        for name in ("harmless", "negative", "done", "pending")
    }
    for language in _LANGUAGES
}
