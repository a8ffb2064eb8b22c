"""Decides whether a shell command or a statement of SQL only reads, by lists of programs and of words.

What is not known to read counts as something that writes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from app.replay.tables import TABLES, words

LONGEST = 20_000  # characters of a command that is read
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")
_SUBSTITUTED = re.compile(r"[`\n\r]|\$[\w({\[]|[<>]")
_OPERATOR = re.compile(r"[();<>|&]+")
_BETWEEN = ("|", "&&", "||", ";")  # programs that read, which only read then
# What throws messages away, or puts them among the output.
_THROWN_AWAY = re.compile(r"(?<![\w\\])(?:[12]?>&[12]|(?:[12]|&)?>{1,2}[ ]?/dev/null)(?=[\s|;)]|&&|$)")

_PROGRAMS = TABLES["programs"]
_NAMES = words("programs", "names")
_PATTERNS = [re.compile(pattern) for pattern in _PROGRAMS["patterns"]]
_SUBCOMMANDS = {program: frozenset(names.split()) for program, names in _PROGRAMS["subcommands"].items()}
_CARRIERS: dict[str, dict[str, Any]] = _PROGRAMS["carriers"]
_MOST_CARRIED = 3  # programs that run one another, before the one that is looked at

SQL_TEXT = re.compile(r"'(?:[^']|'')*+'|\"[^\"]*+\"|`[^`]*+`|--(?:\s[^\n]*+|\Z)|(?s:/\*.*?(?:\*/|\Z))")
_SQL_ESCAPED_QUOTE = re.compile(r"\\['\"`]")
_SQL_WORD = re.compile(r"[^\W\d]\w*+")
# It begins only where a word does: within a word, each letter would have the rest read again.
_SQL_CALL = re.compile(r"(?<!\w)\d*+([^\W\d]\w*+)\s*+\(")
_SQL_READS, _SQL_CHANGES = words("sql", "reading"), words("sql", "changing")
_SQL_FUNCTIONS = words("sql", "functions")


def command_reads(command: Any, carriers: int = 0) -> bool:
    """Return True for a command made only of programs that read, with only pipes, `&&`, `||` and `;` between them.

    `command` is a text, or a list of words as a program gets them, which may be a shell's `-c` and a text. `carriers`
    are the programs that run it, such as `ssh`.
    """
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        if len(command) == 3 and command[0] in _SHELLS and command[1] in ("-c", "-lc"):
            return command_reads(command[2], carriers)
        return sum(map(len, command)) <= LONGEST and _program_reads(command, carriers)
    parts = _parsed(command) if isinstance(command, str) else None
    return parts is not None and all(_program_reads(part, carriers) for _, part in parts)


def acting_part(command: str) -> list[tuple[str, list[str]]]:
    """Return the programs of a command up to the last one that may change something, with what is between them.

    The programs after that only read what the others did or wrote. The list is empty for what can't be parsed.
    """
    parts = _parsed(command) or []
    last = max((index for index, (_, part) in enumerate(parts) if not _program_reads(part)), default=-1)
    return parts[: last + 1]


def command_words(command: str) -> list[str]:
    """Return the words of a command without the quotes around them; empty for what can't be parsed."""
    try:
        return shlex.split(command) if "\n" not in command else []
    except ValueError:
        return []


def sql_reads(text: str) -> bool:
    """Return True for statements of SQL that only select or describe, and call only functions that compute."""
    if len(text) > LONGEST or _is_doubtful(text):
        return False
    plain = SQL_TEXT.sub(" ", text).lower()
    if "#" in plain:  # begins a comment of MySQL, in which a quote begins no text
        return False
    statements = [statement for part in plain.split(";") if (statement := _SQL_WORD.findall(part))]
    named = {word for statement in statements for word in statement}
    return (
        bool(statements)
        and all(statement[0] in _SQL_READS for statement in statements)
        and named.isdisjoint(_SQL_CHANGES)
        and _SQL_FUNCTIONS.issuperset(_SQL_CALL.findall(plain))
    )


def _is_doubtful(text: str) -> bool:
    """Return whether databases may read comments and texts differently.

    MySQL executes some comments, and ends no text with a quote after a backslash; PostgreSQL nests comments.
    """
    comments = (found[0] for found in SQL_TEXT.finditer(text) if found[0].startswith("/*"))
    return _SQL_ESCAPED_QUOTE.search(text) is not None or any(
        "/*" in comment[2:] or comment.startswith(("/*!", "/*M!")) for comment in comments
    )


def _without_quoted(command: str) -> str:
    """Return a command without what is between single quotes, in which a shell replaces nothing."""
    return "''".join(command.split("'")[::2])


def _parsed(command: str) -> list[tuple[str, list[str]]] | None:
    """Return the programs of a command with their arguments, each after the operator that precedes it.

    A program without a name, which does not read, is there for another operator. None for a command that is too long,
    broken, or has parts that a shell replaces.
    """
    if len(command) > LONGEST:
        return None
    plain = _THROWN_AWAY.sub(" ", command)
    if _SUBSTITUTED.search(_without_quoted(plain)):
        return None
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    parts: list[tuple[str, list[str]]] = [("", [])]
    try:
        for token in lexer:
            if token in _BETWEEN:
                parts.append((token, []))
            else:
                parts[-1][1].append("" if _OPERATOR.fullmatch(token) else token)
    except ValueError:
        return None
    return parts


def _program_reads(part: Sequence[str], carriers: int = 0) -> bool:
    if not part or "" in part:
        return False
    program, *arguments = part
    if carried := _carried(program, arguments):
        return carriers < _MOST_CARRIED and command_reads(carried, carriers + 1)
    if any(pattern.fullmatch(" ".join(part)) for pattern in _PATTERNS):
        return True
    if program in _SUBCOMMANDS:
        rest = _from_subcommand(program, arguments)
        reads = bool(rest) and rest[0] in _SUBCOMMANDS[program]
    else:
        reads = program in _NAMES
    return reads and not any(_is_forbidden(program, argument) for argument in arguments)


def _from_subcommand(program: str, arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments without the known options that precede a subcommand."""
    return _after_options(arguments, _PROGRAMS["before"].get(program, ""))


def _carried(program: str, arguments: Sequence[str]) -> list[str] | str:
    """Return the command that a program such as `ssh` runs; empty for other programs, and for unknown options."""
    name, rest = program, arguments
    if program in _SUBCOMMANDS and (rest := _from_subcommand(program, arguments)):
        name, rest = f"{program} {rest[0]}", rest[1:]
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


def _after_options(arguments: Sequence[str], known: str) -> Sequence[str]:
    options = known.split()
    at = 0
    while at < len(arguments):
        name, is_whole, _ = arguments[at].partition("=")
        if name in options and not is_whole:
            at += 1
        elif f"{name}=" in options:
            at += 1 if is_whole else 2
        else:
            break
    return arguments[at:]


def _is_forbidden(program: str, argument: str) -> bool:
    clusters = _PROGRAMS["clusters"].get(program, "")
    is_cluster = argument[:1] == "-" and argument[:2] != "--"
    return argument.startswith(tuple(_PROGRAMS["forbidden"].get(program, ()))) or (
        is_cluster and any(option in argument for option in clusters)
    )
