"""Brings a shell command to one form, by which two are recognized that are written differently and do the same.

A program has a form only if the tables know all of its options.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from app.replay.find_forms import find_form
from app.replay.measures import seconds_of, seconds_of_job, with_plain_measures
from app.replay.scalar_forms import path_form
from app.replay.shell_commands import acting_part, replaced_signs
from app.replay.shell_options import is_with_same_options
from app.replay.shell_programs import wrapped_command
from app.replay.tables import TABLES, words
from app.replay.text_kinds import is_language
from app.replay.value_notes import RESOURCES

Part = tuple[str, Sequence[str]]  # what is between a program and the one before it, and its words

_DEPTH_MAX = 3
_SAME: dict[str, str] = TABLES["forms"]["same"]
_KEEPS_SLASH, _UNITS, _TIMED = (words("forms", name) for name in ("keeps_slash", "units", "timed"))
_FOLDERS = words("forms", "folders")
_FOR_PEOPLE = words("prose", "keys") | {"message", "reason"}
_JOBS, _ORDERED = words("forms", "jobs"), words("forms", "ordered")
_SUBSTITUTION = re.compile(r"s([/|,#:@!%;~])((?:(?!\1)[^\\]|\\.)*)\1((?:(?!\1)[^\\]|\\.)*)\1([gpIi0-9]*)", re.DOTALL)


def _options_by_spelling(listed: str) -> dict[str, tuple[str, bool]]:
    """Return the name of each option by its spellings, and whether a value follows it."""
    entries = ([*entry.removesuffix("=").split(":"), entry[-1:]] for entry in listed.split())
    return {name: (names[0], mark == "=") for *names, mark in entries for name in names}


_OPTIONS = {
    program: _options_by_spelling(listed)
    for programs, listed in TABLES["forms"]["options"].items()
    for program in programs.split("|")
}


def command_form(command: str, depth: int = 0, *, worded: bool = True) -> list[tuple[Any, ...]]:
    """Return the programs of a command up to the last one that may change something; empty for what can't be parsed.

    Unless it is `worded`, all texts of several words for people, such as a message, are the same.
    """
    parts = [(between, part if worded else _without_words_for_people(part)) for between, part in acting_part(command)]
    return [(between, *_program_form(part, depth)) for between, part in _with_find_programs(parts)]


def is_same_command(left: str, right: str, *, worded: bool = True) -> bool:
    """Return whether two commands do the same, by the tables or by the names and values of their options."""
    forms = command_form(left, worded=worded), command_form(right, worded=worded)
    if not forms[0] or len(forms[0]) != len(forms[1]) or replaced_signs(left) != replaced_signs(right):
        return False
    return all(_is_same_program(first, other) for first, other in zip(*forms, strict=True))


def _is_same_program(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    if left == right:
        return True
    is_unknown = all(isinstance(word, str) for word in (*left, *right)) and left[:2] == right[:2]
    return is_unknown and left[1] not in _ORDERED and is_with_same_options(left[2:], right[2:])


def _without_words_for_people(part: Sequence[str]) -> list[str]:
    """Return the words of a program with a mark instead of each text for people, after or in an option for such."""
    unworded = list[str]()
    for before, word in zip(["", *part], part, strict=False):
        name, is_joined, value = word.partition("=")
        if is_joined and _is_for_people(name, value):
            unworded.append(f"{name}=…")
        else:
            unworded.append("…" if _is_for_people(before, word) else word)
    return unworded


def _is_for_people(option: str, text: str) -> bool:
    return (option == "-m" or option.lstrip("-").lower() in _FOR_PEOPLE) and is_language(text)


def _with_find_programs(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the programs, and `find` with the one that gets what it finds as one."""
    pending: Part | None = None
    for between, part in parts:
        form = _find_program(pending[1], between, part) if pending else None
        if pending:
            yield pending[0], form or _find_program(pending[1]) or pending[1]
        pending = None
        if form is None:
            if part[:1] == ["find"]:
                pending = between, part
            else:
                yield between, part
    if pending:
        yield pending[0], _find_program(pending[1]) or pending[1]


def _find_program(find: Sequence[str], between: str = "", part: Sequence[str] = ()) -> list[str] | None:
    """Return the form of `find` with the program after it, as words; None if they have none.

    A program without words is there for the semicolon after `-exec`, which a backslash precedes.
    """
    is_ended = between == ";" and not part
    if part and (between != "|" or part[0] != "xargs"):
        return None
    form = find_form(find[1:], part, is_ended=is_ended)
    return None if form is None else ["find", *(repr(part) for part in form)]


def _program_form(part: Sequence[str], depth: int) -> tuple[Any, ...]:
    part = _renamed(part)
    if depth < _DEPTH_MAX and part and (command := wrapped_command(part[0], part[1:])):
        return _carrier_form(part, command, depth + 1)
    if not part or part[0] == "find":
        return tuple(part)
    name = next((name for count in (3, 2, 1) if (name := " ".join(part[:count])) in _OPTIONS), "")
    if not name:
        return tuple(part)
    form = _with_options(name, _with_script(part) if part[0] == "sed" else part)
    return tuple(part) if form is None else form


