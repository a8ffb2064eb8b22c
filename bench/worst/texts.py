"""Texts and bodies at their limits, of the kinds that readers of them like least."""

from __future__ import annotations

import json
import secrets
from typing import Any

import orjson

from app.sessions.turn_texts import TEXT_MAX

JSON_BYTES = 2_097_152
TEXT = 500_000
TURNS = 10_000  # the API answers the first ones of a session

LETTERS = "но да 東京 "
SEARCHES = {
    "a word": "да",
    "a bigram": "東京",
    "a phrase of which all have the words": '"да да"',
    "a phrase of 15 words": f'"{"но да 東京 но " * 3}"',
    "six phrases": '"да 東京" "но да" "no yes" "yes no" "да но" "нет да"',
    "phrases that must not be there": 'да -"да да" -"но но" -"да но" -"no no" -"yes yes" -"нет да"',
    "beginnings": "но* да* no* ye* " * 4,
    "16 beginnings of words": "an* be* co* de* di* ex* fo* in* ma* no* or* pr* re* st* th* wo*",
}
"""Texts of the search, with words of `long_turns`."""

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


def big_prompt(count: int = 100, lines: int = 300_000) -> dict[str, Any]:
    """As many placeholders with as many values as there may be, in as large a text."""
    placeholders = [
        {
            "key": f"key_{number}",
            "values": [
                {"name": f"value {value}", "content": "x" * count, "isDefault": value == count - 1}
                for value in range(count)
            ],
        }
        for number in range(count)
    ]
    slots = ("".join(f"{{{{key_{number}}}}} " for number in range(count)) + "\n") * count
    return {
        "name": "Big",
        "value": slots + filled_with("# A heading\nand a line\n", lines),
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
    group = b'{"scope":{"name":"%s"},"spans":[%s]}' % (scope.encode(), b",".join(spans))
    return b'{"resourceSpans":[{"resource":%s,"scopeSpans":[%s]}]}' % (resource, group)


def turns(prompt_id: int, start: int, count: int) -> bytes:
    """Turns of one conversation, with a question and an answer each."""
    words = said("What is it? " * 20, "It is so. " * 20, conversation="long")
    return batch(*(span(prompt_id, number + 1, 1, *words) for number in range(start, start + count)))


def long_turns(prompt_id: int, count: int, size: int = TEXT_MAX) -> bytes:
    """Turns without a conversation with as many words as the search reads of a text, in the slowest letters."""
    words = said(filled_with(LETTERS, size), filled_with("no yes ", size))
    return batch(*(span(prompt_id, secrets.randbits(100), 1, *words) for _ in range(count)))


def said(question: str, answer: str, conversation: str = "") -> list[bytes]:
    """The attributes of a model call with these messages."""
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": question}]}])
    answered = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": answer}]}])
    texts = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": asked, "gen_ai.output.messages": answered}
    named = {"gen_ai.conversation.id": conversation} if conversation else {}
    return [attribute(key, value) for key, value in (texts | named).items()]


HOSTILE = {
    "combining marks": "\u0301\u0323",
    "base64": "QmFzZTY0IGlzIG5vIHdvcmQ",
    "tokens of one character": "a ",
    "digits": "0123456789",
    "JSON in JSON": '{\\"a\\":[',
    "brackets": "[",
    "line ends": "\n",
    "half surrogate pairs": "\\ud800",
    "words": LETTERS,
    "quotes": '"',
}
"""Units of texts that readers of words, lines, numbers, JSON and Markdown like least."""


def hostile(number: int, size: int) -> str:
    """The text of the `number`th kind."""
    units = [*HOSTILE.values()]
    return filled_with(units[number % len(units)], size)
