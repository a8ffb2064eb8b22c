"""Spans such as SDKs export, of new conversations: different texts, tools, ids and numbers each time.

The shapes are from the spans that SDKs exported for the tests. The texts of people, models and tools are replaced by
sentences of the tests' dialogues and of the documents. No export has these, so no dictionary was trained on them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

from bench.dictionary import CONVERSATIONS, bodies_of, recordings
from tests.gate.conversations import CONVERSATIONS as SCRIPTS

SPAN_BYTES = 2700
LONGER = 4
"""With this factor a message has 100 to 300 characters; the recorded ones have 30 to 70."""
# A text of a person, a model or a tool: three words or more, without the punctuation of programs.
_SAID = re.compile(r"[^{}\[\]<>=_\n ]+(?: [^{}\[\]<>=_\n ]+){2,}")
_SENTENCE = re.compile(r"[A-Z][^.!?]{20,300}[.!?](?= |$)")
_CALLED = {call.name for script in SCRIPTS.values() for turn in script.turns for calls in turn.rounds for call in calls}
_TOOL = re.compile(rf"\b(?:{'|'.join(sorted(_CALLED | {'convert_temperature', 'lookup_order'}))})\b")
_ID = re.compile(r"(?<=\bcall_)\d\w*|(?<=\bchatcmpl-)\w+")
_HEX = re.compile(r'(?<=Id":")[0-9a-f]+(?=")')
_VERSION = "0f3c9a7be1d24c55"
_TIME = re.compile(r'(?<=UnixNano":")\d+')
_ID_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@cache
def sentences() -> list[str]:
    """Return the sentences of the dialogues, one of each group with the same meaning, and of the documents."""
    texts = []
    for path in CONVERSATIONS.parent.glob("*_pairs*.txt"):
        for line in path.read_text().splitlines():
            if line.startswith(("user:", "instruction:")):
                texts.append(line.partition(": ")[2])
            elif "|" in line and not line.startswith("#"):
                texts.append(line.split("|")[1].strip())
    for path in Path("docs").rglob("*.md"):
        for paragraph in re.split(r"\n\s*\n", re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)):
            if not paragraph.lstrip().startswith(("#", "|", "<", "!")):
                texts += _SENTENCE.findall(" ".join(paragraph.split()))
    return sorted(set(texts))


@cache
def words() -> list[str]:
    """Return the short words of the sentences, of which names of tools are made."""
    return sorted(set(re.findall(r"\b[a-z]{3,9}\b", " ".join(sentences()))))


def conversations(prompt_id: int, *, seed: int, start_ns: int, longer: float) -> Iterator[bytes]:
    """Yield new conversations, each as a batch, with texts `longer` times as long as the recorded ones.

    Only the recorded shapes with the shortest spans are used, so that a span has at most SPAN_BYTES on average.
    """
    random = Random(seed)
    shapes = [batch for _, batch in recordings()]
    tried = {shape: bodies_of(_Writer(random, prompt_id, longer).write(shape, start_ns)) for shape in shapes}
    sizes = {shape: (len(bodies), sum(map(len, bodies))) for shape, bodies in tried.items()}
    shapes.sort(key=lambda shape: sizes[shape][1] / sizes[shape][0])
    sums = accumulate((sizes[shape] for shape in shapes), lambda left, other: (left[0] + other[0], left[1] + other[1]))
    fitting = [shape for shape, (count, size) in zip(shapes, sums, strict=True) if size <= SPAN_BYTES * count]
    while True:
        for shape in random.sample(fitting, len(fitting)):
            yield _Writer(random, prompt_id, longer).write(shape, start_ns)


class _Writer:
    """Rewrites a recorded conversation; a text or id is replaced by the same one everywhere."""

    def __init__(self, random: Random, prompt_id: int, longer: float) -> None:
        self._random, self._prompt_id, self._longer = random, prompt_id, longer
        self._new: dict[str, str] = {}
        self._said = _SAID

    def write(self, shape: str, start_ns: int) -> bytes:
        first = min(map(int, _TIME.findall(shape)))
        text = _TIME.sub(lambda match: str(start_ns + int(match[0]) - first + self._random.randrange(1000)), shape)
        text = text.replace(_VERSION, f"{Random(self._prompt_id).getrandbits(64):016x}")
        text = _HEX.sub(self._by(lambda old: f"{self._random.getrandbits(4 * len(old)):0{len(old)}x}"), text)
        text = _ID.sub(self._by(lambda _: "".join(self._random.choices(_ID_CHARACTERS, k=24))), text)
        text = _TOOL.sub(self._by(lambda _: "_".join(self._random.sample(words(), 2))), text)
        batch = json.loads(text)
        texts = sorted(set(_texts(batch)), key=len, reverse=True)
        self._said = re.compile("|".join(map(re.escape, texts)) or "$.")
        return json.dumps(self._rewritten(batch), separators=(",", ":"), ensure_ascii=False).encode()

    def _by(self, make: Callable[[str], str]) -> Callable[[re.Match[str]], str]:
        def replacement(match: re.Match[str]) -> str:
            if match[0] not in self._new:
                self._new[match[0]] = make(match[0])
            return self._new[match[0]]

        return replacement

    def _text(self, old: str) -> str:
        """Return other sentences, with other digits, of the length."""
        length, text = round(len(old) * self._longer), ""
        while len(text) < length:
            text += self._random.choice(sentences()) + " "
        return re.sub(r"\d", lambda _: str(self._random.randrange(10)), text[:length].rstrip())

    def _rewritten(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._rewritten(item) for item in value]
        if isinstance(value, dict):
            key: Any = value.get("key")
            stored: Any = value.get("value") or {}
            if key == "service.prompt.id":
                return {"key": key, "value": {"intValue": self._prompt_id}}
            if isinstance(key, str) and key.endswith(("conversation.id", "session.id")):
                new = self._by(lambda _: f"conv-{self._random.getrandbits(64):016x}")
                return {"key": key, "value": {"stringValue": re.sub("(?s)^.*$", new, stored["stringValue"])}}
            if isinstance(key, str) and "token" in key and "intValue" in stored:
                return {"key": key, "value": {"intValue": str(self._random.randrange(5000))}}
            return {key: self._rewritten(item) for key, item in value.items()}
        if not isinstance(value, str):
            return value
        inner = _inner(value)
        if inner is None:
            return self._said.sub(self._by(self._text), value)
        separators = (", ", ": ") if '": ' in value else (",", ":")
        return json.dumps(self._rewritten(inner), separators=separators, ensure_ascii=value.isascii())


def _inner(text: str) -> Any:
    """Return the object or list if a text is its JSON; None for other texts."""
    try:
        return json.loads(text) if text[:1] in ("{", "[") else None
    except ValueError:
        return None


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a batch between its other signs."""
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, str):
        inner = _inner(value)
        if inner is not None:
            yield from _texts(inner)
        elif _SAID.fullmatch(value):
            yield value
