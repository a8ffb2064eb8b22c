"""Changes of the answers of a scene, of which behaviours are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from tests.gate.changes import Scenes
from tests.gate.scenes import Scene

Change = Callable[[str], str | None]


def answers(scene: Scene, change: Change) -> Scenes:
    """A scene for each answer that `change` returns another text for."""
    for index, said in enumerate(scene.turns):
        other = change(said.answer)
        if other is not None and other != said.answer:
            yield scene.with_turn(index, answer=other)


def exchanged(scene: Scene, pattern: re.Pattern[str], other: str | Callable[[re.Match[str]], str]) -> Scenes:
    """A scene for each place of an answer that the pattern finds."""
    for index, said in enumerate(scene.turns):
        for text in _each_exchanged(said.answer, pattern, other):
            yield scene.with_turn(index, answer=text)


def worded(scene: Scene, wordings: Mapping[str, Iterable[str]]) -> Scenes:
    for index, said in enumerate(scene.turns):
        for text in wordings.get(said.answer, ()):
            yield scene.with_turn(index, answer=text)


def _each_exchanged(text: str, pattern: re.Pattern[str], other: str | Callable[[re.Match[str]], str]) -> Iterator[str]:
    for found in pattern.finditer(text):
        put = other(found) if callable(other) else found.expand(other)
        if put != found[0]:
            yield text[: found.start()] + put + text[found.end() :]


def raised(text: str, more: int) -> str:
    """The text with its first digit raised."""
    return re.sub(r"\d", lambda digit: str((int(digit[0]) + more) % 9 + 1), text, count=1)


def swapped(text: str, pattern: re.Pattern[str]) -> str | None:
    found = list(pattern.finditer(text))
    if len(found) < 2 or found[0][0] == found[1][0]:
        return None
    one, two = found[:2]
    return text[: one.start()] + two[0] + text[one.end() : two.start()] + one[0] + text[two.end() :]


def is_rich(text: str) -> bool:
    """True if the second half of a text has a value."""
    return re.search(r"\d", text[len(text) // 2 + 8 :]) is not None
