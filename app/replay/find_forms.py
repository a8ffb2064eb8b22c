"""Brings commands of `find` to one form, also the ones with another program that gets what they find."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from app.replay.scalar_forms import path_form
from app.replay.tables import TABLES, words

Words = tuple[str, ...]

_TESTS: dict[str, int] = {
    **dict.fromkeys(TABLES["find"]["tests"].split(), 1),
    **dict.fromkeys(TABLES["find"]["plain_tests"].split(), 0),
}
_NULL_OPTIONS, _XARGS_OPTIONS = words("find", "null"), words("find", "xargs")
_REMOVES = (("rm",), ("rm", "-f"), ("rm", "--force"))


def find_form(arguments: Sequence[str], after: Sequence[str], *, is_ended: bool) -> tuple[Words, ...] | None:
    """Return the places, the tests in order and what is done with what they find; None for other expressions.

    `after` are the words of the program that reads the output, such as `xargs`. `arguments` lack the semicolon that
    ends an `-exec`; `is_ended` is True if the command had it.
    """
    begin = next((at for at, word in enumerate(arguments) if word[:1] in ("-", "!", "(")), len(arguments))
    tests, rest = _tests(arguments[begin:])
    done = _action(rest, tests, after, is_ended=is_ended)
    return None if done is None else (tuple(map(path_form, arguments[:begin])), *sorted(tests), done)


def _tests(expression: Sequence[str]) -> tuple[list[Words], Sequence[str]]:
    """Return the tests at the beginning of an expression, all of which have to hold, and what follows them."""
    tests, at = list[Words](), 0
    while at < len(expression):
        begin = at
        while expression[at : at + 1] in (["!"], ["-not"]):
            at += 1
        count = _TESTS.get(expression[at], -1) if at < len(expression) else -1
        if count < 0 or at + count >= len(expression):
            return tests, expression[begin:]
        negated = ("!",) if (at - begin) % 2 else ()
        tests.append((*negated, *expression[at : at + 1 + count]))
        at += 1 + count
        if expression[at : at + 1] in (["-a"], ["-and"]):
            at += 1
    return tests, ()


def _action(rest: Sequence[str], tests: Sequence[Words], after: Sequence[str], *, is_ended: bool) -> Words | None:
    """Return the program that gets what was found, `-delete` for removed files; None if that is not clear."""
    if list(rest) == ["-delete"]:
        return None if after else ("-delete",)
    run = _by_xargs(rest, after) if after else _by_exec(rest, is_ended=is_ended)
    if run[-1:] != ("{}",) or run.count("{}") > 1:
        return None
    is_removal = tuple(word for word in run[:-1] if word != "--") in _REMOVES and ("-type", "f") in tests
    return ("-delete",) if is_removal else ("-exec", *run)


def _by_exec(rest: Sequence[str], *, is_ended: bool) -> Words:
    if rest[:1] != ["-exec"] or is_ended == (rest[-1] == "+"):
        return ()
    return tuple(rest[1:] if is_ended else rest[1:-1])


def _by_xargs(rest: Sequence[str], after: Sequence[str]) -> Words:
    options = [*takewhile(_XARGS_OPTIONS.__contains__, after[1:])]
    if list(rest) != ["-print0"] or after[0] != "xargs" or _NULL_OPTIONS.isdisjoint(options):
        return ()
    return (*after[1 + len(options) :], "{}")
