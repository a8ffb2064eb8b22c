"""Finds calls that read a secret, such as a private key, a file of passwords or a token: no further one is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from app.replay.shell_commands import command_reads, programs_of
from app.replay.shell_programs import wrapped_command
from app.replay.tables import TABLES, words
from app.replay.text_kinds import LONGEST, SHELL_KEYS, is_sql
from app.values.unicode import without_accents

_SECRETS = TABLES["secrets"]
_PATHS = re.compile("|".join(f"(?:{pattern})" for pattern in _SECRETS["paths"]))
_COMMANDS = re.compile("|".join(f"(?:{pattern})" for pattern in _SECRETS["commands"]))
_ADDRESS = re.compile(_SECRETS["addresses"])
_WORDS, _FOLDERS, _SHOWS = (words("secrets", name) for name in ("words", "folders", "shows"))
_GIT_SHOWS, _COLUMNS, _TABLES = (words("secrets", name) for name in ("git_shows", "columns", "tables"))
_PLAIN = tuple(words("secrets", "plain"))
_BETWEEN = re.compile(r"[\s=:,;'\"]+")
_NAME = re.compile(r"[^\W_]+")
_COLUMN = re.compile(r"[\w.]+|\*|\bfrom\b")
_ENTRIES = re.compile(r"[\s,;+]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-\s.]+")
_KIND_KEYS, _KINDS, _COLUMN_KEYS = (words("secrets", name) for name in ("kind_keys", "kinds", "column_keys"))
_OUTPUT_KEYS, _OUTPUTS_OF_NAMES = words("secrets", "output_keys"), words("secrets", "outputs_of_names")
_LONGEST_PATH = 500  # characters
_DEPTH_MAX = 3


def reads_secret(arguments: Any) -> bool:
    """Return whether a call that reads names a secret.

    It does so by a path, an address, a command, a statement of SQL, a column, or a kind of things such as `secrets`.
    """
    texts = [(key, text) for key, text in _texts(arguments) if len(text) <= LONGEST]
    shows_names = any(key.lower() in _OUTPUT_KEYS and text.lower() in _OUTPUTS_OF_NAMES for key, text in texts)
    return any(_reveals(key, text) or (not shows_names and _is_kind(key, text)) for key, text in texts)


def _is_kind(key: str, text: str) -> bool:
    """Return whether a text names columns or kinds of things that are secrets, perhaps among others."""
    last = _HUMP.sub("_", key).lower().rpartition("_")[2]
    kinds = _KINDS if last in _KIND_KEYS else _COLUMNS if last in _COLUMN_KEYS else frozenset[str]()
    named = _ENTRIES.split(text.lower()) if kinds and len(text) <= _LONGEST_PATH else []
    return any(name.partition("/")[0] in kinds for name in named)


def _reveals(key: str, text: str) -> bool:
    if is_sql(text):
        return _statement_reveals(text.lower())
    if key.lower() in SHELL_KEYS or (" " in text.strip() and command_reads(text)):
        return any(map(_program_reveals, programs_of(text) or [text.split()]))
    path = text.strip()
    return _is_address(path) or (_is_secret(path) and (" " not in path or path.startswith(("/", "~", "."))))


def _program_reveals(part: list[str], depth: int = 0) -> bool:
    """Return whether a program, or the one that it runs, shows a secret."""
    if part and depth < _DEPTH_MAX and (command := wrapped_command(part[0], part[1:])):
        programs = programs_of(command) or [command.split()] if isinstance(command, str) else [command]
        return any(_program_reveals(program, depth + 1) for program in programs)
    if not part or part[0].rpartition("/")[2] in _SHOWS or (part[0] == "git" and not _GIT_SHOWS.isdisjoint(part[1:3])):
        return False
    line = " ".join(part)
    if len(line) <= _LONGEST_PATH and _COMMANDS.fullmatch(line):
        return True
    return any(_is_address(word) or any(map(_is_secret, _BETWEEN.split(word))) for word in part[1:])


def _is_address(text: str) -> bool:
    return len(text) <= _LONGEST_PATH and _ADDRESS.fullmatch(text.lower()) is not None


def _is_secret(text: str) -> bool:
    """Return whether a text is a path to a secret."""
    path = text.lower().replace("\\", "/").removeprefix("file://")
    if not 0 < len(path) <= _LONGEST_PATH or "://" in path:
        return False
    if _PATHS.fullmatch(path):
        return True
    if path.endswith(_PLAIN):
        return False
    *folders, name = path.split("/")
    if not folders and "." not in name:
        return False
    return bool(name) and (
        not _FOLDERS.isdisjoint(folders) or not _WORDS.isdisjoint(_NAME.findall(without_accents(name)))
    )


def _statement_reveals(statement: str) -> bool:
    """Return whether a query selects a column with a secret, or all columns of a table with secrets."""
    columns, _, others = statement.partition("from")
    named = {word.rpartition(".")[2] for word in _COLUMN.findall(columns)}
    is_all = "*" in columns.replace("count(*)", "")
    return not _COLUMNS.isdisjoint(named) or (is_all and not _TABLES.isdisjoint(_COLUMN.findall(others)))


def _texts(arguments: Any) -> Iterator[tuple[str, str]]:
    """Yield each text with its key; the words of a command that is a list are one text."""
    pending: list[tuple[str, Any]] = [("", arguments)]
    while pending:
        key, value = pending.pop()
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, dict):
            pending += value.items()
        elif isinstance(value, list):
            pending += ((key, inner) for inner in value)
