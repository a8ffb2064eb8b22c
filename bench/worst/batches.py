"""Batches of spans that are dear to decode, to relate to each other, to mask or to reject."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable

from app.errors import Invalid, TooLarge
from app.otlp.inflate import inflate
from bench.worst import texts
from bench.worst.case import Ask, Case, worst
from bench.worst.stage import Stage
from bench.worst.texts import attribute, batch, span

TRACES = "POST /api/public/otel/v1/traces"
MIB = 1024 * 1024
# The largest body of a batch, compressed and decompressed.
WIRE, PLAIN = 20 * MIB, 64 * MIB
GZIP = {"Content-Encoding": "gzip"}
CHAT = attribute("gen_ai.operation.name", "chat")
OF_PROMPT = "POST /api/public/prompts/{prompt_id}/otel/v1/traces"
MANY = 60_000  # spans or records
_plain_bytes: dict[Case, int] = {}


def note(case: Case, ask: Ask) -> None:
    """Remember how many bytes a batch has once it is inflated; a batch that is refused counts with its size.

    The service's function reads it, because `gzip.decompress` copies the rest of the batch for each member.
    """
    if case.route in (TRACES, OF_PROMPT, *LOGS):
        try:
            body = inflate(ask.body, ask.headers.get("Content-Encoding", ""), limit=PLAIN)
        except (Invalid, TooLarge):
            body = ask.body
        _plain_bytes[case] = max(1, len(body))


def show(taken: Iterable[tuple[float, int, Case]]) -> None:
    """Print the seconds of a processor for each MiB of those batches of which they are the most."""
    by_case = [(took / (_plain_bytes[case] / MIB), case) for took, _, case in taken if _plain_bytes.get(case, 0) >= MIB]
    if by_case:
        print("seconds of a processor for each MiB of a batch, the dearest 10:")
    for seconds, case in sorted(by_case, key=lambda row: -row[0])[:10]:
        print(f"  {seconds:6.3f}  {case.route}  {case.name}")


def _zipped(body: bytes) -> Ask:
    return Ask(body=gzip.compress(body, 1), headers=GZIP)


def _message(number: int, content: bytes) -> bytes:
    """Return a field of a protobuf message: bytes, a text or another message."""
    size, prefix = len(content), bytearray([number << 3 | 2])
    while size > 0x7F:
        prefix.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes(prefix) + bytes([size]) + content


def _protobuf(*spans: bytes) -> Ask:
    """An export of spans to the address of the stage's prompt."""
    body = _message(1, _message(2, b"".join(_message(2, encoded) for encoded in spans)))
    return Ask(body=gzip.compress(body, 1), headers=GZIP, content_type="application/x-protobuf")


def _head(number: int) -> bytes:
    """A span without attributes."""
    ids = _message(1, number.to_bytes(16, "big")) + _message(2, number.to_bytes(8, "big"))
    # 0x39 is the tag of the field 7, the start, a number of eight bytes.
    return ids + _message(5, b"s") + b"\x39" + (1_760_000_000_000_000_000 + number).to_bytes(8, "little")


@worst(TRACES, "gzip of as many members as there may be")
def members(_stage: Stage) -> Ask:
    return Ask(body=gzip.compress(b"") * 2_000 + gzip.compress(b"{}"), headers=GZIP)


@worst(TRACES, "gzip of 500,000 members")
def too_many_members(_stage: Stage) -> Ask:
    return Ask(body=gzip.compress(b"") * 500_000, headers=GZIP)


@worst(TRACES, "64 MiB of spaces, gzipped")
def spaces(_stage: Stage) -> Ask:
    return _zipped(b" " * PLAIN)


@worst(TRACES, "20 MiB of what can't be compressed")
def noise(_stage: Stage) -> Ask:
    return Ask(body=gzip.compress(os.urandom(WIRE - 10_000), 1), headers=GZIP)


@worst(TRACES, "64 MiB of one byte after another")
def nested(_stage: Stage) -> Ask:
    return _zipped(b"[" * PLAIN)


@worst(TRACES, "64 MiB in spans of 8 MiB")
def large_spans(stage: Stage) -> Ask:
    text = attribute("gen_ai.input.messages", "x" * 8_300_000)
    return _zipped(batch(*(span(stage.ids["prompt_id"], 100, number, CHAT, text) for number in range(1, 9))))


@worst(TRACES, "64 MiB with escapes of half a pair")
def surrogates(stage: Stage) -> Ask:
    text = attribute("a", "x").replace(b'"x"', b'"' + rb"\ud800" * 1_300_000 + b'"')
    return _zipped(batch(*(span(stage.ids["prompt_id"], 101, number, text) for number in range(1, 9))))


def _spans(name: str, make: Callable[[int, int], bytes]) -> None:
    @worst(TRACES, f"{MANY:,} spans, {name}")
    def send(stage: Stage) -> Ask:
        return _zipped(batch(*(make(stage.ids["prompt_id"], number) for number in range(1, MANY))))


