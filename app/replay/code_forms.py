"""Finds commands, statements, addresses and other code that is written differently, and does the same."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from app.replay.command_forms import command_form
from app.replay.commands import command_words
from app.replay.forms import path_form
from app.replay.kinds import LONGEST, is_sql
from app.replay.statement_forms import statement_form


def code_note(left: str, right: str) -> str:
    """Return how two pieces of code are written differently; "" if they may do something else."""
    if path_form(left) == path_form(right):
        return "the same path, written differently"
    if left.split() == right.split():
        return "the same code, with other white space"
    if max(len(left), len(right)) > LONGEST:
        return ""
    if is_sql(left) and is_sql(right):
        return "the same statement, written differently" if statement_form(left) == statement_form(right) else ""
    if "://" in left and "://" in right:
        return "the same address, written differently" if _address(left) == _address(right) else ""
    if (parts := command_words(left)) and parts == command_words(right):
        return "the same command, quoted differently"
    if (form := command_form(left)) and form == command_form(right):
        return "the same command, written differently, or of which the output is read differently"
    return ""


def _address(text: str) -> tuple[str, ...] | None:
    """Return the parts of an address, with its parameters in order; None for a text that is no address."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return None
    parameters = sorted(parse_qsl(parts.query, keep_blank_values=True))
    return parts.scheme, parts.netloc.lower(), parts.path.rstrip("/"), repr(parameters), parts.fragment
