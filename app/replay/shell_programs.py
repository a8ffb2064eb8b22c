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
_NAMES = words("programs", "names")
_PATTERNS = [re.compile(pattern) for pattern in _PROGRAMS["patterns"]]
_CARRIERS: dict[str, dict[str, Any]] = _PROGRAMS["carriers"]
_FORBIDDEN: dict[str, list[str]] = _PROGRAMS["forbidden"]
_CLUSTERS: dict[str, str] = _PROGRAMS["clusters"]
_BEFORE: dict[str, str] = _PROGRAMS["before"]
_ONLY: dict[str, dict[str, Any]] = _PROGRAMS["only"]
_FAMILIES: dict[str, tuple[str, int, int]] = _PROGRAMS["families"]
_THINGS = {program: [frozenset(names.split()) for names in places] for program, places in _PROGRAMS["things"].items()}
_LIKE: dict[str, str] = _PROGRAMS["like"]
PROGRAMS_WITH_SUBCOMMANDS = frozenset(name for name in (*SUBCOMMANDS, *_FAMILIES, *_LIKE) if " " not in name)
_HTTP = re.compile(r"(https?://)?(?(1)|(?:localhost|127\.0\.0\.1|\[::1\])(?![^:/])).*", re.DOTALL)
_ONE_ADDRESS = re.compile(r"https?://(?:\[[\da-fA-F:.]+\])?[^][{}]*")  # with brackets, `curl` makes several of it
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")
_WHITE_SPACE, _NO_BREAK = re.compile(r"\s"), "\N{NO-BREAK SPACE}"
_THING = re.compile(r"[a-z][a-z0-9-]*")
_ASSIGNED = re.compile(rf"(?:{'|'.join(_PROGRAMS['assigned'].split())})=[\w.,:/+-]*")


def program_reads(part: Sequence[str]) -> bool:
    """Return whether a program that runs no other one only reads; `part` has its name and its arguments."""
    program, *arguments = part = _as_known(part)
    # White space in a word separates no words: `-a 'b get' flushall` calls `flushall`.
    line = " ".join(part if program == "mongosh" else (_WHITE_SPACE.sub(_NO_BREAK, word) for word in part))
    if any(pattern.fullmatch(line) for pattern in _PATTERNS):
        return True
    name, _, is_reading = _subcommand(program, arguments)
    if any(_is_forbidden(program, argument) or _is_in_cluster(name, argument) for argument in arguments):
        return False
    if program in _ONLY:
        return _has_only(_ONLY[program], arguments)
    return program in _NAMES or is_reading or _family_reads(program, arguments)


def carried_command(program: str, arguments: Sequence[str]) -> list[str] | str:
    """Return the command that a program such as `ssh` runs; empty for other programs, and for unknown options."""
    program, *arguments = _as_known([program, *arguments])
    if program in _SHELLS:
        return arguments[1] if len(arguments) == 2 and arguments[0] in ("-c", "-lc") else []
    if program == "xargs":
        return _by_xargs(arguments)
    name, rest, _ = _subcommand(program, arguments)
    if not (carrier := _CARRIERS.get(name)):
        return []
    rest = _after_options(rest, carrier["options"])
    first = carrier.get("words", 0)
    if any(word.startswith("-") for word in rest[:first]):
        return []
    command = rest[first:]
    if name != program:  # options of a subcommand may follow its words
        command = _after_options(command, carrier["options"])
    return " ".join(command) if carrier.get("shell") else [*command]


def without_assignments(part: Sequence[str]) -> Sequence[str]:
    """Return a program without the variables before it that only choose its language or its width."""
    at = 0
    while at < len(part) and _ASSIGNED.fullmatch(part[at]):
        at += 1
    return part[at:]


def _as_known(part: Sequence[str]) -> list[str]:
    """Return a program under the name of one with the same grammar."""
    return [*_LIKE.get(part[0], part[0]).split(" "), *part[1:]]


