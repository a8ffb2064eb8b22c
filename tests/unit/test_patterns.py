"""No regular expression of the product needs more than linear work, whatever the text.

Python's `re` holds the interpreter during a call, so no deadline ends a slow one. Each pattern is called by the methods
with which its module calls it, on runs of each character that its own syntax names. A linear pattern needs some
microseconds for such a text of `LENGTH` characters, a quadratic one some milliseconds for each thousand.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import re._parser as sre_parse  # type: ignore[import-not-found]
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import reprise_client
import reprise_formats

import app

LENGTH = 2_000
SLOW_S, TRIES = 0.008, 3
COMMON = " \na0_.-(\"'/"
ENDS = ("\x01", "")
# These modules start or replace a process when they are imported, or need packages that are not installed.
LEFT_OUT = ("app.process", "reprise_client.mcp", "reprise_client.cli.mcp")
# These search short texts only.
BOUNDED = {
    "app.audit.tokens._LAST_WORD": "searched in eight characters",
    "app.web.views.design._TOKEN": "searched in our own style sheet",
}


def modules() -> Iterator[ModuleType]:
    """Yield the modules of the product that can be imported: some need the MySQL driver."""
    for package in (app, reprise_client, reprise_formats):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.startswith(LEFT_OUT):
                continue
            try:
                module = importlib.import_module(found.name)
            except ModuleNotFoundError as error:
                if error.name != "MySQLdb":
                    raise
            else:
                yield module


def patterns() -> Iterator[tuple[str, re.Pattern[str], set[str]]]:
    """Yield the name of each pattern of texts, the pattern, and the methods by which it is called."""
    seen: set[int] = set()
    for module in modules():
        source = Path(str(module.__file__)).read_text()
        for name, value in vars(module).items():
            listed = list(value.values()) if isinstance(value, dict) else value
            for pattern in flattened(listed):
                if id(pattern) in seen or not isinstance(pattern.pattern, str):
                    continue
                seen.add(id(pattern))
                methods = set(re.findall(rf"\b{name}\.(match|fullmatch|search|finditer|findall|sub|split)\b", source))
                yield f"{module.__name__}.{name}", pattern, methods or {"match", "fullmatch", "search"}


def flattened(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from flattened(inner)


def named_in(tree: Any) -> tuple[dict[str, None], dict[str, None]]:
    """Return the characters and the words that a parsed pattern names."""
    characters: dict[str, None] = {}
    words: dict[str, None] = {}
    pending = [list(tree)]
    while pending:
        word = ""
        for code, argument in pending.pop():
            if str(code) == "LITERAL":
                word += chr(argument)
                characters[chr(argument)] = None
                continue
            words[word], word = None, ""
            if str(code) == "IN":
                characters |= {chr(inner): None for kind, inner in argument if str(kind) == "LITERAL"}
                characters |= {chr(inner[0]): None for kind, inner in argument if str(kind) == "RANGE"}
            pending += [list(part) for part in parts_of(str(code), argument)]
        words[word] = None
    return characters, words


def parts_of(code: str, argument: Any) -> list[Any]:
    if code == "BRANCH":
        return list(argument[1])
    if code == "ATOMIC_GROUP":
        return [argument]
    places = {"SUBPATTERN": 3, "ASSERT": 1, "ASSERT_NOT": 1}
    places |= dict.fromkeys(("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"), 2)
    return [argument[places[code]]] if code in places else []


def hostile_texts(pattern: re.Pattern[str]) -> Iterator[str]:
    characters, words = named_in(sre_parse.parse(pattern.pattern, pattern.flags))
    beginnings = ["", "a", *sorted(filter(None, words), key=len)[-4:]]
    each = [*dict.fromkeys([*list(characters)[:16], *COMMON])]
    for character in each:
        for beginning in beginnings:
            for end in ENDS:
                yield beginning + character * 40 + end
                yield beginning + character * LENGTH + end
    # A quote that a backslash escapes ends no text, and may begin one.
    escaped = (f"a\\{character}" for character in each)
    for repeated in (*escaped, *(f"{word}\n" for word in words if len(word) > 1)):
        for beginning in ("", each[0], *beginnings[-1:]):
            yield beginning + repeated * (LENGTH // len(repeated)) + "\n"


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in a call that would not end: `re` looks for signals now and then."""

    def stop(_number: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call(pattern: re.Pattern[str], method: str, text: str) -> None:
    if method == "sub":
        pattern.sub("", text)
    elif method == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, method)(text)


