"""What reads batches and sessions does about twice the work for twice of each, in each of its functions."""

from __future__ import annotations

import gzip
import json
from datetime import date
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import structs

from app.otlp.answers import reason_phrase
from app.otlp.codex import spans_of_records
from app.otlp.decode import decode
from app.otlp.decode_protobuf import decode_protobuf
from app.otlp.evaluations import evaluations_in
from app.otlp.inflate import inflate
from app.otlp.logs import decode_logs, events_of
from app.otlp.masking import Masking, Rule, checked
from app.otlp.normalise.fields import read_fields, read_object
from app.otlp.span import Span, explain, reject_unknown_prompts, with_prompts_of_names
from app.prices.book import NO_PRICES
from app.schemas.answer import dumper
from app.schemas.traces import TurnSchema
from app.sessions.agents import recorded_agent
from app.sessions.build import build_lone_turn, build_session
from app.sessions.capture import capture_advice
from app.sessions.facts import TurnFacts, dump, load, merge, opening_of, recounted
from app.sessions.figures import Figures, count, quantile, quantile_interval, total
from app.sessions.grouping import grouping_advice
from app.sessions.model_calls import CallSums, ModelCalls, calls_in, difference
from app.sessions.pieces import in_start_order
from app.sessions.placeholder_proposals import merged, propose
from app.sessions.spans import _readable_fields
from app.sessions.sums import SessionTotals, names_in, names_of
from app.sessions.turn_texts import texts_in
from app.sessions.types import Usage
from tests.support.cores import Core, Make
from tests.support.exports import export, span
from tests.support.growth import Work
from tests.support.protobuf import logs as log_message
from tests.support.protobuf import traces as trace_message
from tests.unit.costs import traces
from tests.unit.costs.conftest import cost_tests

pytestmark = pytest.mark.slow

PROMPT_ID = 4242
MASKING = Masking(
    [Rule("pattern", "[a-z]x"), Rule("pointer", "/*/*/k"), Rule("pointer", "/gen_ai.input.messages/*/content")]
)


def read(*batches: bytes) -> Work:
    """Do all that is done with batches on their way in, and with a session on its way out."""
    messages = [trace_message(batch) for batch in batches]

    def work() -> None:
        for batch, message in zip(batches, messages, strict=True):
            if spans := decode(batch, PROMPT_ID).spans:
                read_spans(spans, decode_protobuf(message, PROMPT_ID).spans)

    return work


