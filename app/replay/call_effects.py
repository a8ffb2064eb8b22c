"""Decides whether one call of a tool that runs commands or statements, or sends requests, only reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.replay.graphql import graphql_reads, is_graphql
from app.replay.http_requests import request_reads
from app.replay.inner_calls import InnerCall, inner_call, model_reads, operation_reads
from app.replay.shell_commands import command_reads
from app.replay.shell_programs import PROGRAMS_WITH_SUBCOMMANDS
from app.replay.sql_statements import is_change, is_sql_or_listing, is_statement, sql_reads
from app.replay.tables import TABLES, words
from app.replay.text_kinds import LONGEST, SHELL_KEYS, is_sql
from app.replay.tool_names import (
    ACTING_IN_OTHER_LANGUAGES,
    ACTING_VERBS,
    ACTION_WORDS,
    effect_of_name,
    is_named_for_an_action,
    words_of_name,
)

# Keys of arguments whose values never make a command, or a statement, write; and keys whose values may.
_HARMLESS_KEYS, _HARMLESS_SQL_KEYS = words("keys", "harmless"), words("keys", "harmless_for_sql")
_RISKY_KEYS = words("keys", "risky")
_WORDS_FOR_PEOPLE = words("prose", "keys") | words("prose", "messages")
_HARMLESS_TEXT_KEYS = _HARMLESS_KEYS & _HARMLESS_SQL_KEYS
_SQL_KEYS, PROGRAM_KEYS = words("keys", "sql"), words("keys", "program_arguments")
_DECISIVE_KEYS = _RISKY_KEYS | PROGRAM_KEYS | SHELL_KEYS  # their values change what is run
_QUERY_KEYS = _SQL_KEYS | words("keys", "graphql")
# Words in the names of tools that send any request, call any tool, run commands, and get statements.
_SENDER_WORDS, _CALLER_WORDS = words("requests", "sender_words"), words("requests", "caller_words")
_SHELL_TOOL_WORDS, _SQL_TOOL_WORDS = words("keys", "shells"), words("keys", "for_sql")
_STATEMENT_TOOL_WORDS = _SQL_TOOL_WORDS | {"query", "db", "database", "statement"}
_OTHER_LANGUAGE_WORDS = words("keys", "other_databases")
_ACTIONS_BUT_CALLING = ACTING_VERBS - _CALLER_WORDS
_WINDOWS_NAME = re.compile("power[ _-]?shell|pwsh|windows|cmd[.]exe", re.IGNORECASE)  # its shells have other quotes
_INNER_CALLS_MAX = 3  # tools that call one another, before the one that is looked at
_ACTS_IN_OTHER_LANGUAGE = re.compile("|".join(TABLES["sql"]["elsewhere"]), re.IGNORECASE)
_STATEMENT_KEYS = _SQL_KEYS - words("keys", "search")  # of which a text is a statement, whatever its first word is
_CLIENT_PROGRAMS = {"redis": "redis-cli"}  # servers, of which a tool has the name, and the programs with their commands
_PROGRAMS_NAMING_TOOLS = PROGRAMS_WITH_SUBCOMMANDS | frozenset(_CLIENT_PROGRAMS.values())
_COMMAND_LIST_KEYS = ("commands", "cmds")  # keys of several commands, of which each is a text
_RUNNING_VERBS = frozenset(("run", "execute", "cli", "command", "cmd", "tool", "shell"))
_NAMES_FOR_OTHER_TEXTS = (ACTION_WORDS | ACTING_IN_OTHER_LANGUAGES | _WORDS_FOR_PEOPLE) - _RUNNING_VERBS
_WRITING_VALUES = {
    key: re.compile(value) for keys, value in TABLES["requests"]["writing"].items() for key in keys.split()
}
_BEFORE_LAST_PART = re.compile(r"[/.:]")


def call_reads(name: str, arguments: Any, *, runs_only: bool, has_operations: bool = False) -> bool | None:
    """Return whether the command, statement, request or inner call of a call only reads; None for a call without one.

    `name` is that of the tool, which may be a program that gets arguments, such as `kubectl`. If it `runs_only` what
    the caller writes, other arguments, such as a host, make no difference; otherwise only known ones may be there.
    If the tool `has_operations`, its argument `operation` is one that its schema lists, whatever its name is.
    """
    for _ in range(_INNER_CALLS_MAX):
        if not isinstance(arguments, dict):
            return None
        keys = {key: key.lower() for key in arguments}
        reads = _content_reads(name, keys, arguments, runs_only=runs_only)
        if reads is not None:
            return reads
        words_of_tool = {*words_of_name(name)}
        call = inner_call(keys, arguments) if runs_only or _is_named_for(_CALLER_WORDS, words_of_tool) else None
        if call is None:
            is_open = runs_only or has_operations or ACTING_VERBS.isdisjoint(words_of_tool)
            if (is_open or _is_named_for(_CALLER_WORDS, words_of_tool)) and model_reads(keys, arguments):
                return True
            return True if is_open and operation_reads(keys, arguments) else None
        if effect_of_name(call[0]) == "read":
            return _inner_call_reads(call)
        if is_named_for_an_action(call[0]) and _CALLER_WORDS.isdisjoint(words_of_name(call[0])[:1]):
            return False
        (name, arguments), runs_only = call, False
    return False


def changes_data(arguments: Any) -> bool:
    """Return whether an argument is a statement of SQL that certainly changes something."""
    texts = arguments.values() if isinstance(arguments, dict) else ()
    return any(isinstance(text, str) and is_change(text) for text in texts)


def _content_reads(name: str, keys: Mapping[str, str], arguments: Mapping[str, Any], *, runs_only: bool) -> bool | None:
    if any(lower in _WRITING_VALUES and _has(arguments[key], _WRITING_VALUES[lower]) for key, lower in keys.items()):
        return False
    request = request_reads(keys, arguments, runs_only=runs_only)
    if request is not None:
        return request and (runs_only or _is_named_for(_SENDER_WORDS, {*words_of_name(name)}))
    if key := _first_key(keys, arguments, PROGRAM_KEYS) if (program := program_of(name)) else "":
        return _are_harmless_keys(keys, {key}, runs_only=runs_only) and _program_reads(program, arguments[key])
    if key := _first_key(keys, arguments, SHELL_KEYS) or _key_of_shell_text(name, keys, arguments):
        if _is_for_windows(name, keys, arguments) or not _are_harmless_keys(keys, {key}, runs_only=runs_only):
            return False
        return _command_reads(keys[key], arguments[key])
    words_of_tool = {*words_of_name(name)}
    is_stated = is_sql if _SQL_TOOL_WORDS.isdisjoint(words_of_tool) else is_sql_or_listing
    texts = {
        key: text
        for key, lower in keys.items()
        if isinstance(text := arguments[key], str) and text.strip() and lower in _QUERY_KEYS
        if is_graphql(text) or (lower in _SQL_KEYS and (runs_only or lower in _STATEMENT_KEYS or is_stated(text)))
    }
    if not _STATEMENT_TOOL_WORDS.isdisjoint(words_of_tool) and any(map(_is_statement_that_writes, arguments.values())):
        return False
    if not _OTHER_LANGUAGE_WORDS.isdisjoint((*words_of_tool, *keys.values())) and any(
        _has(text, _ACTS_IN_OTHER_LANGUAGE) for text in arguments.values()
    ):
        return False
    if not texts:
        return _single_text_reads(name, keys, arguments, runs_only=runs_only)
    reads = all(graphql_reads(text) if is_graphql(text) else sql_reads(text) for text in texts.values())
    return reads and _are_harmless_keys(keys, {*texts}, _HARMLESS_SQL_KEYS, runs_only=runs_only)


def _single_text_reads(
    name: str, keys: Mapping[str, str], arguments: Mapping[str, Any], *, runs_only: bool
) -> bool | None:
    """Return True if the one text of a call, under a key of any language, is a statement or a command that reads.

    Other texts decide nothing, and neither do calls of a tool that is named for an action, such as a message.
    """
    texts = [key for key, lower in keys.items() if lower not in _HARMLESS_TEXT_KEYS and isinstance(arguments[key], str)]
    if len(texts) != 1 or keys[texts[0]] in _WORDS_FOR_PEOPLE:
        return None
    if not _NAMES_FOR_OTHER_TEXTS.isdisjoint(words_of_name(name)):
        return None
    text = arguments[texts[0]]
    if not (is_statement(text) and sql_reads(text)) and not (_is_command(text) and command_reads(text)):
        return None
    others = {lower for key, lower in keys.items() if key != texts[0] and not _is_number(arguments[key])}
    return others.isdisjoint(_DECISIVE_KEYS) if runs_only else others <= _HARMLESS_TEXT_KEYS


def _has(value: Any, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.search(" ".join(value[:LONGEST].split())) is not None


def _is_statement_that_writes(text: Any) -> bool:
    return isinstance(text, str) and is_sql(text) and not sql_reads(text)


def _is_command(text: str) -> bool:
    """Return whether a text begins as a command does: a program, then an option, a path or a pipe, or a known verb."""
    first, *others = text.split() or [""]
    is_option = any(word.startswith(("-", "/", "|")) for word in others[:2])
    return bool(others) and (is_option or first in PROGRAMS_WITH_SUBCOMMANDS)


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _is_named_for(known: frozenset[str], named: set[str]) -> bool:
    """Return whether the name of a tool has one of the known words, and none for another action."""
    return not known.isdisjoint(named) and _ACTIONS_BUT_CALLING.isdisjoint(named)


def _inner_call_reads(call: InnerCall) -> bool:
    """Return whether an inner tool that is named for a read gets nothing that changes something."""
    name, arguments = call
    keys = {key: key.lower() for key in arguments} if isinstance(arguments, dict) else {}
    return not keys or _content_reads(name, keys, arguments, runs_only=False) is not False


def _first_key(keys: Mapping[str, str], arguments: Mapping[str, Any], known: frozenset[str]) -> str:
    return next((key for key, lower in keys.items() if lower in known and arguments[key]), "")


def _key_of_shell_text(name: str, keys: Mapping[str, str], arguments: Mapping[str, Any]) -> str:
    """Return the key of the one text that a tool named after a shell gets, in any language; "" for other calls."""
    if _SHELL_TOOL_WORDS.isdisjoint(words_of_name(name)):
        return ""
    texts = [key for key, lower in keys.items() if lower not in _HARMLESS_KEYS and isinstance(arguments[key], str)]
    return texts[0] if len(texts) == 1 and arguments[texts[0]].strip() else ""


def _is_for_windows(name: str, keys: Mapping[str, str], arguments: Mapping[str, Any]) -> bool:
    """Return whether the name of a tool, or the shell that a call chooses, is of Windows."""
    shells = (arguments[key] for key, lower in keys.items() if lower == "shell")
    return any(isinstance(text, str) and _WINDOWS_NAME.search(text) for text in (name, *shells))


def _are_harmless_keys(
    keys: Mapping[str, str], ran: set[str], harmless: frozenset[str] = _HARMLESS_KEYS, *, runs_only: bool
) -> bool:
    """Return True if no argument but those whose keys were `ran` can change what the call does."""
    others = [lower for key, lower in keys.items() if key not in ran]
    return (_DECISIVE_KEYS - harmless).isdisjoint(others) if runs_only else harmless.issuperset(others)


def _command_reads(key: str, command: Any) -> bool:
    if key in _COMMAND_LIST_KEYS and isinstance(command, list):
        return all(isinstance(text, str) and command_reads(text) for text in command)
    return command_reads(command)


def program_of(name: str) -> str:
    """Return the program that a tool is named after, as in `kubectl` and `run_git`; "" for other tools."""
    last = _BEFORE_LAST_PART.split(name.rpartition("__")[2])[-1]
    parts = {_CLIENT_PROGRAMS.get(part, part) for part in re.split(r"[_\s]+", last.lower()) if part}
    programs = _PROGRAMS_NAMING_TOOLS.intersection(parts)
    return next(iter(programs)) if len(programs) == 1 and parts - programs <= _RUNNING_VERBS else ""


def _program_reads(program: str, arguments: Any) -> bool:
    """Return whether a program reads with its arguments, as one text or as a list, which may begin with its name."""
    if isinstance(arguments, list):
        return command_reads(arguments if arguments[:1] == [program] else [program, *arguments])
    if not isinstance(arguments, str):
        return False
    return command_reads(arguments if arguments.split()[:1] == [program] else f"{program} {arguments}")
