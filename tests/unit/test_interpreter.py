"""No call into C keeps Python's lock for long, whatever the text: health checks and other callers are answered.

Each row names a place that reads words, and is driven with every hostile text.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import orjson
import pytest

from app.audit.changes import exchangeable
from app.audit.probes import LONGEST_PROBED
from app.audit.tokens import TextPiece, entries_of, sentences_of, values_of
from app.database.packed_text import pack, unpack
from app.errors import Invalid
from app.otlp.decode import decode
from app.otlp.masking import Masking, Rule
from app.otlp.normalise.messages import read_text
from app.otlp.normalise.toolio import recorded_arguments, recorded_result
from app.prices.names import key_of
from app.rendering.render import to_xml
from app.replay import commands, kinds
from app.schemas.csv_lines import csv_lines
from app.search.query import parse
from app.sessions.build import build_lone_turn
from app.sessions.turn_texts import TEXT_MAX, texts_in
from app.values.budget import UNLIMITED
from app.values.json import json_or_text
from app.values.regex import Patterns
from app.values.storable import decode_json, storable_text
from app.values.unicode import folded
from app.web.presenters.diffs import diff_rows
from app.web.presenters.markdown import to_html
from app.web.presenters.texts import block
from tests.support.exports import export, span
from tests.support.interpreter import held_s

pytestmark = pytest.mark.slow

MOST_S = 0.05
CHARACTERS = 1_000_000
PAGE, PROMPT = 250_000, 500_000
"""Characters of a text on a separate page, and of a prompt."""

# Pieces that are repeated to the size of a place.
PIECES: dict[str, str] = {
    "letters": "a",
    "words": "word ",
    "words of one letter": "a ",
    "lines": "a\n",
    "blanks": " ",
    "surrogates": "\ud800",
    "NUL": "\0",
    "emoji": "👩‍👩‍👧‍👦",
    "digits": "1",
    "numbers": "1 2,",
    "signs": "-",
    "quotes": "'",
    "backslashes": "\\",
    "escapes": "\\n",
    "lists": "[],",
    "open lists": "[",
    "objects": "{'a': ",
    "braces": "{{a}}",
    "headings": "# a\n",
    "quotes in quotes": ">",
    "lists in lists": "* ",
    "cells": "|a",
    "emphasis": "*a _b",
    "links": "[a](b)",
    "pictures": "![",
    "code": "`",
    "tags": "<a",
    "comments": "<!--",
    "entities": "&amp;",
    "a message": "content='a' tool_call_id=",
    "base64": "QUJD",
    "words without blanks": "漢字",
    "comparisons": "a<",
    "sums": "1+",
    "calls": "()",
    "names of names": "a:a,",
    "texts of one letter": "'a',",
    "escapes that there are not": "'\\d',",
    "underscores": "_",
    "open comments": "/* ",
}


def marks(size: int) -> str:
    """A run of combining marks in an order that is not theirs."""
    return "\u0301" * (size // 2) + "\u0323" * (size // 2)


MASKING = Masking([Rule("pattern", "[0-9]+x?"), Rule("pattern", "(a|b)+c"), Rule("pointer", "/a/*/k")])


Work = Callable[[], object]


def well_formed(text: str) -> str:
    return text.encode(errors="replace").decode()


def turn(text: str) -> Work:
    message = json.dumps([{"role": "user", "content": text}, {"role": "assistant", "content": text}])
    recorded = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": message, "gen_ai.output.messages": text}
    batch = export(span(recorded))
    return lambda: [list(texts_in(build_lone_turn([stored]))) for stored in decode(batch).spans]


def json_of(read: Callable[[str], object]) -> Callable[[str], Work]:
    """Make the work of reading a text in JSON; the escapes of some characters are six times as long."""
    return lambda text: partial(read, json.dumps([{"k": text[: len(text) // 6], "l": 1}]))


def difference(text: str) -> Work:
    middle = len(text) // 2
    return lambda: diff_rows(text, f"{text[:middle]}x\n{text[middle:]}")


def searched(text: str) -> Work:
    words = parse("word aa*")
    return lambda: words.places_in(text)


def xml(text: str) -> Work:
    def work() -> None:
        with suppress(Invalid):
            to_xml(text)

    return partial(work)


def statement(text: str) -> Work:
    sql = f"select 1 from t{text}"[: commands.LONGEST]
    return lambda: (kinds.is_sql(sql), commands.sql_reads(sql))


def probed(text: str) -> Work:
    """Make the work of an audit with two list items."""
    items = [TextPiece(0, len(text), text), TextPiece(0, len(text), f"{text}a")]
    return lambda: (entries_of(f"- {text}"), sentences_of(text), [*values_of(text)], exchangeable(*items))


# What reads words: the most characters that it is given, and the work of reading a text.
PLACES: dict[str, tuple[int, Callable[[str], Work]]] = {
    "values.unicode": (CHARACTERS, lambda text: lambda: folded(text)),
    "search: words in a text": (TEXT_MAX, searched),
    "search: a turn": (CHARACTERS // 4, turn),
    "storable: a text": (CHARACTERS, lambda text: lambda: storable_text(text)),
    "storable: JSON": (CHARACTERS, json_of(decode_json)),
    "values: JSON or a text": (CHARACTERS, lambda text: lambda: json_or_text(text)),
    "values: JSON": (CHARACTERS, json_of(json_or_text)),
    "messages": (CHARACTERS, lambda text: lambda: read_text(text, "user")),
    "messages: JSON": (CHARACTERS, json_of(lambda text: read_text(text, "user"))),
    "arguments": (CHARACTERS, lambda text: lambda: recorded_arguments(text)),
    "arguments: a Python dict": (CHARACTERS, lambda text: lambda: recorded_arguments(f"{{'a': '{text}'}}")),
    "arguments: a Python list": (49_000, lambda text: lambda: recorded_arguments(f"{{'a': [{text}]}}")),
    "arguments: Python": (49_000, lambda text: lambda: recorded_arguments(f"{{'a': {text}}}")),
    "arguments: Python in braces": (49_000, lambda text: lambda: recorded_arguments(f"{{{text}}}")),
    "results": (CHARACTERS, lambda text: lambda: recorded_result(text)),
    "results: a tool's message": (
        CHARACTERS,
        lambda text: lambda: recorded_result(f"content='{text}' name='t' tool_call_id='c'"),
    ),
    "masking": (CHARACTERS, lambda text: lambda: MASKING.at(text, ("a",))),
    "masking: JSON": (CHARACTERS, json_of(lambda text: MASKING.at(text, ("a",)))),
    "patterns": (CHARACTERS, lambda text: lambda: Patterns(UNLIMITED).match("(a|b)*c{2,9}", text)),
    "prices: a model's name": (CHARACTERS, lambda text: lambda: key_of(text)),
    "packed_text": (CHARACTERS, lambda text: lambda: unpack(pack(well_formed(text)))),
    "rendering: Markdown to XML": (PROMPT, lambda text: xml(well_formed(text))),
    "presenters: Markdown": (PAGE, lambda text: lambda: to_html(text)),
    "presenters: a text": (CHARACTERS, lambda text: lambda: block(text, PAGE, parse=True).pieces),
    "presenters: JSON": (CHARACTERS, json_of(lambda text: block(text, PAGE, parse=True).pieces)),
    "presenters: a difference": (CHARACTERS, difference),
    "replay: a statement of SQL": (commands.LONGEST, statement),
    "replay: a command": (commands.LONGEST, lambda text: lambda: commands.command_reads(text)),
    "replay: the kind of a text": (CHARACTERS, lambda text: lambda: (kinds.is_code(text), kinds.is_language(text))),
    "audit: a text": (LONGEST_PROBED, probed),
    "exports: CSV": (CHARACTERS, lambda text: lambda: list(csv_lines([{"a": text}], ["a"]))),
    "exports: JSON lines": (CHARACTERS, lambda text: lambda: orjson.dumps({"a": well_formed(text)})),
}


@pytest.mark.parametrize("place", PLACES)
def test_other_threads_run_while_a_hostile_text_is_read(place: str) -> None:
    size, prepare = PLACES[place]
    texts = {name: piece * (size // len(piece)) for name, piece in PIECES.items()} | {"combining marks": marks(size)}
    held = {name: held_s(prepare(text), at_most=MOST_S) for name, text in texts.items()}
    assert not {name: seconds for name, seconds in held.items() if seconds > MOST_S}


def test_what_normalizes_a_run_of_marks_as_a_whole_would_be_seen() -> None:
    assert held_s(lambda: unicodedata.normalize("NFKC", marks(10_000))) > MOST_S
