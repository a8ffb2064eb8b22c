"""Detects two texts that differ on what was done: refused or failed, done, or only promised.

It looks for words, in the language that the text seems to be in, and knows nothing of what they refer to. So it is a
guard and no verdict: where it sees a difference, a judge or a person decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from app.replay.texts.polarity_scripts import BY_SCRIPT
from app.replay.texts.polarity_words import LATIN, Language
from app.replay.texts.value_kinds import plainly
from app.replay.texts.vocabulary import choices

LONGEST_TEXT, LONGEST_WORD = 20_000, 40  # characters that are read
STEM = 6  # characters of a word that its forms share
_CLAIMS = ("negative", "done", "pending", "acted")
_CONDITIONS = frozenset(("if", "whether", "let", "why", "wenn", "falls", "si", "se", "als", "zo", "если", "اذا", "ما"))
"""Words behind which a text denies nothing."""


@dataclass(frozen=True, slots=True)
class Polarity:
    """The claims of a text: something was refused or failed, was done, or is still to be done.

    `acted` means that the writer did it: "I have refunded you", as opposed to "refunds take three days".
    """

    negative: bool = False
    done: bool = False
    pending: bool = False
    acted: bool = False


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text's polarity, the words that it affirms, single and with their neighbours, and its harmless denials."""

    polarity: Polarity
    affirmed: frozenset[tuple[str, ...]] = frozenset()
    denied: frozenset[tuple[str, ...]] = frozenset()

    def turns(self, other: _Reading) -> bool:
        """Return True if this text affirms what the other denies, as "further action" for "no further action"."""
        return any(
            self.affirmed.issuperset(pairs) and not other.affirmed.issuperset(pairs)
            for pairs in map(_pairs, other.denied)
        )


def polarity(text: str, beside: str = "") -> Polarity:
    """Return the claims of a text about success; a text without known words has no polarity.

    If a text may be in several languages, the language of `beside` decides, if it is one of them.
    """
    return _reading(text, beside).polarity


def polarity_differs(recorded: str, produced: str) -> bool:
    """Return True if only one text refuses, denies or fails, or one has done what the other did not.

    In the latter case the other promises or offers it; if the writer acted, the other need not mention it at all. A
    denial that is harmless to leave out, as "no further action", still differs from its opposite.
    """
    one, other = _reading(recorded, produced), _reading(produced, recorded)
    if one.polarity.negative != other.polarity.negative or one.turns(other) or other.turns(one):
        return True
    done, undone = (one, other) if one.polarity.done or one.polarity.acted else (other, one)
    if undone.polarity.done or undone.polarity.acted:
        return False
    return done.polarity.acted or (done.polarity.done and undone.polarity.pending)


def _reading(text: str, beside: str) -> _Reading:
    read = _read(text)
    possible = _languages(read)
    language = _LANGUAGES[min(possible & _languages(_read(beside)) or possible)]
    tables = _TABLES[language]
    whole = " ".join(_words(read)) if language.spaced else "".join(read.split())
    sentence = tables["harmless"].sub(" ", whole)
    found = Polarity(*(tables[name].search(sentence) is not None for name in _CLAIMS))
    if not language.spaced:
        return _Reading(found)
    denied, affirmed, end = set[tuple[str, ...]](), list[str](), 0
    for match in tables["harmless"].finditer(whole):
        group = match.lastindex or 0  # the words behind, which are denied, too
        said = tables["negative"].sub(" ", match[0])
        if said != match[0] and _CONDITIONS.isdisjoint(match[0].split()):
            denied.add(_content(f"{said} {match[group] if group else ''}", language))
        affirmed.append(whole[end : match.start()])
        end = max(match.end(group), match.end())
    words = _content(" ".join((*affirmed, whole[end:])), language)
    near = {pair for distance in (1, 2, 3) for pair in zip(words, words[distance:], strict=False)}
    return _Reading(found, frozenset(near.union((word,) for word in words)), frozenset(filter(None, denied)))


def _content(sentence: str, language: Language) -> tuple[str, ...]:
    """Return the stems of the words of a sentence that have content, without words that only identify its language."""
    hints = _HINTS[language]
    return tuple(word[:STEM].rstrip("s") for word in sentence.split() if len(word) > 2 and word not in hints)


def _pairs(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    return list(pairwise(words)) if len(words) > 1 else [words]


def _read(text: str) -> str:
    """Return the beginning of a text in lower case, with one spelling of the letters that writers spell in several."""
    return plainly(text[:LONGEST_TEXT]).lower().translate(_LETTERS)


def _words(read: str) -> list[str]:
    return [word[:LONGEST_WORD] for word in _TOKEN.findall(read)]


def _languages(read: str) -> frozenset[int]:
    """Return the indexes of the languages with most hints, or words of their script, in a text: all without any."""
    # Without addresses: "com" is a word of Portuguese.
    words = frozenset(_words(" ".join(one for one in read.split() if "@" not in one and "." not in one[:-1])))
    hits = [
        len(frozenset(script.findall(read)) if script else words & hints)
        for script, hints in zip(_SCRIPTS, _HINTS.values(), strict=True)
    ]
    return frozenset(index for index, count in enumerate(hits) if count == max(hits))


def _pattern(table: str, *, spaced: bool) -> re.Pattern[str]:
    words = choices(table).replace("%", r"\w*")
    return re.compile(rf"(?<![\w'-])(?:{words})(?![\w'-])" if spaced else words)


_TOKEN = re.compile(r"[\w'-]+|[.!?؟]")
_LETTERS = str.maketrans("ёأإآى", "еاااي", "\u0640\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652")
_LANGUAGES = (*LATIN, *BY_SCRIPT)
_HINTS = {language: frozenset(language.hints.split()) for language in _LANGUAGES}
_SCRIPTS = [re.compile(language.script) if language.script else None for language in _LANGUAGES]
_TABLES = {
    language: {name: _pattern(getattr(language, name), spaced=language.spaced) for name in ("harmless", *_CLAIMS)}
    for language in _LANGUAGES
}
