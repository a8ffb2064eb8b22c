"""Ways in which a harmless draft may write the arguments of any recorded call, with no list per domain."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from unicodedata import normalize

from app.audit.probed_text import is_name
from app.replay.shell_commands import command_reads
from app.replay.sql_statements import sql_reads
from app.replay.text_kinds import is_sql

# Returns other ways to write a value under a key, for a read or a write.
Form = Callable[[str, Any, bool], Iterator[Any]]


def decomposed(key: str, value: Any, reads: bool) -> Iterator[Any]:
    """Each letter with an accent as two characters."""
    if isinstance(value, str) and (text := normalize("NFD", value)) != value:
        yield text


def with_a_title(key: str, value: Any, reads: bool) -> Iterator[Any]:
    if isinstance(value, str) and is_name(value) and " " in value:
        yield from (f"{title} {value}" for title in ("Dr.", "Frau", "Mr"))


def last_name_first(key: str, value: Any, reads: bool) -> Iterator[Any]:
    words = value.split() if isinstance(value, str) and is_name(value) else []
    if len(words) == 2:
        yield f"{words[1]}, {words[0]}"


def with_more_words(key: str, value: Any, reads: bool) -> Iterator[Any]:
    """A name in a filter with the word that its key has for it."""
    if reads and not key.isdecimal() and isinstance(value, str) and is_name(value):
        yield f"{value} {key}"


def without_accents(key: str, value: Any, reads: bool) -> Iterator[Any]:
    text = normalize("NFD", value) if isinstance(value, str) and is_name(value) else ""
    if (plain := "".join(char for char in text if char < "\u0300" or char > "\u036f")) not in ("", value):
        yield plain


def with_typographic_signs(key: str, value: Any, reads: bool) -> Iterator[Any]:
    text = (
        value.replace("'", "’").replace(" - ", " – ") if isinstance(value, str) and not _is_code(key, value) else value
    )
    if text != value:
        yield text


def in_a_list(key: str, value: Any, reads: bool) -> Iterator[Any]:
    if isinstance(value, str | int) and not isinstance(value, bool):
        yield [value]
    if isinstance(value, list) and len(value) == 1:
        yield value[0]


def joined(key: str, value: Any, reads: bool) -> Iterator[Any]:
    if isinstance(value, list) and len(value) > 1 and all(isinstance(entry, str) for entry in value):
        yield ", ".join(value)


def as_json_text(key: str, value: Any, reads: bool) -> Iterator[Any]:
    if isinstance(value, dict | list) and value:
        yield json.dumps(value)


def with_a_last_line_break(key: str, value: Any, reads: bool) -> Iterator[Any]:
    if isinstance(value, str) and value.strip():
        yield f"{value}\n"
        if "\n" in value:
            yield value.replace("\n", "\r\n")


def command_shown_otherwise(key: str, value: Any, reads: bool) -> Iterator[Any]:
    """A command with its messages thrown away, or with fewer lines of its output; the quotes of the other kind."""
    if key not in ("command", "cmd") or not isinstance(value, str) or "\n" in value:
        return
    yield f"{value} 2>&1"
    yield f"{value} 2>/dev/null" if command_reads(value) else f"{value} 2>&1 | tail -n 40"
    yield f"{value} | tail -n 20"
    if "'" in value and '"' not in value and "$" not in value:
        yield value.replace("'", '"')


def statement_written_otherwise(key: str, value: Any, reads: bool) -> Iterator[Any]:
    if isinstance(value, str) and is_sql(value):
        yield f"{value.rstrip().rstrip(';')};"
        yield value.replace(" ", "  ").replace("SELECT", "select").replace("FROM", "from").replace("SET", "set")
        if sql_reads(value):
            yield f"{value.rstrip().rstrip(';')} LIMIT 1000"


def address_written_otherwise(key: str, value: Any, reads: bool) -> Iterator[Any]:
    if isinstance(value, str) and value.startswith(("http://", "https://")) and " " not in value:
        head, mark, query = value.partition("?")
        if "&" in query:
            yield f"{head}{mark}{'&'.join(reversed(query.split('&')))}"
        elif not mark and "#" not in value:
            yield f"{value.rstrip('/')}/"


def with_a_larger_limit(key: str, value: Any, reads: bool) -> Iterator[Any]:
    if reads and key in ("limit", "max_results", "top_k", "page_size", "n_results") and type(value) is int:
        yield value * 2


FORMS: tuple[Form, ...] = (
    decomposed,
    with_a_title,
    last_name_first,
    with_more_words,
    without_accents,
    with_typographic_signs,
    in_a_list,
    joined,
    as_json_text,
    with_a_last_line_break,
    command_shown_otherwise,
    statement_written_otherwise,
    address_written_otherwise,
    with_a_larger_limit,
)
EQUAL = (decomposed,)  # forms that need no reader


def rewritten(arguments: Any, form: Form, reads: bool) -> Iterator[Any]:
    """Yield the arguments with one value, anywhere in them, in another form."""
    if not isinstance(arguments, dict | list):
        return
    for part in arguments if isinstance(arguments, dict) else range(len(arguments)):
        inner = arguments[part]
        others = [*form(str(part), inner, reads), *rewritten(inner, form, reads)]
        for other in others:
            changed: Any = dict(arguments) if isinstance(arguments, dict) else [*arguments]
            changed[part] = other
            yield changed


def with_decomposed_keys(arguments: Any) -> Any:
    """Return the arguments with each accent of a key as a character."""
    if isinstance(arguments, dict):
        return {normalize("NFD", key): with_decomposed_keys(value) for key, value in arguments.items()}
    return [*map(with_decomposed_keys, arguments)] if isinstance(arguments, list) else arguments


def _is_code(key: str, value: str) -> bool:
    return key in ("command", "cmd", "code", "sql") or is_sql(value)
