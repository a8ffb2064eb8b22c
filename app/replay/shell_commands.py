"""Decides whether a shell command only reads: one that is made only of programs that do.

What is not known to read counts as something that writes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from app.replay.shell_programs import program_reads, without_assignments, wrapped_command
from app.replay.text_kinds import LONGEST

_SUBSTITUTED = re.compile(r"[`\n\r]|\$[\w({\[@*#?!$-]|[<>]")
_KEEPS_LINES = re.compile(r"['\"\\#\r]")
_OPERATOR = re.compile(r"[();<>|&]+")
_QUOTED = re.compile(r"'[^']*+'|\"(?:[^\"\\]|\\.)*+\"|\\.", re.DOTALL)
_GLOB_OPTION = re.compile(r"-[^=*?[]*[*?[]")
_REPLACED, _REPLACED_IN_QUOTES = re.compile(r"[][*?~$`]|\{(?!\})|(?<!\S)#"), re.compile(r"[$`]")
_EMPTY = "''"  # in place of a quoted text
_OTHER = "\0"  # before an operator among words
_BETWEEN = ("|", "&&", "||", ";")  # programs that read, which only read then
# What throws messages away, or puts them among the output.
_THROWN_AWAY = re.compile(r"(?<![\w\\])(?:[12]?>&[12]|(?:[12]|&)?>{1,2}[ ]?/dev/null)(?=[\s|;)]|&&|$)")

_DEPTH_MAX = 3  # programs that run one another, before the one that is looked at


def command_reads(command: Any, depth: int = 0) -> bool:
    """Return True for a command made only of programs that read, with only pipes, `&&`, `||` and `;` between them.

    `command` is a text, or a list of words as a program gets them, which may be a shell's `-c` and a text. `depth` is
    the number of programs, such as `ssh`, that run it inside one another.
    """
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return sum(map(len, command)) <= LONGEST and _program_reads(command, depth)
    parts = _parsed(command) if isinstance(command, str) else None
    return parts is not None and all(_program_reads(part, depth) for _, part in parts)


def acting_part(command: str) -> list[tuple[str, list[str]]]:
    """Return the programs of a command up to the last one that may change something, with what is between them.

    The programs after that only read what the others did or wrote. The list is empty for what can't be parsed.
    """
    parts = _parsed(command) or []
    last = max((index for index, (_, part) in enumerate(parts) if not _program_reads(part)), default=-1)
    return parts[: last + 1]


def programs_of(command: str) -> list[list[str]]:
    """Return the programs of a command, each with its arguments; none for what can't be parsed."""
    return [part for _, part in _parsed(command) or []]


def command_words(command: str) -> list[str]:
    """Return the words of a command without the quotes around them, then its operators and what a shell may replace.

    Empty for what is broken.
    """
    if "\n" in command:
        return []
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        # The operators once more, for quoted ones are words.
        return [*lexer, *_OPERATOR.findall(_QUOTED.sub("", command)), *replaced_signs(command)]
    except ValueError:
        return []


def replaced_signs(command: str) -> list[str]:
    """Return the signs for which a shell may put other words, as `*` and `$`; one between quotes follows a quote."""
    within = (text for text in _QUOTED.findall(command) if text[0] == '"')
    quoted = (f'"{sign}' for text in within for sign in _REPLACED_IN_QUOTES.findall(text))
    return [*_REPLACED.findall(_QUOTED.sub(_EMPTY, command)), *quoted]


def is_operator(word: str) -> bool:
    """Return whether a word of a parsed command is an operator, such as one that redirects."""
    return word.startswith(_OTHER)


def _in_one_line(command: str) -> str:
    """Return the lines of a command without quotes, comments and escapes with `;` between them; another one stays."""
    lines = [line for line in command.split("\n") if line.strip()]
    return command if not lines or _KEEPS_LINES.search(command) else ";".join(lines)


def _is_replaced(command: str) -> bool:
    """Return whether a shell may replace a part of a command, or read its quotes in another way than here.

    Between single quotes it replaces nothing. A single quote is none after a backslash and between double quotes, after
    a dollar sign it begins a text with escapes, and in a comment, which a line's end ends, no quote is one.
    """
    plain = _QUOTED.sub(_EMPTY, command)
    is_commented = "#" in plain and "\n" in command
    return (
        is_commented
        or f"${_EMPTY}" in plain
        or _SUBSTITUTED.search(_QUOTED.sub(_without_literal, command)) is not None
        or any(map(_is_expanded, plain.split()))
    )


def _without_literal(quoted: re.Match[str]) -> str:
    return _EMPTY if quoted[0][0] == "'" else quoted[0]


def _is_expanded(word: str) -> bool:
    """Return whether a word without its quoted texts may become several words, as `{-o,a}` or `{1..3}` does.

    The value of a long option is left out: `--include=*.{ts,js}` is that option with other values.
    """
    if _GLOB_OPTION.match(word):  # which is that of any file with such a name
        return True
    before, _, inner = word.partition("{")
    is_of_option = before.startswith("--") and "=" in before
    return not is_of_option and ("," in inner or ".." in inner)


def _parsed(command: str) -> list[tuple[str, list[str]]] | None:
    """Return the programs of a command with their arguments, each after the operator that precedes it.

    Other operators are among the arguments, after a character that no word has. None for a command that is too long,
    broken, or has parts that a shell replaces.
    """
    if len(command) > LONGEST:
        return None
    plain = _THROWN_AWAY.sub(" ", _in_one_line(command))
    if _is_replaced(plain):
        return None
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    parts: list[tuple[str, list[str]]] = [("", [])]
    try:
        for token in lexer:
            if token in _BETWEEN:
                parts.append((token, []))
            else:
                parts[-1][1].append(f"{_OTHER}{token}" if _OPERATOR.fullmatch(token) else token)
    except ValueError:
        return None
    return parts


def _program_reads(part: Sequence[str], depth: int = 0) -> bool:
    part = without_assignments(part)
    if not part or any(map(is_operator, part)):
        return False
    if command := wrapped_command(part[0], part[1:]):
        return depth < _DEPTH_MAX and command_reads(command, depth + 1)
    return program_reads(part)
