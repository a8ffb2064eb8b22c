"""No call into C keeps Python's lock for long, whatever the text: health checks and other callers are answered.

Each row names a place that reads words, and is driven with every hostile text.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import signature
from types import FunctionType

import orjson
import pytest

from app.audit import harmless, planted
from app.audit.changes import exchangeable
from app.audit.draw import Draw
from app.audit.probed_text import Conversation, ProbedText
from app.audit.probes import LONGEST_PROBED
from app.audit.tokens import TextPiece, entries_of, sentences_of, values_of
from app.chat import Answer, File, Message
from app.database.packed_text import pack, unpack
from app.errors import Invalid
from app.json_schema.check import breach_of
from app.json_schema.references import Unresolvable
from app.otlp.decode import decode
from app.otlp.logs import decode_logs
from app.otlp.masking import Masking, Rule
from app.otlp.normalise.messages import read_text
from app.otlp.normalise.toolio import recorded_arguments, recorded_result
from app.prices.names import key_of
from app.providers.encoding import decoded
from app.providers.failures import ProviderFailure
from app.providers.openai_answers import OpenAIDecoder
from app.rendering.render import Placeholder, PlaceholderValue, render, to_xml
from app.replay import documents, shell_commands, text_kinds
from app.replay.case_types import CaseTurn, Check, CheckedAnswer, CheckedCall, TestCase
from app.replay.cases import load_case, shown_document
from app.replay.checks import Checker
from app.replay.code_forms import code_note
from app.replay.corrections import Correction, NewStep, corrected
from app.replay.http_requests import request_reads
from app.replay.judge_question import enclosed, fitting, parts, task
from app.replay.judge_replies import read_reply
from app.replay.judge_types import JudgedCall, JudgedTurn, OpenStep, StepEvidence
from app.replay.request_forms import request_form
from app.replay.result_types import ProducedAnswer, ProducedCall
from app.replay.shell_commands import command_reads
from app.replay.sql_statements import sql_reads
from app.replay.text_kinds import kind_of
from app.replay.text_reader import TextReader
from app.replay.texts.sources import Sources
from app.schemas.csv_lines import csv_lines
from app.search.query import parse
from app.sessions.agents import recorded_agent
from app.sessions.build import build_lone_turn
from app.sessions.turn_texts import TEXT_MAX, texts_in
from app.suites import fingerprints
from app.values.budget import UNLIMITED, OverBudget, WorkBudget
from app.values.json import json_or_text
from app.values.regex import Patterns
from app.values.storable import decode_json, storable_text
from app.values.thoughts import separated
from app.values.unicode import folded
from app.web.forms import Form
from app.web.presenters.case_corrections import corrections_sent, demands
from app.web.presenters.diffs import diff_rows
from app.web.presenters.experiment import ShownExperiment
from app.web.presenters.experiment_failures import failures_of
from app.web.presenters.markdown import to_html
from app.web.presenters.marks import marks_of
from app.web.presenters.texts import block
from tests.support.experiments import case, experiment, side
from tests.support.exports import export, pairs_of, span
from tests.support.interpreter import held_s

pytestmark = pytest.mark.slow

MOST_S = 0.05
CHARACTERS = 1_000_000
PAGE, PROMPT = 250_000, 500_000
"""Characters of a text on a separate page, and of a prompt."""
JUDGED = 60_000
"""Characters of a part of a judge's question."""

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
    sql = f"select 1 from t{text}"[: text_kinds.LONGEST]
    return lambda: (text_kinds.is_sql(sql), sql_reads(sql))


def request(text: str) -> Work:
    arguments = {"method": "GET", "url": f"http://a{text}"[: text_kinds.LONGEST]}
    return lambda: (request_reads({key: key for key in arguments}, arguments, runs_only=True), request_form(arguments))


def reference(text: str) -> Work:
    def work() -> None:
        with suppress(Unresolvable, OverBudget):
            breach_of({"$id": f"http://a{text}#", "$ref": f"//b{text}#/x"}, text, WorkBudget())

    return work


