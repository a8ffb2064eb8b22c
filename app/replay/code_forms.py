"""Finds commands, statements, addresses and other code that is written differently, and does the same."""

from __future__ import annotations

import ast

from app.replay.clocks import by_day
from app.replay.command_forms import is_same_command
from app.replay.commands import command_words
from app.replay.forms import path_form
from app.replay.kinds import LONGEST, is_sql
from app.replay.request_forms import address_form
from app.replay.statement_forms import Words, is_narrower, statement_form


def code_note(left: str, right: str) -> str:
    """Return how two pieces of code are written differently; "" if they may do something else. `left` is recorded."""
    if note := _note(left, right):
        return note
    timed = by_day(left), by_day(right)
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
    if is_sql(left) and is_sql(right):
        return _statement_note(statement_form(left), statement_form(right))
    if "://" in left and "://" in right:
        return "the same address, written differently" if address_form(left) == address_form(right) else ""
    if left[:1] == right[:1] == "=" and '"' not in left and "".join(left.split()) == "".join(right.split()):
        return "the same formula, with other white space"
    if (parts := command_words(left)) and parts == command_words(right):
        return "the same command, with other quotes or white space"
    if is_same_command(left, right):
        return "the same command, written differently, or of which the output is read differently"
    return ""


def _statement_note(recorded: Words, produced: Words) -> str:
    if recorded == produced:
        return "the same statement, written differently"
    return "the same statement, with more conditions" if is_narrower(recorded, produced) else ""


def _program(text: str) -> str:
    """Return the syntax tree of a program of Python, without comments; "" for other texts."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
