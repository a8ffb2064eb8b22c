"""The text of a stream of server-sent events, which proxies record as the output of a model call.

Each line `data: …` has the JSON of a chunk, in the form of OpenAI's chat completions and responses, of Anthropic's
messages, or of Gemini.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from app.values.json import json_container

_BEGINS = ("data:", "event:", ": ")
_DATA = "data:"
_WHOLE = ("response.completed", "response.incomplete", "response.failed")


def message_of_stream(text: Any) -> dict[str, Any] | None:
    """Return the message in the text of a stream; None for anything else."""
    if not isinstance(text, str) or not text.lstrip().startswith(_BEGINS):
        return None
    chunks = list(_chunks(text))
    whole = next((chunk["response"] for chunk in chunks if chunk.get("type") in _WHOLE), None)
    if isinstance(whole, dict):
        return whole
    message = _Message()
    for chunk in chunks:
        message.add(chunk)
    return message.fields


def _chunks(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith(_DATA) and isinstance(chunk := json_container(line[len(_DATA) :].strip()), dict):
            yield chunk


class _Message:
    """A message that grows by each chunk. What a chunk has in a form of no vendor is left out."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: dict[Any, dict[str, Any]] = {}
        self._arguments: dict[Any, list[str]] = defaultdict(list)
        self._parts: list[Any] = []

    @property
    def fields(self) -> dict[str, Any] | None:
        """The message; None if no chunk had any of it."""
        calls = [
            {**call, "arguments": "".join(self._arguments[index]) or call.get("arguments")}
            for index, call in self._calls.items()
        ]
        if self._parts:
            return {"role": "assistant", "content": self._parts}
        if not (self._texts or self._thoughts or calls):
            return None
        text, thoughts = "".join(self._texts), "".join(self._thoughts)
        return {"role": "assistant", "content": text, "tool_calls": calls, "reasoning": thoughts or None}

    def add(self, chunk: dict[str, Any]) -> None:
        for choice in _dicts(chunk.get("choices")):
            self._add_delta(_dict(choice.get("delta")))
        for candidate in _dicts(chunk.get("candidates")):
            self._parts += _dicts(_dict(candidate.get("content")).get("parts"))
        if "index" in chunk:
            self._add_block(chunk["index"], _dict(chunk.get("content_block")), _dict(chunk.get("delta")))

    def _add_delta(self, delta: dict[str, Any]) -> None:
        self._add_texts(delta.get("content"), delta.get("reasoning_content", delta.get("reasoning")))
        for call in _dicts(delta.get("tool_calls")):
            function = _dict(call.get("function"))
            self._add_call(call.get("index"), call.get("id"), function.get("name"), function.get("arguments"))

    def _add_block(self, index: Any, block: dict[str, Any], delta: dict[str, Any]) -> None:
        self._add_texts(delta.get("text", block.get("text")), delta.get("thinking", block.get("thinking")))
        if block.get("type") == "tool_use" or "partial_json" in delta:
            self._add_call(index, block.get("id"), block.get("name"), delta.get("partial_json"))

    def _add_texts(self, text: Any, thought: Any) -> None:
        self._texts += [text] if isinstance(text, str) else []
        self._thoughts += [thought] if isinstance(thought, str) else []

    def _add_call(self, index: Any, call_id: Any, name: Any, arguments: Any) -> None:
        place = index if isinstance(index, int) else -1
        call = self._calls.setdefault(place, {})
        call.update({key: value for key, value in (("id", call_id), ("name", name)) if value})
        if isinstance(arguments, str):
            self._arguments[place].append(arguments)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(values: Any) -> Iterable[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else ()