def read_spans(spans: list[Span], of_protobuf: list[Span]) -> None:
    facts = recounted(merge(TurnFacts.of(spans), TurnFacts.of(spans[: len(spans) // 2 + 1])), spans)
    count(date(2026, 1, 1), [load(dump(facts))], NO_PRICES)
    list(texts_in(build_lone_turn(in_start_order(of_protobuf))))
    list(map(dumper(TurnSchema), build_session([spans])))
    recorded_agent(spans)
    for stored in (*spans, *of_protobuf):
        MASKING.span(bytes(stored.raw))


def nested_circle(size: int) -> bytes:
    """Answers of agents, each within the next, none of which is within a tool."""
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.usage.input_tokens": 1,
        "gen_ai.output.messages": '[{"role":"assistant","content":"x"}]',
    }
    spans = (span(agent, spanId=f"{n:016x}", parentSpanId=f"{n % size + 1:016x}") for n in range(1, size + 1))
    return export(*spans)


def wide(size: int) -> bytes:
    """A model call with as many placeholders, versions, parts, calls and definitions."""
    media = {"type": "uri", "modality": "image", "uri": "https://a.b/c"}
    calls = [
        {"type": "tool_call", "id": f"c{n}", "name": "t", "arguments": {f"k{k}": k for k in range(9)}}
        for n in range(size)
    ]
    texts = [{"type": "text", "content": "\u0301\u0323 a"}] * size
    said = [{"role": "assistant", "parts": [*texts, *[media] * size, *calls]}]
    asked = [{"role": "system", "parts": texts}, {"role": "user", "parts": [*texts, media]}, *said]
    recorded = {
        "gen_ai.input.messages": json.dumps(asked * 2),
        "gen_ai.output.messages": json.dumps(said),
        "gen_ai.usage.raw": json.dumps({"promptTokensDetails": [{"modality": "TEXT"}] * size, "audio": 0}),
        "gen_ai.tool.definitions": json.dumps([{"name": f"t{n}", "parameters": {}} for n in range(size)]),
        **{f"service.prompt.placeholders.k{n}": "v" for n in range(size)},
    }
    return export(span({"gen_ai.operation.name": "chat"} | recorded))


def conversation_in_one_trace(size: int) -> bytes:
    """Model calls with long histories, below as many spans of a program."""
    asked, answered = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
    chain = [span({}, spanId=f"{n + 1:016x}", parentSpanId=f"{n:016x}") for n in range(1, size)]
    history = [[asked], [*[answered] * size, asked, answered, {"role": "user", "content": "c"}]]
    chats = [
        span(
            {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(history[min(n, 1)])},
            spanId=f"{size + n + 1:016x}",
            parentSpanId=f"{size:016x}",
            startTimeUnixNano=str(n + 1),
        )
        for n in range(8)
    ]
    return export(*chain, *chats)


def with_events(size: int) -> bytes:
    result = {"gen_ai.evaluation.name": "n", "gen_ai.evaluation.score.value": 1}
    return export(
        span({}, events=traces.events("gen_ai.evaluation.result", result, size), links=[{"traceId": "1" * 32}] * size)
    )


def in_own_names(size: int) -> bytes:
    """Spans in names of their libraries, with as many events, values below a name, tools and instructions."""
    texts = [json.dumps({"system": "a"})] * size + [json.dumps({"tools": [{"tool_name": "t"}] * size})]
    logged = {f"k{n}": 1 for n in range(size)} | {"input": texts}
    others = traces.events("other", {f"k{n}": 1 for n in range(9)}, size)
    below = {f"acme.data.inputs.prompt.{n}.content": '@ag.type=json:{"a": 1}' for n in range(size)}
    offered = {f"gen_ai.tool.0.function.{n}.name": "t" for n in range(size)}
    instruction = {f"gen_ai.prompt.system.{n}.content": "a" for n in range(size)}
    call = {"name": "t", "arguments": {}} | {f"k{n}": 1 for n in range(size)}
    kinds: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        ({"span.type": "inference"}, [*others, *traces.events("data.input", logged, 1), *others]),
        ({"gen_ai.operation.name": "chat"}, others),
        ({"acme.type.node": "chat"} | below, []),
        ({"acme.type.node": "tool", "tool.name": "t"}, others),
        ({"acme.type.node": "tool", "tool.name": "t", "acme.data.inputs": json.dumps(call)}, []),
        ({"gen_ai.prompt.0.content": "a"} | offered | instruction, []),
    ]
    return export(*(span(named, spanId=f"{n + 1:016x}", events=logs) for n, (named, logs) in enumerate(kinds)))


def nested_values(size: int) -> bytes:
    return export(span({"a": [[n, {"k": "é"}] for n in range(size)], "b": {f"k{n}": [n] for n in range(size)}}))


def rejected(size: int) -> Work:
    spans = decode(export(*(span(spanId=f"{n:016x}") for n in range(1, size))), 1).spans
    named = [msgspec.structs.replace(one, prompt_id=0, prompt_name=f"n{n}") for n, one in enumerate(spans)]

    def work() -> None:
        explain([*reject_unknown_prompts(spans, set())[1], *with_prompts_of_names(named, {})[1]])
        explain(with_prompts_of_names(named, {"n0": [1]})[1])

    return work


def facts(size: int) -> Work:
    """Facts of as many models, tools, versions and turns."""

    def turn(number: int) -> TurnFacts:
        models = (
            {"gen_ai.operation.name": "chat", "gen_ai.request.model": f"m{n}", "service.prompt.version": f"{n}"}
            for n in range(number, number + size // 4)
        )
        named = [span(model, spanId=f"{n + 1:016x}") for n, model in enumerate(models)]
        return TurnFacts.of(decode(export(*named)).spans)

    one, other = turn(0), turn(size)
    calls = [ModelCalls("p", f"m{n}", 0, 1, Usage(n)) for n in range(4 * size)]

    def work() -> None:
        both = merge(one, other)
        both.bill(NO_PRICES)
        names_in(names_of(both), "model")
        difference(one.calls, other.calls)
        lines = CallSums(calls).lines
        calls_in(lines).bill(NO_PRICES)
        assert calls_in(lines).usage
        totals = SessionTotals()
        few = structs.replace(both, calls=both.calls[:2])
        for _ in range(size):
            totals.add(few, few)

    return work


def sketches(size: int) -> Work:
    figures = [Figures(sessions=1, latency={n: 1}, cost={n % 7: 2}) for n in range(size)]

    def work() -> None:
        together = total([*figures, figures[0].negative])
        quantile(together.latency, 0.9)
        quantile_interval(together.latency, 0.5)

    return work


def in_members(size: int) -> Work:
    """A body that is compressed in as many parts."""
    body = gzip.compress(b"x" * 100) * size
    return lambda: inflate(body, "gzip", limit=10**9)


def rules(size: int) -> Work:
    kinds = [[Rule("pattern", f"{n}x"), Rule("pointer", f"/k{n}/a/b")] for n in range(size)]
    return lambda: checked([rule for of_kind in kinds for rule in of_kind]).at([{"k": "x"}], ("a",))


def spans_of(size: int) -> list[Span]:
    return decode(export(*(span({"gen_ai.operation.name": "chat"}, spanId=f"{n:016x}") for n in range(1, size)))).spans


def instructions(size: int) -> Work:
    """Instructions of one template, with a value after each word, of which two are the same."""
    draft, *recorded = (" ".join(f"word{n} is {n * k}." for n in range(2 * size)) for k in (1, 2, 3, 3))

    def work() -> None:
        found = propose(draft, recorded, {})
        assert found.varying
        list(found.rewritten(found.varying))
        [proposal.sessions for _, proposal in found.by_piece]
        merged(draft, recorded[0], {})

    return work


def nothing_readable(size: int) -> Work:
    """A span of which the fields have other types than the standard's."""
    stored = SimpleNamespace(raw=json.dumps(span({f"k{n}": n for n in range(size)}, kind=[])).encode())
    return lambda: _readable_fields(stored.raw)


def read_logs(batch: bytes) -> Work:
    message = log_message(batch)

    def work() -> None:
        for body, protobuf in ((batch, False), (message, True)):
            decoded = decode_logs(body, PROMPT_ID, protobuf=protobuf, limit=10**6)
            decoded.explain()
            events_of([(record.span_id, record.raw) for record in decoded.records])

    return work


def read_codex(batch: bytes) -> Work:
    message = log_message(batch)

    def work() -> None:
        for body, protobuf in ((batch, False), (message, True)):
            batches = spans_of_records(body, PROMPT_ID, protobuf=protobuf)
            build_session([decode(batch, PROMPT_ID).spans for batch in batches])

    return work


def typed_fields(size: int) -> bytes:
    """A call with as many messages in which a user typed DSPy's fields, after as many instructions without any."""
    said = [(role, f"{begin}{n}") for role, begin in (("system", ""), ("user", "[[ ## a ## ]]\n")) for n in range(size)]
    messages = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said]
    return export(span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)}))


