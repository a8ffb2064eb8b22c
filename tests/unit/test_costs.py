"""Twice the input needs at most about twice the steps, on the worst shape that a caller, a model or a trace can send.

Each row names a function and a shape. Cores with a separate test of their costs have no row here:
sessions, inflated bodies, JSON Schemas, diffs, replays and the search.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from functools import partial
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from app.chat import Tokens
from app.otlp.logs import decode_logs
from app.otlp.masking import Masking, Rule
from app.otlp.normalise.spread import gather
from app.otlp.normalise.toolio import recorded_arguments, result_in_block
from app.prices.book import NO_PRICES
from app.prices.types import CalledModel, total
from app.providers.bounds import AnswerReader
from app.providers.openai_answers import OpenAIDecoder
from app.rendering.render import Placeholder, PlaceholderValue, filled_length, to_xml
from app.schemas.answer import dump
from app.schemas.csv_lines import csv_lines
from app.schemas.histories import History
from app.schemas.prompts import PlaceholdersFound
from app.services.ingest.observed import ObservedSums
from app.sessions.facts import TurnFacts, load
from app.sessions.figures import count
from app.values.json import json_or_text, too_deep
from app.values.storable import decode_json, storable_text
from app.web.presenters.markdown import to_html
from app.web.presenters.prompt_editor import PlaceholderFields, PromptFields, preview_of
from app.web.presenters.replay_violations import placed_violations
from app.web.presenters.session import ShownSpan, Turn, conversation, depths
from app.web.presenters.texts import block, folds
from tests.support.exports import pairs_of
from tests.support.operations import CountedText, calls_of, growth_of

pytestmark = pytest.mark.slow

Work = Callable[[], object]


def unpriced(size: int) -> list[Any]:
    return [NO_PRICES.bill(CalledModel("acme", f"model {number}"), Tokens(1, 1)) for number in range(size)]


def facts(size: int) -> list[TurnFacts]:
    calls = [["acme", f"model {number}", 0, 1, {"input_tokens": 1}] for number in range(size)]
    turns = [{"start_ns": 0, "end_ns": 1, "span_count": 1, "calls": [call]} for call in calls]
    return [load(orjson.dumps(turn)) for turn in turns]


def sums_of_models(size: int) -> list[ObservedSums]:
    return [ObservedSums(bill=bill) for bill in unpriced(size)]


def call(name: str, arguments: Any) -> dict[str, Any]:
    return {"kind": "tool_call", "name": name, "arguments": arguments, "answeredBy": "none"}


def violations(size: int, *, equal: bool) -> Work:
    arguments = [{"n": CountedText("1" if equal else number)} for number in range(size)]
    listed = [{"kind": "extra_write", "tool": "t", "turn": 0, "arguments": one, "message": ""} for one in arguments]
    result = {"turns": [{"steps": [], "extra": [call("t", one) for one in reversed(arguments)]}], "violations": listed}
    return lambda: placed_violations(result)


def preview(size: int) -> Work:
    keys = [CountedText(f"key_{number}") for number in range(size)]
    placeholders = tuple(PlaceholderFields(key) for key in keys)
    fields = PromptFields("p", "", "m", "", {}, "STRICT", "", placeholders)
    undefined = [CountedText(f"other_{number}") for number in range(size)]
    rendered = SimpleNamespace(instruction="", undefined=undefined, resolved={})
    return lambda: preview_of(SimpleNamespace(rendered=rendered), fields, {})  # type: ignore[arg-type]


def unused_placeholders(size: int) -> Work:
    value = PlaceholderValue("v", "")
    placeholders = tuple(Placeholder(CountedText(f"unused_{number}"), (value,)) for number in range(size))
    content = SimpleNamespace(value="".join(f"{{{{k{number}}}}}" for number in range(size)), placeholders=placeholders)
    return lambda: dump(PlaceholdersFound, content)


def spans(size: int) -> Turn:
    """Each span is within the next one."""
    listed = tuple(
        ShownSpan(f"{n}", f"{n + 1}", "s", "chat", n, n, "failed", {}, reasoning="x", text_with_calls="y")
        for n in range(size)
    )
    return Turn("t", 0, size, None, (), spans=listed)


def streamed(size: int) -> Work:
    chunk = {"choices": [{"delta": {"content": "x", "tool_calls": [{"index": 0, "function": {"arguments": "[" * 3}}]}}]}
    end = {"choices": [{"finish_reason": "stop", "delta": {}}]}

    def work() -> None:
        decoder = OpenAIDecoder()
        for _ in range(size):
            decoder.read_event(chunk)
        decoder.read_event(end)
        decoder.end()

    return work


def bytes_one_by_one(size: int) -> Work:
    event = b"data: " + b"x" * 20 * size + b"\n\n"
    pieces = [event[at : at + 16] for at in range(0, len(event), 16)]
    return lambda: list(AnswerReader(200, None, answer_bytes=10**9, streamed=True).read_all(pieces))


def records(size: int) -> bytes:
    record = {
        "traceId": "1" * 32,
        "spanId": "2" * 16,
        "eventName": "gen_ai.user.message",
        "attributes": pairs_of({"content": "x"}),
    }
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record] * size}]}]}).encode()


def in_texts(levels: int, text: str) -> str:
    """JSON in a text of JSON, `levels` times."""
    for _ in range(levels):
        text = json.dumps([text])
    return text


def masked(rules: list[Rule], value: Any) -> Work:
    masking = Masking(rules)
    return lambda: masking.at(value, ("a",))


PATTERN, POINTER = Rule("pattern", "b+"), Rule("pointer", "/a/*/k")


def history(size: int) -> Work:
    ids = [CountedText(f"c{number}") for number in range(size)]
    calls = [{"id": call_id, "name": "t", "arguments": {}} for call_id in ids]
    results = [{"role": "tool", "text": "", "toolCallId": call_id} for call_id in reversed(ids)]
    sent = [{"role": "user", "text": "q"}, {"role": "assistant", "text": "", "toolCalls": calls}, *results]
    return lambda: History().deserialize(sent)


# What these copied, when they did, no call shows.
COPIES: dict[str, Callable[[int], Work]] = {
    "prices.total: each bill lacks another model": lambda n: partial(total, unpriced(n)),
    "observed.ObservedSums.of: each sum lacks another model": lambda n: partial(ObservedSums.of, sums_of_models(n)),
    "figures.count: each turn calls another model": (lambda n: partial(count, date(2026, 1, 1), facts(n), NO_PRICES)),
}
CALLS: dict[str, Callable[[int], Work]] = {
    "presenters.replay: equal calls": lambda n: violations(n, equal=True),
    "presenters.replay: different calls, in the other order": lambda n: violations(n, equal=False),
    "presenters.prompt_editor: undefined slots and placeholders without a value": preview,
    "schemas.prompts: slots and placeholders that are not used": unused_placeholders,
    "presenters.session.conversation: spans that failed": lambda n: partial(conversation, spans(n)),
    "presenters.session.depths: each span within the next": lambda n: partial(depths, spans(n)),
    "presenters.texts.block: JSON of many lines": lambda n: lambda: block(json.dumps([[]] * 9 * n), parse=True),
    "presenters.texts.folds: nested JSON": (lambda n: lambda: list(folds("\n".join([*[" {"] * n, *[" }"] * n])))),
    "presenters.markdown: a quote in a quote": lambda n: lambda: to_html(">" * n),
    "presenters.markdown: rows of a wide table": lambda n: (
        lambda: to_html("|a" * 20 + "\n" + "|-" * 20 + "\na" * (n // 4))
    ),
    "presenters.markdown: a table that grows both ways": (
        lambda n: lambda: to_html("|a" * 4 * n + "\n" + "|-" * 4 * n + "\na" * 4 * n)
    ),
    "presenters.markdown: brackets that nothing closes": lambda n: lambda: to_html("[" * 8 * n),
    "rendering.to_xml: headings": lambda n: lambda: to_xml("# a\n" * n),
    "rendering.to_xml: marks in titles": lambda n: lambda: to_xml("# [*a_`<&\n" * n),
    "rendering.to_xml: nested lists": lambda n: lambda: to_xml("* " * n),
    "rendering.filled_length: equal slots": lambda n: lambda: filled_length("{{k}}" * 8 * n, {"k": 7}),
    "schemas.histories: calls that are answered in the other order": lambda n: history(n),
    "schemas.csv_lines: records": lambda n: lambda: list(csv_lines(({"a": "=x\n"} for _ in range(n)), ["a"])),
    "providers.openai_wire: pieces of one character": streamed,
    "providers.bounds: an event in small pieces": bytes_one_by_one,
    "otlp.logs: equal records": lambda n: partial(decode_logs, records(n), 1, protobuf=False, limit=10**6),
    "otlp.numbered: numbered attributes": lambda n: lambda: gather({f"p.{i}.x.{i}.y": 1 for i in range(n)}, "p."),
    "otlp.numbered: no numbers": lambda n: lambda: gather({f"p.x{i}.{'a.' * 14}y": 1 for i in range(n)}, "p."),
    "otlp.values: many lists in a list": lambda n: lambda: too_deep([[[]] * 4 for _ in range(n)]),
    "otlp.values: JSON of empty lists": lambda n: lambda: json_or_text("[" + "[]," * 4 * n + "[]]"),
    "otlp.toolio: the text of a dict": lambda n: lambda: recorded_arguments(f"{{'a': [{'None, ' * n}0]}}"),
    "otlp.toolio: escapes in a message": (
        lambda n: lambda: result_in_block("content='" + r"\n" * 8 * n + "' name='t' tool_call_id='c'")
    ),
    "otlp.masking: texts": lambda n: masked([PATTERN], ["abc"] * n),
    "otlp.masking: places in one text": lambda n: masked([PATTERN], "ab" * n),
    "otlp.masking: members": lambda n: masked([POINTER], [{"k": "x", "l": "y"}] * n),
    "otlp.masking: JSON in texts": lambda n: masked([PATTERN, POINTER], in_texts(6, "abc" * 8 * n)),
    "otlp.masking: escapes": lambda n: masked([PATTERN], "\\\\u005cn" * n),
    "storable.decode_json: numbers": lambda n: lambda: decode_json(f"[{'12345678901234567890123,' * n}1]"),
    "storable.storable_text: halves of pairs": lambda n: lambda: storable_text("\ud800" * 8 * n),
}


@pytest.mark.parametrize("name", CALLS)
def test_twice_the_input_needs_at_most_about_twice_the_calls(name: str) -> None:
    bound = 2.1 * calls_of(CALLS[name](200)) + 20
    assert calls_of(CALLS[name](400), at_most=bound) <= bound


@pytest.mark.parametrize("name", COPIES)
def test_twice_the_input_needs_at_most_about_twice_the_copies(name: str) -> None:
    assert growth_of(COPIES[name], 60) <= 2.2
