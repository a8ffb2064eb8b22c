"""Texts and bodies at their limits, of the kinds that readers of them like least."""

from __future__ import annotations

import json
from typing import Any

import orjson

JSON_BYTES = 2_097_152
TEXT = 500_000
TURNS = 3_000

MARKDOWN = {
    "lines": "a\n",
    "blank lines": "\n",
    "headings": "# a\n",
    "headings of brackets": "# " + "[" * 297 + "\n",
    "headings of emphasis": "# " + "*a_" * 98 + "\n",
    "headings of links": "# " + "[a](" * 74 + "\n",
    "headings of backticks": "# " + "".join("`" * length + "a" for length in range(1, 23)) + "\n",
    "quotes in quotes": ">" * 200 + "\n",
    "lists in lists": "- " * 100 + "\n",
    "list items": "* x\n",
    "HTML": "<a\n",
    "link definitions": "[a]: b\n",
    "fences": "```\n",
    "placeholders": "{{a}}",
}


def filled_with(unit: str, size: int = TEXT) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def json_shapes(size: int = JSON_BYTES - 10_000) -> dict[str, bytes]:
    """JSON values of about so many bytes."""

    def listed(item: bytes) -> bytes:
        return b"[" + b",".join([item] * (size // (len(item) + 1))) + b"]"

    return {
        "nested lists": b"[" * (size // 2) + b"]" * (size // 2),
        "lists nested 900 deep": listed(b"[" * 900 + b"]" * 900),
        "numbers": listed(b"0"),
        "objects": listed(b"{}"),
        "members": orjson.dumps({str(number): 0 for number in range(size // 11)}),
        "one text": orjson.dumps("x" * size),
        "NUL escapes": b'"' + rb"\u0000" * (size // 6) + b'"',
    }


def big_prompt() -> dict[str, Any]:
    """As many placeholders with as many values as there may be, in as large a text."""
    placeholders = [
        {
            "key": f"key_{number}",
            "values": [
                {"name": f"value {value}", "content": "x" * 90, "isDefault": value == 99} for value in range(100)
            ],
        }
        for number in range(100)
    ]
    slots = "".join(f"{{{{key_{number}}}}} " for number in range(100)) * 100
    return {
        "name": "Big",
        "value": slots + filled_with("# A heading\nand a line\n", 300_000),
        "placeholders": placeholders,
    }


def changed(text: str) -> str:
    """Each line of it a little."""
    return "\n".join(line.replace("a", "b", 1) for line in text.split("\n"))


def attribute(key: str, value: Any) -> bytes:
    kind = {"intValue": value} if isinstance(value, int) else {"stringValue": value}
    return json.dumps({"key": key, "value": kind}).encode()


def span(prompt_id: int, trace: int, number: int, *attributes: bytes, parent: int = 0) -> bytes:
    ids = b'"traceId":"%032x","spanId":"%016x","parentSpanId":"%016x"' % (trace, number, parent)
    times = b'"startTimeUnixNano":1760000000000000000,"endTimeUnixNano":1760000000000000001'
    listed = b",".join([attribute("service.prompt.id", prompt_id), *attributes])
    return b'{%s,%s,"name":"s","attributes":[%s]}' % (ids, times, listed)


def batch(*spans: bytes, resource: bytes = b"{}", scope: str = "s") -> bytes:
    found = b'{"scope":{"name":"%s"},"spans":[%s]}' % (scope.encode(), b",".join(spans))
    return b'{"resourceSpans":[{"resource":%s,"scopeSpans":[%s]}]}' % (resource, found)


def turns(prompt_id: int, start: int, count: int) -> bytes:
    """Turns of one conversation, with a question and an answer each."""
    said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "What is it? " * 20}]}])
    answered = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "It is so. " * 20}]}])
    words = (
        attribute("gen_ai.operation.name", "chat"),
        attribute("gen_ai.conversation.id", "long"),
        attribute("gen_ai.input.messages", said),
        attribute("gen_ai.output.messages", answered),
    )
    return batch(*(span(prompt_id, number + 1, 1, *words) for number in range(start, start + count)))