_spans("of one turn", lambda prompt, number: span(prompt, 1_000_001, number))
_spans("each a turn", lambda prompt, number: span(prompt, 2_000_000 + number, 1))
_spans(
    "each in a separate conversation, of these turns",
    lambda prompt, number: span(prompt, 2_000_000 + number, 2, attribute("gen_ai.conversation.id", str(number))),
)
_spans("each within the next", lambda prompt, number: span(prompt, 1_000_003, number, CHAT, parent=number + 1))
_spans("of prompts that there are not", lambda _prompt, number: span(10**12 + number, 1_000_004, number))
_spans("without a prompt", lambda prompt, number: span(prompt, 1, number).replace(b"service.prompt.id", b"x"))
_spans(
    "of different models",
    lambda prompt, number: span(prompt, 1_000_005, number, CHAT, attribute("gen_ai.request.model", str(number))),
)


@worst(TRACES, "spans without a prompt, with a large resource")
def resource(_stage: Stage) -> Ask:
    spans = [span(1, 1, number).replace(b"service.prompt.id", b"x") for number in range(1, 30_000)]
    listed = b",".join([attribute("a", "b")] * 300_000)
    return _zipped(batch(*spans, resource=b'{"attributes":[%s]}' % listed))


@worst(TRACES, "attributes of one key")
def one_key(stage: Stage) -> Ask:
    return _zipped(batch(span(stage.ids["prompt_id"], 1_000_006, 1, *[attribute("a", "b")] * 160_000)))


@worst(TRACES, "numbered messages")
def numbered(stage: Stage) -> Ask:
    attributes = (attribute(f"gen_ai.prompt.{number}.content", "x") for number in range(90_000))
    return _zipped(batch(span(stage.ids["prompt_id"], 1_000_007, 1, CHAT, *attributes)))


@worst(TRACES, "JSON in JSON in JSON")
def in_json(stage: Stage) -> Ask:
    text = "x" * 1_000
    for _ in range(12):
        text = json.dumps([{"role": "user", "content": text}])
    words = attribute("gen_ai.input.messages", text)
    count = PLAIN // (len(words) + 400)
    return _zipped(batch(*(span(stage.ids["prompt_id"], 1_000_008, number, CHAT, words) for number in range(1, count))))


@worst(TRACES, "messages without a question")
def messages(stage: Stage) -> Ask:
    words = attribute("gen_ai.input.messages", json.dumps([{"role": "assistant", "content": "x"}] * 100_000))
    return _zipped(batch(*(span(stage.ids["prompt_id"], 1_000_009, number, CHAT, words) for number in range(1, 10))))


@worst(TRACES, "a usual session's worth")
def usual(stage: Stage) -> Ask:
    return _zipped(texts.turns(stage.ids["prompt_id"], 0, 512))


@worst(OF_PROMPT, "64 MiB of empty groups")
def empty_groups(_stage: Stage) -> Ask:
    body = _message(1, b"") * (PLAIN // 2)
    return Ask(body=gzip.compress(body, 1), headers=GZIP, content_type="application/x-protobuf")


@worst(OF_PROMPT, "spans of as many empty attributes as there may be in a batch")
def empty_attributes(_stage: Stage) -> Ask:
    return _protobuf(*(_head(number) + _message(9, b"") * 199_000 for number in range(1, 11)))


@worst(OF_PROMPT, "a span of 8 MiB of empty attributes")
def one_of_empty_attributes(_stage: Stage) -> Ask:
    return _protobuf(_head(1) + _message(9, b"") * 4_000_000)


@worst(OF_PROMPT, "values nested as deep as the parser goes")
def deep_values(_stage: Stage) -> Ask:
    value = b""
    for _ in range(47):
        value = _message(5, _message(1, value))
    deep = _message(9, _message(1, b"a") + _message(2, value)) * 1_000
    return _protobuf(*(_head(number) + deep for number in range(1, 250)))


@worst(OF_PROMPT, f"{MANY:,} spans, each a turn")
def spans_of_prompt(_stage: Stage) -> Ask:
    return _protobuf(*(_head(number) for number in range(1, MANY)))


LOGS = ("POST /api/public/otel/v1/logs", "POST /api/public/prompts/{prompt_id}/otel/v1/logs")


def _record(number: int, *attributes: bytes) -> bytes:
    ids = b'"traceId":"%032x","spanId":"%016x","timeUnixNano":"1"' % (number, number)
    return b'{%s,"eventName":"gen_ai.user.message","attributes":[%s]}' % (ids, b",".join(attributes))


def _logged(records: bytes) -> Ask:
    return _zipped(b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[%s]}]}]}' % records)


for _route in LOGS:

    @worst(_route, "64 MiB of empty records")
    def empty_records(_stage: Stage) -> Ask:
        return _logged(b",".join([b"{}"] * (PLAIN // 3 - 100)))

    @worst(_route, f"{MANY:,} records, each of another span")
    def many_records(_stage: Stage) -> Ask:
        return _logged(b",".join(_record(number, attribute("content", "x")) for number in range(1, MANY)))

    @worst(_route, "a record of 160,000 attributes")
    def one_record(_stage: Stage) -> Ask:
        return _logged(_record(1, *[attribute("a", "b")] * 160_000))
