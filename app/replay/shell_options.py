"""Compares the options of two calls of a program by their names and values, where no table lists its options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from app.replay.measures import seconds_of_job

_CLUSTER = re.compile(r"-[A-Za-z]{2,4}")  # of options of one letter
_OPTION = re.compile(r"-[A-Za-z].*|--[A-Za-z].*", re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z]\w*)=(.*)", re.DOTALL)
_TIME_LIMIT_KEYS = ("timelimit", "time_limit", "walltime")
_OUTPUT_OPTIONS = frozenset(("--json", "--yaml", "--pretty", "--plain", "--color", "--no-color", "--no-headers"))
_COMPARED_OPTIONS_MAX = 50  # options between two words that are compared

Option = tuple[str, str]  # its name, and its value or ""


@dataclass(slots=True)
class _Arguments:
    """The words of a program, and the options before each of them and after the last one."""

    words: list[str] = field(default_factory=list)
    options: list[list[Option]] = field(default_factory=lambda: [[]])


def is_with_same_options(left: Sequence[str], right: Sequence[str]) -> bool:
    """Return whether two programs get the same words in order, and between these the same options in any order.

    An option with one letter may be one with a long name and the same value.
    """
    first, other = _arguments(left, right), _arguments(right, left)
    return first.words == other.words and all(map(_are_same, first.options, other.options))


def _arguments(words: Sequence[str], others: Sequence[str]) -> _Arguments:
    """Return the arguments of a program.

    No table lists the options with a value. A word after an option counts as its value if the other program has it as
    the value of an option, too.
    """
    values, known = {*_possible_values(others)}, {*others}
    arguments, is_value = _Arguments(), False
    for word, next_word in pairwise((*words, "-")):
        if is_value:
            is_value = False
        elif named := _ASSIGNMENT.fullmatch(word):
            arguments.options[-1].append(_assignment_option(*named.groups()))
        elif word in _OUTPUT_OPTIONS:
            continue
        elif not _OPTION.fullmatch(word):
            arguments.words.append(word)
            arguments.options.append([])
        else:
            name, is_joined, value = word.partition("=")
            is_value = not is_joined and not _OPTION.fullmatch(next_word) and next_word in values
            names = [f"-{letter}" for letter in name[1:]] if _CLUSTER.fullmatch(name) and word not in known else [name]
            arguments.options[-1] += [(flag, "") for flag in names[:-1]]
            arguments.options[-1].append((names[-1], next_word if is_value else value if is_joined else ""))
    return arguments


def _assignment_option(name: str, value: str) -> Option:
    """Return a value with its name, as in `State=DRAIN`, in one case, and a time limit in seconds."""
    name = name.lower()
    seconds = seconds_of_job(value.lstrip("+-")) if name.endswith(_TIME_LIMIT_KEYS) else None
    if seconds is not None:
        return name, f"{value[: len(value) - len(value.lstrip('+-'))]}{seconds}s"
    return name, value.lower() if value.isalpha() else value


def _possible_values(words: Sequence[str]) -> Iterator[str]:
    """Yield what may be the value of an option."""
    for word, next_word in pairwise((*words, "-")):
        if _OPTION.fullmatch(word):
            yield word.partition("=")[2] or next_word


def _are_same(left: Sequence[Option], right: Sequence[Option]) -> bool:
    if list(left) == list(right):
        return True
    names = [name for name, _ in left], [name for name, _ in right]
    if not len(left) == len(right) <= _COMPARED_OPTIONS_MAX or any(len({*side}) < len(side) for side in names):
        return False
    rest = [option for option in left if option not in right]
    free = [option for option in right if option not in left]
    for name, value in sorted(rest, key=lambda option: len(option[0])):
        others = [other for other, other_value in free if other_value == value and _is_short(name) != _is_short(other)]
        if not others:
            return False
        other = min(others, key=lambda other: _name_distance(name, other))
        if _name_distance(name, other) > 1:
            return False
        free.remove((other, value))
    return True


def _is_short(name: str) -> bool:
    return len(name) == 2  # a hyphen and a letter


def _name_distance(name: str, other: str) -> int:
    """Return 0 for a long name that begins with a letter, 1 for one that has it, 2 for another one."""
    letter, long = sorted((name.lstrip("-").casefold(), other.lstrip("-").casefold()), key=len)
    return 0 if long.startswith(letter) else 1 if letter in long else 2
