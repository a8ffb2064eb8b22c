"""Finds commands, statements, addresses and other code that is written differently, and does the same."""

from __future__ import annotations

import ast
from urllib.parse import parse_qsl, urlsplit

from app.replay.command_forms import command_form
from app.replay.commands import command_words
from app.replay.forms import path_form
from app.replay.kinds import LONGEST, is_sql
from app.replay.statement_forms import Words, is_narrower, statement_form

_PORTS = {"http": ":80", "https": ":443"}


def code_note(left: str, right: str) -> str:
    """Return how two pieces of code are written differently; "" if they may do something else. `left` is recorded."""
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
        return "the same address, written differently" if _address(left) == _address(right) else ""
    if left[:1] == right[:1] == "=" and '"' not in left and "".join(left.split()) == "".join(right.split()):
        return "the same formula, with other white space"
    if (parts := command_words(left)) and parts == command_words(right):
        return "the same command, quoted differently"
    if (form := command_form(left)) and form == command_form(right):
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


def _address(text: str) -> tuple[str, ...] | None:
    """Return the parts of an address, with its parameters in order; None for a text that is no address."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return None
    parameters = sorted(parse_qsl(parts.query, keep_blank_values=True))
    host = parts.netloc.lower().removesuffix(_PORTS.get(parts.scheme, ""))
    return parts.scheme, host, parts.path.rstrip("/"), repr(parameters), parts.fragment
