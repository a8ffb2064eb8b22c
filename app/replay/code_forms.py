"""Finds commands, statements, addresses and other code that are written differently but do the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from app.replay.command_forms import is_same_command
from app.replay.program_forms import dumped, program_form, syntax_of
from app.replay.request_forms import address_form
from app.replay.scalar_forms import path_form
from app.replay.shell_commands import command_words
from app.replay.sql_statements import is_definition
from app.replay.statement_forms import Form, is_narrower, statement_form
from app.replay.text_kinds import LONGEST, is_sql
from app.replay.times_of_day import in_24_hours

_LARGEST = 2**53  # up to which a float is the whole number that was written
_STEPS_PER_CHARACTER = 5  # a dozen readings, as a program, a command, a statement and an address


def steps_of_code(left: str, right: str) -> int:
    """Return the steps of the budget that `code_note` needs, which reads no text of more than `LONGEST` characters."""
    return _STEPS_PER_CHARACTER * (min(len(left), LONGEST) + min(len(right), LONGEST))


def code_note(left: str, right: str) -> str:
    """Return how two pieces of code are written differently; "" if they may do something else. `left` is recorded."""
    if note := _note(left, right):
        return note
    timed = in_24_hours(left), in_24_hours(right)
    return "the same code, with a time in another form" if timed != (left, right) and _note(*timed) else ""


def _note(left: str, right: str) -> str:
    if path_form(left) == path_form(right):
        return "the same path, written differently"
    is_long = max(len(left), len(right)) > LONGEST
    programs = ("", "") if is_long else (_program(left), _program(right))
    if left.split() == right.split():
        return "the same code, with other white space" if programs[0] == programs[1] else ""
    if is_long:
        return ""
    if programs[0] and programs[0] == programs[1]:
        return "the same program, written differently"
    for form, note in _FORMS:
        if (first := form(left)) and first == form(right):
            return note
    if all(is_sql(text) or is_definition(text) for text in (left, right)):
        return _statement_note(statement_form(left), statement_form(right))
    if "://" in left and "://" in right:
        address = address_form(left)
        return "the same address, written differently" if address and address == address_form(right) else ""
    return _command_note(left, right)


def _command_note(recorded: str, produced: str) -> str:
    if is_same_command(recorded, produced):
        return "the same command, written differently, or of which the output is read differently"
    if is_same_command(recorded, produced, worded=False):
        return "the same command, with other words in a text for people"
    return ""


def _statement_note(recorded: Form, produced: Form) -> str:
    if recorded == produced:
        return "the same statement, written differently"
    return "the same statement, with more conditions" if is_narrower(recorded, produced) else ""


def _json_form(text: str) -> str:
    """Return an object or a list of JSON with its keys in order; "" for other texts."""
    if text.strip()[:1] not in ("{", "["):
        return ""
    try:
        return json.dumps(json.loads(text, parse_float=_number, object_pairs_hook=_members), sort_keys=True)
    except (ValueError, RecursionError):
        return ""


def _number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _LARGEST else number


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Raises `ValueError` for a key that it has twice: programs read different ones of them."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key twice")
    return members


def _program(text: str) -> str:
    """Return the syntax tree of a program of Python, without comments; "" for other texts."""
    return dumped(syntax_of(text))


def _command(text: str) -> list[str]:
    """Return the words of a command; none for a statement or an address, of which white space or quotes may matter."""
    return [] if is_sql(text) or "://" in text else command_words(text)


_FORMS: tuple[tuple[Callable[[str], object], str], ...] = (
    (program_form, "the same program, with other names of variables or another order of named arguments"),
    (_json_form, "the same JSON, written differently"),
    (_command, "the same command, with other quotes or white space"),
)