def probed(text: str) -> Work:
    """Make the work of an audit with two list items."""
    items = [TextPiece(0, len(text), text), TextPiece(0, len(text), f"{text}a")]
    return lambda: (entries_of(f"- {text}"), sentences_of(text), [*values_of(text)], exchangeable(*items))


def judged(text: str) -> Work:
    """The question to a judge about a text, and a reply that quotes it."""
    step = OpenStep(0, "answer", None, text, f"{text}x", StepEvidence((text,), (text,)))
    turn = JudgedTurn(text, (Message("user", text),), text, (JudgedCall("t", {"a": text}, text),), (step,))
    finding = {"kind": "other", "recorded": text, "produced": text, "matters": True, "why": text}
    reply = json.dumps({"steps": [{"step": 0, "findings": [finding], "verdict": "failed", "reason": text}]})

    def work() -> None:
        enclosed(parts(turn, fitting([step])), lambda: "nonce")
        task([step])
        for answered in (reply, text, f"```json\n{text}\n```"):
            read_reply(Answer(answered), [step], "judge")

    return work


def case_of(text: str) -> TestCase:
    called = CheckedCall(name=text[:100] or "t", arguments={"a": text, "sql": text, "command": text}, result=text)
    return TestCase(turns=(CaseTurn(user=text, steps=(called, CheckedAnswer(text=text))),))


def imported(text: str) -> Work:
    document = documents.dump(case_of(well_formed(text)))
    return lambda: (load_case(document), shown_document(load_case(document), ()))


def corrections(text: str) -> Work:
    recorded, form = case_of(text), Form({"fix.0.1.text": [text], "add.0.1.text": [text]})
    sent = [Correction(turn=0, step=1, text=text), Correction(turn=0, after=1, add=NewStep(text=text))]

    def work() -> None:
        demands(recorded)
        with suppress(Invalid):  # no text of blanks
            corrections_sent(form, recorded)
            corrected(recorded, sent, set())

    return work


def agent(text: str) -> Work:
    tools = json.dumps([{"name": text, "description": text, "parameters": {"description": text}}])
    instruction = json.dumps([{"type": "text", "content": text}])
    recorded = {"gen_ai.operation.name": "chat", "gen_ai.system_instructions": instruction}
    batch = export(span(recorded | {"gen_ai.tool.definitions": tools}))
    return lambda: recorded_agent(decode(batch).spans)


def text_file(text: str) -> Work:
    content = well_formed(text).encode()
    types = ("text/plain", "text/plain; charset=utf-16", "text/plain; charset=shift_jis", "text/plain; charset=hz")

    def work() -> None:
        for media_type in types:
            with suppress(Invalid):
                decoded(File("a.txt", media_type, content))

    return work


def log_records(text: str) -> Work:
    attributes = pairs_of({"content": text, "gen_ai.evaluation.name": text, "gen_ai.evaluation.explanation": text})
    record = {"traceId": "1" * 32, "spanId": "2" * 16, "eventName": "gen_ai.user.message", "attributes": attributes}
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()
    return lambda: decode_logs(body, 1, protobuf=False, limit=100)


def replayed(text: str) -> Work:
    """A comparison of facts and of arguments, within the budget of a replay."""
    checker = Checker(
        {}, lambda: Sources(user=text, results=[text], reader=reader), reader=(reader := TextReader(WorkBudget()))
    )

    def work() -> None:
        for check in ("facts", "meaning", "strict", "json_subset", "contains"):
            checker.compare(CheckedAnswer(text=text, check=Check(answer=check)), ProducedAnswer(f"{text}x"))
        checker.compare(CheckedCall(name="t", arguments={"a": text}), ProducedCall("t", {"a": f"{text}x"}))
        kind_of("a", {}, text, "write")
        command_reads(text)
        sql_reads(text)

    return work


def experiment_page(text: str) -> Work:
    """The page of an experiment and its comment, with the reasons of a failing replay."""
    failing = case(1, text, "regressed", side(0, 1, first_replay=7), side(4, 4))
    finding = {"kind": "other", "recorded": text, "produced": text, "matters": True, "why": text}
    step = {
        "kind": "answer",
        "result": "failed",
        "expected": text,
        "actual": text,
        "reason": text,
        "findings": [finding],
    }
    results = {7: {"turns": [{"steps": [step], "extra": []}], "violations": []}}
    shown = ShownExperiment(experiment([failing], verdict="failed"))
    return lambda: (failures_of([failing], results), shown.markdown(results), shown.title)


