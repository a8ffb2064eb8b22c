"""Decides whether a shell command or a statement of SQL only reads, by lists of programs and of words.

What is not known to read counts as something that writes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from app.replay.tables import TABLES, words

LONGEST = 20_000  # characters of a command that is read
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")
_SUBSTITUTED = re.compile(r"[`\n\r]|\$[\w({\[]|[<>]")
_OPERATOR = re.compile(r"[();<>|&]+")

_PROGRAMS = TABLES["programs"]
_NAMES = words("programs", "names")
_PATTERNS = [re.compile(pattern) for pattern in _PROGRAMS["patterns"]]
_SUBCOMMANDS = {program: frozenset(names.split()) for program, names in _PROGRAMS["subcommands"].items()}

_SQL_TEXT = re.compile(r"'(?:[^']|'')*+'|\"[^\"]*+\"|`[^`]*+`|--[^\n]*+|(?s:/\*.*?(?:\*/|\Z))")
_SQL_WORD = re.compile(r"[^\W\d]\w*+")
# It begins only where a word does: within a word, each letter would have the rest read again.
_SQL_CALL = re.compile(r"(?<!\w)\d*+([^\W\d]\w*+)\s*+\(")
_SQL_READS, _SQL_CHANGES = words("sql", "reading"), words("sql", "changing")
_SQL_FUNCTIONS = words("sql", "functions")


def command_reads(command: Any) -> bool:
    """Return True for a command made only of programs that read, with only pipes and `&&` between them.

    `command` is a text, or a list of words as a program gets them, which may be a shell's `-c` and a text.
    """
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        if len(command) == 3 and command[0] in _SHELLS and command[1] in ("-c", "-lc"):
            return command_reads(command[2])
        return sum(map(len, command)) <= LONGEST and _program_reads(command)
    if not isinstance(command, str) or len(command) > LONGEST or _SUBSTITUTED.search(_without_quoted(command)):
        return False
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        tokens = list(lexer)
    except ValueError:
        return False
    return all(map(_program_reads, _parts(tokens)))


def sql_reads(text: str) -> bool:
    """Return True for statements of SQL that only select or describe, and call only functions that compute."""
    if len(text) > LONGEST:
        return False
    plain = _SQL_TEXT.sub(" ", text).lower()
    statements = [statement for part in plain.split(";") if (statement := _SQL_WORD.findall(part))]
    named = {word for statement in statements for word in statement}
    return (
        bool(statements)
        and all(statement[0] in _SQL_READS for statement in statements)
        and named.isdisjoint(_SQL_CHANGES)
        and _SQL_FUNCTIONS.issuperset(_SQL_CALL.findall(plain))
    )


def _without_quoted(command: str) -> str:
    """Return a command without what is between single quotes, in which a shell replaces nothing."""
    return "''".join(command.split("'")[::2])


def _parts(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Yield the programs with their arguments; one without a name, which does not read, for another operator."""
    part: list[str] = []
    for token in tokens:
        if token in ("|", "&&"):
            yield part
            part = []
        else:
            part.append("" if _OPERATOR.fullmatch(token) else token)
    yield part


def _program_reads(part: Sequence[str]) -> bool:
    if not part or "" in part:
        return False
    program, *arguments = part
    if any(pattern.fullmatch(" ".join(part)) for pattern in _PATTERNS):
        return True
    if program in _SUBCOMMANDS:
        before = _PROGRAMS["before"].get(program, "").split()
        rest = [argument for argument in arguments if argument not in before]
        reads = bool(rest) and rest[0] in _SUBCOMMANDS[program]
    else:
        reads = program in _NAMES
    return reads and not any(_is_forbidden(program, argument) for argument in arguments)


def _is_forbidden(program: str, argument: str) -> bool:
    clusters = _PROGRAMS["clusters"].get(program, "")
    is_cluster = argument[:1] == "-" and argument[:2] != "--"
    return argument.startswith(tuple(_PROGRAMS["forbidden"].get(program, ()))) or (
        is_cluster and any(option in argument for option in clusters)
    )
