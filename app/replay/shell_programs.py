"""Decides whether a program only reads with the arguments that it gets, by the tables of `tables.toml`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from app.replay.http_requests import address_acts, header_acts
from app.replay.sql_statements import sql_reads
from app.replay.tables import TABLES, words
from app.replay.tool_names import SUBCOMMANDS

_PROGRAMS = TABLES["programs"]
_READING_PROGRAMS = words("programs", "any_arguments")
_READING_LINES = [re.compile(pattern) for pattern in _PROGRAMS["lines"]]
_WRAPPERS: dict[str, dict[str, Any]] = _PROGRAMS["wrappers"]
_ACTING_OPTIONS: dict[str, list[str]] = _PROGRAMS["acting_options"]
_ACTING_LETTERS: dict[str, str] = _PROGRAMS["acting_letters"]
_LEADING_OPTIONS: dict[str, str] = _PROGRAMS["leading_options"]
_KNOWN_ARGUMENTS: dict[str, dict[str, Any]] = _PROGRAMS["known_arguments"]
_VERBS_AFTER_GROUPS: dict[str, tuple[str, int, int]] = _PROGRAMS["verbs_after_groups"]
_GROUPS = {program: [frozenset(names.split()) for names in places] for program, places in _PROGRAMS["groups"].items()}
_SAME_GRAMMAR: dict[str, str] = _PROGRAMS["same_grammar"]
PROGRAMS_WITH_SUBCOMMANDS = frozenset(
    name for name in (*SUBCOMMANDS, *_VERBS_AFTER_GROUPS, *_SAME_GRAMMAR) if " " not in name
)
_ADDRESS_FOR_CURL = re.compile(r"(https?://)?(?(1)|(?:localhost|127\.0\.0\.1|\[::1\])(?![^:/])).*", re.DOTALL)
_ONE_ADDRESS = re.compile(r"https?://(?:\[[\da-fA-F:.]+\])?[^][{}]*")  # with brackets, `curl` makes several of it
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")
_WHITE_SPACE, _NO_BREAK = re.compile(r"\s"), "\N{NO-BREAK SPACE}"
_GROUP_OR_VERB = re.compile(r"[a-z][a-z0-9-]*")
_HARMLESS_ASSIGNMENT = re.compile(rf"(?:{'|'.join(_PROGRAMS['harmless_variables'].split())})=[\w.,:/+-]*")


def program_reads(part: Sequence[str]) -> bool:
    """Return whether a program that runs no other one only reads; `part` has its name and its arguments."""
    program, *arguments = part = _as_known(part)
    # White space in a word separates no words: `-a 'b get' flushall` calls `flushall`.
    line = " ".join(part if program == "mongosh" else (_WHITE_SPACE.sub(_NO_BREAK, word) for word in part))
    if any(pattern.fullmatch(line) for pattern in _READING_LINES):
        return True
    name, _, is_reading = _subcommand(program, arguments)
    if any(_may_act(program, argument) or _has_acting_letter(name, argument) for argument in arguments):
        return False
    if program in _KNOWN_ARGUMENTS:
        return _has_only(_KNOWN_ARGUMENTS[program], arguments)
    return program in _READING_PROGRAMS or is_reading or _verb_after_groups_reads(program, arguments)


def wrapped_command(program: str, arguments: Sequence[str]) -> list[str] | str:
    """Return the command that a program such as `ssh` runs; empty for other programs, and for unknown options."""
    program, *arguments = _as_known([program, *arguments])
    if program in _SHELLS:
        return arguments[1] if len(arguments) == 2 and arguments[0] in ("-c", "-lc") else []
    if program == "xargs":
        return _by_xargs(arguments)
    name, rest, _ = _subcommand(program, arguments)
    if not (wrapper := _WRAPPERS.get(name)):
        return []
    rest = _after_options(rest, wrapper["options"])
    first = wrapper.get("words", 0)
    if any(word.startswith("-") for word in rest[:first]):
        return []
    command = rest[first:]
    if name != program:  # options of a subcommand may follow its words
        command = _after_options(command, wrapper["options"])
    return " ".join(command) if wrapper.get("shell") else [*command]


def without_assignments(part: Sequence[str]) -> Sequence[str]:
    """Return a program without the variables before it that only choose its language or its width."""
    at = 0
    while at < len(part) and _HARMLESS_ASSIGNMENT.fullmatch(part[at]):
        at += 1
    return part[at:]


def _as_known(part: Sequence[str]) -> list[str]:
    """Return a program under the name of one with the same grammar."""
    return [*_SAME_GRAMMAR.get(part[0], part[0]).split(" "), *part[1:]]


def _verb_after_groups_reads(program: str, arguments: Sequence[str]) -> bool:
    """Return whether a verb that reads follows the words for a thing."""
    if program not in _VERBS_AFTER_GROUPS:
        return False
    verbs, least, most = _VERBS_AFTER_GROUPS[program]
    named = [
        *takewhile(_GROUP_OR_VERB.fullmatch, _after_options(arguments, _LEADING_OPTIONS.get(program, ""))[: most + 1])
    ]
    at = next((at for at, word in enumerate(named) if at >= least and re.fullmatch(verbs, word)), None)
    places = _GROUPS.get(program)
    return at is not None and (
        not places or all(word in places[min(place, len(places) - 1)] for place, word in enumerate(named[:at]))
    )


def _by_xargs(arguments: Sequence[str]) -> list[str]:
    """Return the command of `xargs`, which adds words to it: only a program that reads with any arguments is known."""
    command = _after_options(arguments, _PROGRAMS["xargs"])
    program = command[0] if command else "echo"
    is_plain = program in _READING_PROGRAMS and program not in _ACTING_OPTIONS and program not in _ACTING_LETTERS
    return [program, *command[1:]] if is_plain else []


def _subcommand(program: str, arguments: Sequence[str]) -> tuple[str, Sequence[str], bool]:
    """Return the longest known name of a program with its subcommands, what follows it, and whether it only reads."""
    name, rest = program, arguments
    while name in SUBCOMMANDS:
        rest = _after_options(rest, _LEADING_OPTIONS.get(name, ""))
        if not rest:
            return name, rest, False
        if rest[0] in SUBCOMMANDS[name]:
            return f"{name} {rest[0]}", rest[1:], True
        name, rest = f"{name} {rest[0]}", rest[1:]
    return name, rest, False


def _after_options(arguments: Sequence[str], known: str) -> Sequence[str]:
    """Return the arguments behind the options; of the `known` ones, `--all` has no value, and `--file=` has one."""
    options = known.split()
    at = 0
    while at < len(arguments):
        name, has_value, _ = arguments[at].partition("=")
        if name in options and not has_value:
            at += 1
        elif f"{name}=" in options:
            at += 1 if has_value else 2
        else:
            break
    return arguments[at:]


def _may_act(program: str, argument: str) -> bool:
    """Return whether an argument begins with an option that acts, or may abbreviate a long one."""
    acting = _ACTING_OPTIONS.get(program, ())
    if program == "go" and argument[:2] == "--":  # which has one dash or two before any option
        argument = argument[1:]
    if argument.startswith(tuple(acting)) or any(part[:1] == "*" and part[1:] in argument for part in acting):
        return True
    if argument[:2] == "--" and len(name := argument.partition("=")[0]) > 2:
        return any(option.startswith(name) for option in acting)
    return _has_acting_letter(program, argument)


def _has_acting_letter(name: str, argument: str) -> bool:
    """Return whether a cluster of options of one letter has one with which a program or a subcommand acts."""
    is_cluster = argument[:1] == "-" and argument[:2] != "--"
    return is_cluster and any(option in argument for option in _ACTING_LETTERS.get(name, ""))


def _has_only(known: dict[str, Any], arguments: Sequence[str]) -> bool:
    """Return whether all arguments are known options, with values as they may be, and words as they may be.

    `known` is an entry of `known_arguments` in `tables.toml`, which describes its keys.
    """
    placed, options = list[str](), list[tuple[str, str]]()
    at = 0
    while at < len(arguments):
        argument, at = arguments[at], at + 1
        if not argument.startswith("-") or argument == "-":
            placed.append(argument)
            continue
        name, value, is_open = _option(known, argument)
        if not name:
            return False
        if is_open:
            value, at = arguments[at] if at < len(arguments) else "", at + 1
        options.append((name, value))
    needed = known.get("needs", "").split()
    checked: dict[str, str] = known.get("checked", {})
    return (
        all(_matches(checked.get(name, ".*"), value) for name, value in options)
        and (not needed or any(name in needed for name, _ in options))
        and _are_known_words(known, placed)
    )


def _are_known_words(known: dict[str, Any], placed: Sequence[str]) -> bool:
    first = known.get("first", ".*")
    return (
        known.get("least", 0) <= len(placed) <= known.get("most", len(placed))
        and all(_matches(first, word) for word in placed[:1])
        and all(_matches(known.get("rest", first), word) for word in placed[1:])
    )


def _option(known: dict[str, Any], argument: str) -> tuple[str, str, bool]:
    """Return an option, its value, and whether the value follows it; the name is empty for one that is not known."""
    options = known.get("options", "").split()
    if not argument.startswith("--") and argument not in options:
        return _joined_options(argument, known.get("flags", ""), known.get("valued", ""))
    name, has_value, value = argument.partition("=")
    if name in options and not has_value:
        return name, "", False
    return (name, value, not has_value) if f"{name}=" in options else ("", "", False)


def _joined_options(argument: str, flags: str, valued: str) -> tuple[str, str, bool]:
    """Return the last of the options of one letter, as `_option` does."""
    for index, letter in enumerate(argument[1:], start=1):
        if letter in valued:
            value = argument[index + 1 :]
            return f"-{letter}", value, not value
        if letter not in flags:
            return "", "", False
    return f"-{argument[-1]}", "", False


def _matches(pattern: str, value: str) -> bool:
    if pattern == "SQL":  # of which clients execute commands after a backslash
        return "\\" not in value and sql_reads(value)
    if pattern == "HEADER":  # `@` begins the name of a file with headers
        return value[:1] != "@" and not header_acts(value.partition(":")[0])
    if pattern == "ADDRESS":
        http = _ADDRESS_FOR_CURL.fullmatch(value)
        address = value if http and http[1] else f"http://{value}"
        return http is not None and _ONE_ADDRESS.fullmatch(address) is not None and not address_acts(address)
    return re.fullmatch(pattern, value, re.DOTALL) is not None