def _evaluations(batch: bytes) -> None:
    for stored in decode(batch).spans:
        list(evaluations_in(bytes(stored.raw)))


WORKS: dict[str, Make] = {
    **{make.__name__: lambda size, make=make: read(make(size)) for make in traces.MADE},
    "recorded batches with longer lists": lambda size: read(*traces.longer_lists(size)),
    "the forms of other vendors": lambda size: read(*traces.other_forms(size)),
    "records of Codex": lambda size: read_codex(traces.records_of_codex(size)),
    "records of coding agents": lambda size: read_codex(traces.records_of_coding_agents(size)),
    "messages that were moved to a record": lambda size: read_logs(traces.moved_messages(size)),
    **{name: lambda size, make=make: read_logs(make(size)) for name, make in traces.logs().items()},
    "fields of a program": lambda size: lambda: read_fields("user", "[[ ## a ## ]]\nb\n" * size),
    "fields that a user types": lambda size: read(typed_fields(size)),
    "outputs of a program": lambda size: partial(read_object, json.dumps({f"k{n}": n for n in range(size)})),
    "a conversation in one trace": lambda size: read(conversation_in_one_trace(size)),
    "answers of agents in a circle": lambda size: read(nested_circle(size)),
    "a call with much of everything": lambda size: read(wide(size // 2)),
    "events": lambda size: read(with_events(size)),
    "own names": lambda size: read(in_own_names(size)),
    "evaluations": lambda size: partial(_evaluations, with_events(size)),
    "nested values": lambda size: read(nested_values(size)),
    "conversations": lambda size: read(
        export(*(span({"session.id": f"c{n}"}, spanId=f"{n + 1:016x}") for n in range(size)))
    ),
    "rejected spans": rejected,
    "facts": facts,
    "sketches": sketches,
    "members of a body": in_members,
    "rules": rules,
    "escapes": lambda size: partial(MASKING.text, r"a\\u005cn" * size),
    "rules for escapes": lambda size: partial(Masking([Rule("pattern", "[a-z]x")] * size).text, r"a\n"),
    "a large pattern": lambda size: partial(Masking([Rule("pattern", "[ab]{200}c")]).text, "x" * 16_384 * size),
    "unreadable": nothing_readable,
    "instructions": instructions,
    "openings": lambda size: partial(opening_of, spans_of(size), {}),
    "turns": lambda size: partial(build_session, [[one] for one in spans_of(size)]),
    "a reason": lambda size: partial(reason_phrase, "é " * size),
    "scopes": lambda size: (
        lambda: (
            capture_advice([f"opentelemetry.instrumentation.{n}" for n in range(size)]),
            grouping_advice([f"scope {n}" for n in range(size)]),
        )
    ),
}

# Only texts of more than a thousand characters are walked before they are parsed.
JUMPS = {"values/json:too_deep", "values/json:_children"}
CORE = Core(("otlp", "sessions"), WORKS, size=40, jumps=JUMPS)
NOT_GROWING: dict[str, set[str]] = {
    "loop over a table of the module, or over two or three things": {
        "otlp/codex:_batch",
        "otlp/codex:_of_others",
        "otlp/codex:_recorded",
        "otlp/keyed:_keyed_class",
        "otlp/escapes:unescaped",
        "otlp/names:user_of",
        "otlp/normalise/bodies:has_messages",
        "otlp/normalise/fields:_outputs",
        "otlp/normalise/frameworks:ClaudeCode.input_tokens",
        "otlp/normalise/frameworks:ClaudeCode.tool",
        "otlp/normalise/vendors:_google_count",
        "otlp/normalise/genai:_body",
        "otlp/normalise/haystack:Haystack.tool",
        "otlp/normalise/livekit:_keys",
        "otlp/normalise/messages:_is_message",
        "otlp/normalise/messages:_list_in",
        "otlp/normalise/numbered:Indexed.tool",
        "otlp/normalise/numbered:_messages",
        "otlp/normalise/own_names:_facts",
        "otlp/normalise/own_names:_first",
        "otlp/normalise/own_names:_has_any",
        "otlp/normalise/parts:_is_block",
        "otlp/normalise/parts:_is_certain",
        "otlp/normalise/readers:Readers.__init__",
        "otlp/normalise/readers:Readers._reading",
        "otlp/normalise/readers:known_names",
        "otlp/normalise/responses:_response_with_call",
        "otlp/normalise/tokens:_count",
        "otlp/normalise/tokens:_groups",
        "otlp/normalise/tokens:_is_counted",
        "otlp/normalise/tokens:_parts",
        "otlp/normalise/modalities:_count",
        "otlp/normalise/modalities:_details_of",
        "otlp/normalise/modalities:_in_object",
        "otlp/normalise/modalities:_of_counts",
        "otlp/normalise/modalities:modality_tokens",
        "otlp/normalise/tokens:_recorded",
        "otlp/normalise/tokens:_usages",
        "otlp/normalise/tokens:counts_of",
        "otlp/normalise/toolio:_unpacked",
        "sessions/agents:_parameters",
        "sessions/agents:_response_format",
        "sessions/agents:_sources",
        "sessions/build:build_lone_turn",
        "sessions/recounting:may_share_calls",
        "sessions/facts:merge",
        "sessions/figures:Figures.negative",
        "sessions/figures:count",
        "sessions/steps:span_error",
    },
    "stop at the first that they find, or after a few": {
        "otlp/prompt_ids:_named_prompt_id",
        "otlp/logs:DecodedLogs.explain",
        "otlp/normalise/frameworks:_logged",
        "otlp/normalise/frameworks:_tool_output",
        "otlp/normalise/flows:_content",
        "otlp/normalise/genai:_in_text",
        "otlp/normalise/numbered:OpenInference.output_messages",
        "otlp/normalise/streams:_Message._add_call",
        "otlp/span:_explain_group",
        "sessions/build:_under_way",
        "sessions/facts:_first_opening",
        "sessions/placeholder_proposals:Proposals.rewritten",
        "sessions/placeholder_proposals:Proposals.varying",
        "sessions/placeholder_proposals:_Finder._proposal",
        "sessions/placeholder_proposals:_Finder.proposals",
        "sessions/placeholder_proposals:unused",
    },
    "are one pass of C": {
        "sessions/facts:_kept",
        "sessions/recounting:has_several_calls",
        "sessions/figures:quantile",
        "sessions/figures:quantile_interval",
        "sessions/sums:_text",
        "sessions/sums:with_names",
    },
    # Linear by reading. A work that drives one of them removes it from this list.
    "are one pass over the parts of one value that no work makes larger yet": {
        "otlp/normalise/__init__:_calls",
        "otlp/normalise/calls:_others",
        "otlp/normalise/fields:_asked",
        "otlp/normalise/fields:_text",
        "otlp/normalise/messages:_encoded",
        "otlp/normalise/flows:Langflow.output_messages",
        "otlp/normalise/frameworks:OtherWords.output_messages",
        "otlp/normalise/numbered:OpenInference.definitions",
        "otlp/normalise/numbered:_decoded",
        "otlp/normalise/numbered:_offered",
        "otlp/normalise/numbered:_prompts",
        "otlp/normalise/numbered:_with_all_results",
        "otlp/normalise/frameworks:FutureAGI.output_messages",
        "otlp/normalise/streams:_chunks",
        "otlp/normalise/streams:_dicts",
        "otlp/normalise/streams:message_of_stream",
        "otlp/normalise/streams:_Message.fields",
        "otlp/normalise/streams:_Message.add",
        "otlp/normalise/streams:_Message._add_delta",
        "otlp/normalise/parts:_are_parts",
        "otlp/normalise/responses:_others",
        "otlp/normalise/toolio:_out_of",
        "otlp/normalise/vendors:CodeFunction.tool",
        "otlp/normalise/vendors:VercelAI.definitions",
        "otlp/protobuf:count_elements",
        "otlp/span:lenient_span",
        "sessions/placeholder_proposals:PlaceholderProposal.sessions",
        "sessions/same_calls:_has_words",
        "sessions/placeholder_proposals:_Finder._is_proposable",
        "sessions/placeholder_proposals:_changed_once",
        "sessions/placeholder_proposals:_named",
        "sessions/later_questions:_begins",
    },
}

(
    test_twice_the_input_is_at_most_about_twice_the_work_of_each_function,
    test_each_function_that_loops_is_counted_or_has_a_reason,
    test_each_reason_is_about_a_function_that_loops,
) = cost_tests(CORE, NOT_GROWING, may_grow=True)


def test_a_function_that_no_work_makes_loop_is_seen() -> None:
    assert "otlp/decode:decode" in Core(("otlp",), {}, size=40).unseen()