def is_slow(pattern: re.Pattern[str], method: str, text: str) -> bool:
    for _ in range(TRIES):
        began = time.process_time()
        try:
            with interrupted_after(5):
                call(pattern, method, text)
        except TimeoutError:
            continue
        if time.process_time() - began < SLOW_S:
            return False
    return True


def slow_calls(pattern: re.Pattern[str], methods: set[str]) -> list[str]:
    """Return the first text on which each method is slow."""
    texts = list(hostile_texts(pattern))
    slow = ((method, next((text for text in texts if is_slow(pattern, method, text)), None)) for method in methods)
    return [f"{method}({text[:30]!r}…)" for method, text in slow if text is not None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "method"),
    [
        (r"(?:/+[\w.@*-]*)+", "fullmatch"),
        (r"def\s+\w*\s*[(:{<].*", "fullmatch"),
        (r"[.!?]+(?=\s)", "finditer"),
        (r"(a|a)+b", "match"),
        (r"\w+@\w+", "search"),
        (r'"(?:[^"\\]|\\.)*"|\w+|\S', "finditer"),
    ],
)
def test_a_pattern_that_is_not_linear_is_noticed(source: str, method: str) -> None:
    assert slow_calls(re.compile(source), {method})


@pytest.mark.parametrize(
    ("source", "method"),
    [(r"(?:/++[\w.@*-]*+)++", "fullmatch"), (r"\s+", "sub"), (r"a.*b", "match"), (r"(?<!\w)\w++@\w++", "search")],
)
def test_a_linear_pattern_is_not_slow(source: str, method: str) -> None:
    assert not slow_calls(re.compile(source), {method})


@pytest.mark.slow
def test_each_pattern_is_linear_where_it_is_used() -> None:
    every = [entry for entry in patterns() if entry[0] not in BOUNDED]
    assert len(every) > 150
    slow: dict[str, list[str]] = {}

    for name, pattern, methods in every:
        if calls := slow_calls(pattern, methods):
            slow[name] = calls
    assert slow == {}


# What of a pattern lets the engine write down how far it is.
MOVES = {"BRANCH", "MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT", "ATOMIC_GROUP", "ASSERT", "ASSERT_NOT"}


def fails_late(items: Any) -> bool:
    """Return whether an item of a possessive repeat may fail after the engine wrote down that it is further on.

    Python before 3.11.5 goes on from there instead of from before the item (python/cpython#106052).
    """
    moved = False
    for number, (code, argument) in enumerate(items):
        if moved or (number and str(code) in MOVES):
            return True
        moved = str(code) in MOVES
        if str(code) == "SUBPATTERN":
            moved = any(str(inner) in MOVES for inner, _ in argument[3])
        if str(code) != "ATOMIC_GROUP" and any(map(fails_late, parts_of(str(code), argument))):
            return True
    return False


def is_wrong_before_3_11_5(source: str, flags: int = 0) -> bool:
    pending = [list(sre_parse.parse(source, flags))]
    while pending:
        for code, argument in pending.pop():
            if str(code) == "POSSESSIVE_REPEAT" and fails_late(argument[2]):
                return True
            pending += [list(part) for part in parts_of(str(code), argument)]
    return False


@pytest.mark.parametrize(
    ("source", "is_wrong"),
    [
        (r"(?:ab?c)++", True),
        (r"(?:.(?!D))++", True),
        (r"(?:#[^\n]*+\n)*+", True),
        (r"(?:explain\s++)?+select", True),
        (r"(?:/\*(?:[^*]|\*(?!/))*+\*/)*", True),
        (r"(?>(?:ab?c)+)", False),
        (r"(?:[^\"\\]|\\.)*+", False),
        (r"\w++\.(?:\d|x)?+", False),
    ],
)
def test_a_possessive_repeat_that_python_3_11_2_reads_wrongly_is_noticed(source: str, is_wrong: bool) -> None:
    assert is_wrong_before_3_11_5(source) == is_wrong


def test_every_pattern_finds_the_same_with_python_3_11_2() -> None:
    wrong = [name for name, pattern, _ in patterns() if is_wrong_before_3_11_5(pattern.pattern, pattern.flags)]
    assert wrong == []
