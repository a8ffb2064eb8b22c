"""Decides whether one call of a tool that runs commands or statements only reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.replay.commands import command_reads
from app.replay.kinds import SHELL_KEYS, is_sql
from app.replay.programs import PROGRAMS_WITH_SUBCOMMANDS
from app.replay.statements import sql_reads
from app.replay.tables import words

_BESIDE, _BESIDE_SQL, _NOT_BESIDE = (words("keys", name) for name in ("beside", "beside_sql", "not_beside"))
_SQL_KEYS, _PROGRAM_KEYS = words("keys", "sql"), words("keys", "program_arguments")
_RAN_OR_WRITTEN = _NOT_BESIDE | _PROGRAM_KEYS | SHELL_KEYS  # what makes a difference to what is run
_STATEMENT_KEYS = _SQL_KEYS - words("keys", "search")  # of which a text is a statement, whatever its first word is
_LISTS = ("commands", "cmds")  # keys of several commands, of which each is a text
_RUNS = frozenset(("run", "execute", "cli", "command", "cmd", "tool", "shell"))
_LAST_PART = re.compile(r"[^/.:]*\Z")


def call_reads(name: str, arguments: Any, *, runs_only: bool) -> bool | None:
    """Return whether the command or statement of a call only reads; None for a call without one.

    `name` is that of the tool, which may be a program that gets arguments, such as `kubectl`. If it `runs_only` what
    the caller writes, other arguments, such as a host, make no difference; otherwise only known ones may be there.
    """
    if not isinstance(arguments, dict):
        return None
    keys = {key: key.lower() for key in arguments}
    if key := _first(keys, arguments, _PROGRAM_KEYS) if (program := _program_of(name)) else "":
        return _of_program(program, arguments[key]) and _may_be_beside(keys, {key}, _BESIDE, runs_only=runs_only)
    if key := _first(keys, arguments, SHELL_KEYS):
        return _command_reads(keys[key], arguments[key]) and _may_be_beside(keys, {key}, _BESIDE, runs_only=runs_only)
    texts = {
        key: arguments[key]
        for key, lower in keys.items()
        if lower in _SQL_KEYS and isinstance(arguments[key], str) and arguments[key].strip()
        if runs_only or lower in _STATEMENT_KEYS or is_sql(arguments[key])
    }
    if not texts:
        return None
    return all(map(sql_reads, texts.values())) and _may_be_beside(keys, {*texts}, _BESIDE_SQL, runs_only=runs_only)


def _first(keys: Mapping[str, str], arguments: Mapping[str, Any], known: frozenset[str]) -> str:
    return next((key for key, lower in keys.items() if lower in known and arguments[key]), "")


def _may_be_beside(keys: Mapping[str, str], ran: set[str], known: frozenset[str], *, runs_only: bool) -> bool:
    others = [lower for key, lower in keys.items() if key not in ran]
    return (_RAN_OR_WRITTEN - known).isdisjoint(others) if runs_only else known.issuperset(others)


def _command_reads(key: str, command: Any) -> bool:
    if key in _LISTS and isinstance(command, list):
        return all(isinstance(text, str) and command_reads(text) for text in command)
    return command_reads(command)


def _program_of(name: str) -> str:
    """Return the program that a tool is named after, as in `kubectl` and `run_git`; "" for other tools."""
    last = _LAST_PART.search(name.rpartition("__")[2])
    parts = {part for part in re.split(r"[_\s]+", last[0].lower()) if part} if last else set()
    programs = PROGRAMS_WITH_SUBCOMMANDS.intersection(parts)
    return next(iter(programs)) if len(programs) == 1 and parts - programs <= _RUNS else ""


def _of_program(program: str, arguments: Any) -> bool:
    """Return whether a program reads with its arguments, as one text or as a list, which may begin with its name."""
    if isinstance(arguments, list):
        return command_reads(arguments if arguments[:1] == [program] else [program, *arguments])
    if not isinstance(arguments, str):
        return False
    return command_reads(arguments if arguments.split()[:1] == [program] else f"{program} {arguments}")