def _with_script(part: Sequence[str]) -> Sequence[str]:
    """Return the words of `sed` with its one script first, of which the delimiters make no difference."""
    at = part.index("-e") + 1 if part.count("-e") == 1 else 0
    if not at:
        at = next((at for at, word in enumerate(part) if at and not word.startswith("-")), 0)
    if not 0 < at < len(part):
        return part
    begin = at - 1 if part[at - 1] == "-e" else at
    return [part[0], _script_form(part[at]), *part[1:begin], *part[at + 1 :]]


def _script_form(script: str) -> str:
    parts = _SUBSTITUTION.fullmatch(script)
    if not parts or (parts[1] == "|" and "\\|" in script):  # which is an alternative elsewhere
        return repr(script)
    delimiter, *texts, flags = parts.groups()
    return repr(("s", *(text.replace(f"\\{delimiter}", delimiter) for text in texts), flags))


def _carrier_form(part: Sequence[str], command: Sequence[str] | str, depth: int) -> tuple[Any, ...]:
    """Return the words of a program that runs another one, and the form of that."""
    if not isinstance(command, str):
        return (*part[: len(part) - len(command)], *_program_form(command, depth))
    ends = accumulate(len(word) + 1 for word in reversed(part))
    count = next((n for n, length in enumerate(ends, start=1) if length - 1 == len(command)), 0)
    inner = command_form(command, depth)
    return (*part[: len(part) - count], *inner) if count and inner else tuple(part)


def _renamed(part: Sequence[str]) -> Sequence[str]:
    """Return a program under its usual name, without the folder of programs that it is in."""
    if not part:
        return part
    folder, _, name = part[0].rpartition("/")
    part = [name if folder in _FOLDERS else part[0], *part[1:]]
    if part[0] == "service" and len(part) == 3:
        return ["systemctl", part[2], part[1]]
    for count in (3, 2, 1):
        if same := _SAME.get(" ".join(part[:count])):
            return [*same.split(), *part[count:]]
    return part


def _with_options(name: str, part: Sequence[str]) -> tuple[Any, ...] | None:
    """Return a program, its words, and its options in order, each with its value; None with an option not known."""
    known, program = _OPTIONS[name], part[0]
    positional, options = list[str](), list[tuple[str, str]]()
    arguments = iter(part[1:])
    for argument in arguments:
        if argument == "--":
            others = [*arguments]
            positional += [argument, *others] if any(word.startswith("-") for word in others) else others
        elif not argument.startswith("-") or argument == "-":
            positional.append(argument)
            if program in _JOBS:  # what follows are the arguments of the job
                positional += arguments
        elif (named := _options(known, argument, arguments)) is None:
            return None
        else:
            options += named
    valued = [(option, _value(program, option, value)) for option, value in options]
    return program, tuple(_normalized_words(program, positional)), tuple(sorted(valued, key=lambda option: option[0]))


def _options(known: dict[str, tuple[str, bool]], argument: str, others: Iterator[str]) -> list[tuple[str, str]] | None:
    """Return the options of an argument, with a value that may be the next of the others; None if one is not known."""
    name, is_whole, value = argument.partition("=")
    if name in known:
        canonical, has_value = known[name]
        if is_whole:
            return [(canonical, value)] if name.startswith("--") else None
        return [(canonical, next(others, "") if has_value else "")]
    if argument.startswith("--"):
        return None
    options = list[tuple[str, str]]()
    for at, letter in enumerate(argument[1:], start=2):
        canonical, has_value = known.get(f"-{letter}", ("", False))
        if not canonical:
            return None
        if has_value:
            return [*options, (canonical, argument[at:] or next(others, ""))]
        options.append((canonical, ""))
    return options


def _value(program: str, option: str, value: str) -> str:
    if option.lstrip("-") in _TIMED and (seconds := seconds_of(value)) is not None:
        return f"{seconds}s"
    if program in _JOBS and option == "-t" and (seconds := seconds_of_job(value)) is not None:
        return f"{seconds}s"
    return with_plain_measures(_normalized_path(program, value))


def _normalized_words(program: str, positional: Sequence[str]) -> Iterator[str]:
    kind = ""
    for at, word in enumerate(positional):
        if program == "systemctl" and at and posixpath.splitext(word)[1] not in _UNITS:
            yield f"{word}.service"
        elif program != "kubectl":
            yield _normalized_path(program, word)
        elif not kind and word in RESOURCES and at:
            kind = RESOURCES[word]
            if at + 1 == len(positional):
                yield kind
        else:
            of, slash, name = word.partition("/")
            is_name = kind and not slash and "=" not in word and word != "--"
            yield f"{kind}/{word}" if is_name else f"{RESOURCES.get(of, of)}{slash}{name}"


def _normalized_path(program: str, word: str) -> str:
    """Return the shortest form of a path, with a slash after it where that may matter; another word stays."""
    form = path_form(word)
    return f"{form}/" if word.endswith("/") and program in _KEEPS_SLASH and form != "/" else form