def _family_reads(program: str, arguments: Sequence[str]) -> bool:
    """Return whether a verb that reads follows the words for a thing."""
    if program not in _FAMILIES:
        return False
    verbs, least, most = _FAMILIES[program]
    named = [*takewhile(_THING.fullmatch, _after_options(arguments, _BEFORE.get(program, ""))[: most + 1])]
    at = next((at for at, word in enumerate(named) if at >= least and re.fullmatch(verbs, word)), None)
    places = _THINGS.get(program)
    return at is not None and (
        not places or all(word in places[min(place, len(places) - 1)] for place, word in enumerate(named[:at]))
    )


def _by_xargs(arguments: Sequence[str]) -> list[str]:
    """Return the command of `xargs`, which adds words to it: only a program that reads with any arguments is known."""
    command = _after_options(arguments, _PROGRAMS["xargs"])
    program = command[0] if command else "echo"
    is_plain = program in _NAMES and program not in _FORBIDDEN and program not in _CLUSTERS
    return [program, *command[1:]] if is_plain else []


def _subcommand(program: str, arguments: Sequence[str]) -> tuple[str, Sequence[str], bool]:
    """Return the longest known name of a program with its subcommands, what follows it, and whether it only reads."""
    name, rest = program, arguments
    while name in SUBCOMMANDS:
        rest = _after_options(rest, _BEFORE.get(name, ""))
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


def _is_forbidden(program: str, argument: str) -> bool:
    """Return whether an argument begins with a forbidden option, or may abbreviate a long one."""
    forbidden = _FORBIDDEN.get(program, ())
    if program == "go" and argument[:2] == "--":  # which has one dash or two before any option
        argument = argument[1:]
    if argument.startswith(tuple(forbidden)) or any(part[:1] == "*" and part[1:] in argument for part in forbidden):
        return True
    if argument[:2] == "--" and len(name := argument.partition("=")[0]) > 2:
        return any(option.startswith(name) for option in forbidden)
    return _is_in_cluster(program, argument)


def _is_in_cluster(name: str, argument: str) -> bool:
    """Return whether a cluster of options of one letter has one that is forbidden for a program or a subcommand."""
    is_cluster = argument[:1] == "-" and argument[:2] != "--"
    return is_cluster and any(option in argument for option in _CLUSTERS.get(name, ""))


def _has_only(known: dict[str, Any], arguments: Sequence[str]) -> bool:
    """Return whether all arguments are known options, with values as they may be, and words as they may be.

    `options` are as in `before`; `flags` are options of one letter that may be joined, and those in `valued` have a
    value; `checked` has patterns of values; `first` is a pattern of the first word, `rest` of the others, of which
    there are at least `least` and at most `most`; one of the options `needs` has to be there.
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
        all(_is_as(checked.get(name, ".*"), value) for name, value in options)
        and (not needed or any(name in needed for name, _ in options))
        and _are_placed(known, placed)
    )


def _are_placed(known: dict[str, Any], placed: Sequence[str]) -> bool:
    first = known.get("first", ".*")
    return (
        known.get("least", 0) <= len(placed) <= known.get("most", len(placed))
        and all(_is_as(first, word) for word in placed[:1])
        and all(_is_as(known.get("rest", first), word) for word in placed[1:])
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


def _is_as(pattern: str, value: str) -> bool:
    if pattern == "SQL":  # of which clients execute commands after a backslash
        return "\\" not in value and sql_reads(value)
    if pattern == "HEADER":  # `@` begins the name of a file with headers
        return value[:1] != "@" and not header_acts(value.partition(":")[0])
    if pattern == "ADDRESS":
        http = _HTTP.fullmatch(value)
        address = value if http and http[1] else f"http://{value}"
        return http is not None and _ONE_ADDRESS.fullmatch(address) is not None and not address_acts(address)
    return re.fullmatch(pattern, value, re.DOTALL) is not None