def fingerprint(text: str) -> Work:
    """The fingerprint of a conversation of 60 such texts, in which each text has other words."""
    texts = [f"{text[number:]} {number}" for number in range(60)]
    return lambda: fingerprints.make(turns=60, calls=[], texts=texts)


def changed_by_audit(text: str) -> Work:
    """Changes that an audit makes of an answer."""
    conversation = Conversation(text, (text,), ({"a": text},), (text,))
    changes = [change for module in (harmless, planted) for change in vars(module).values() if _is_change(change)]
    return lambda: [change(ProbedText(text, text, [text], conversation), Draw("audit")) for change in changes]


def _is_change(member: object) -> bool:
    return isinstance(member, FunctionType) and [*signature(member).parameters] == ["passage", "draw"]


def streamed(text: str) -> Work:
    """An answer of a vendor, with thoughts in its text and a call that has it; of too many elements it is refused."""
    called = {"index": 0, "id": "c", "function": {"name": "t", "arguments": json.dumps({"a": text})}}
    event = {"choices": [{"delta": {"content": f"<think>{text}</think>{text}", "tool_calls": [called]}}]}

    def work() -> None:
        decoder = OpenAIDecoder()
        with suppress(ProviderFailure):
            decoder.read_event(event)
            decoder.read_event({"choices": [{"finish_reason": "stop", "delta": {}}]})
            decoder.end()

    return work


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
    "replay: a statement of SQL": (text_kinds.LONGEST, statement),
    "replay: a command": (text_kinds.LONGEST, lambda text: lambda: shell_commands.command_reads(text)),
    "replay: a program": (text_kinds.LONGEST, lambda text: lambda: code_note(f"a{text[2:]}=1", f"a{text[2:]}=2")),
    "replay: a request": (text_kinds.LONGEST, request),
    "replay: the kind of a text": (
        CHARACTERS,
        lambda text: lambda: (text_kinds.is_code(text), text_kinds.is_language(text)),
    ),
    "audit: a text": (LONGEST_PROBED, probed),
    "values.thoughts": (CHARACTERS, lambda text: lambda: (separated(text), separated(f"<think>{text}"))),
    "results: MCP": (CHARACTERS, lambda text: lambda: recorded_result({"content": [{"type": "text", "text": text}]})),
    "results: MCP in JSON": (
        CHARACTERS,
        json_of(lambda text: recorded_result(json.dumps({"content": [{"type": "text", "text": text}]}))),
    ),
    "log records": (CHARACTERS // 4, log_records),
    "agents: a draft": (CHARACTERS // 4, agent),
    "test cases: an import": (CHARACTERS // 4, imported),
    "test cases: corrections": (CHARACTERS // 4, corrections),
    "judges: a question and a reply": (JUDGED, judged),
    "replays: a comparison": (JUDGED, replayed),
    "experiments: a page and a comment": (JUDGED, experiment_page),
    "audits: changes of an answer": (LONGEST_PROBED, changed_by_audit),
    "suites: the fingerprint of a conversation": (CHARACTERS, fingerprint),
    "runs: a text file": (CHARACTERS, text_file),
    "runs: an answer": (CHARACTERS // 4, streamed),
    "rendering: placeholders": (
        PROMPT,
        lambda text: lambda: render(text, "RAW", [Placeholder("a", (PlaceholderValue("v", text[:100], True),))], {}),
    ),
    "json_schema: patterns and formats": (
        CHARACTERS // 4,
        lambda text: lambda: breach_of({"pattern": "(a|b)*c{2,9}", "enum": [f"{text}x"]}, text, WorkBudget()),
    ),
    "json_schema: a reference": (CHARACTERS // 4, reference),
    "presenters: marks of a search": (PAGE, lambda text: lambda: marks_of("word aa*").pieces(text)),
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
