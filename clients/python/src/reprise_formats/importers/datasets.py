"""Test cases of other tools: rows of LangSmith's and Braintrust's datasets, and tests of promptfoo's YAML.

Each converter returns a document in the format of an exported test case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from reprise_formats.importers.spans import Unreadable, in_json, json_text, object_in, text

FORMAT = "reprise.test-case/3"
NAME_MAX, TITLE_MAX = 128, 80
_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
# LangChain writes a message as its class: `HumanMessage`.
_CLASSES = {"HumanMessage": "user", "AIMessage": "assistant"}
QUESTIONS = ("question", "input", "query", "prompt", "message", "text", "user_input", "user", "human")
_ANSWERS = ("answer", "expected", "output", "response", "reference", "text", "content", "result")


@dataclass(frozen=True)
class ImportedCase:
    """A test case. `id` differs between the test cases of a file, and is the same in every import of it.

    `check` and `assertion` are those of the answer; `earlier` are messages before the question. `variables` are
    the values of the prompt's placeholders, by key.
    """

    id: str
    question: str
    expected: str
    check: Mapping[str, Any]
    name: str = ""
    assertion: str = ""
    earlier: Sequence[Mapping[str, str]] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[str] = ()

    def document(self, placeholders: Mapping[str, str]) -> dict[str, Any]:
        """Return what the API imports; `placeholders` has the name of the chosen value of each key."""
        turn: dict[str, Any] = {
            "user": self.question,
            "steps": [{"kind": "answer", "text": self.expected, "check": dict(self.check)}],
        }
        turn |= {"earlier": list(self.earlier)} if self.earlier else {}
        turn |= {"placeholders": dict(placeholders)} if placeholders else {}
        case: dict[str, Any] = {"turns": [turn]}
        case |= {"assertionValue": self.assertion} if self.assertion else {}
        return {"format": FORMAT, "name": self.title, "testCase": case}

    @property
    def title(self) -> str:
        """The name: the tool's, or the question, with a part of the id, as names of one prompt's test cases differ."""
        title = " ".join((self.name or self.question)[: 4 * TITLE_MAX].split())[:TITLE_MAX].rstrip()
        return f"{title} ({sha256(self.id.encode('utf-8', 'replace')).hexdigest()[:8]})"


ConvertCase = Callable[[Mapping[str, Any]], ImportedCase]
"""Accepts a record of a file. Raises `Unreadable`."""


def langsmith_example(row: Mapping[str, Any]) -> ImportedCase:
    """Return the test case of an example: a row of the API, or of the dataset's export."""
    return _of_row(row, row.get("inputs"), row.get("outputs"), "inputs")


def braintrust_row(row: Mapping[str, Any]) -> ImportedCase:
    return _of_row(row, row.get("input"), row.get("expected"), "input")


def _of_row(row: Mapping[str, Any], given: Any, expected: Any, name: str) -> ImportedCase:
    messages = list(_messages(in_json(given)))
    if not messages or messages[-1]["role"] != "user":
        raise Unreadable(f"{name} has no question of a user")
    *earlier, last = messages
    answer, check = _expected(in_json(expected))
    id_ = text(row.get("id")) or json_text([given, expected])
    return ImportedCase(id_, last["text"], answer, check, name=text(row.get("name")) or "", earlier=earlier)


def _messages(given: Any) -> Iterator[dict[str, str]]:
    """Yield the messages of the user and the assistant, in order; a text is the user's."""
    # Loops, as a record may have hundreds of levels.
    while isinstance(given, dict):
        within = next((given[key] for key in ("messages", "input", "inputs", "chat_history") if given.get(key)), None)
        given = within if isinstance(within, (list, dict)) else _text_of(given, QUESTIONS)
    if isinstance(given, str) and given.strip():
        yield {"role": "user", "text": given}
    waiting = given[::-1] if isinstance(given, list) else []
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, list):  # LangChain's batches of messages
            waiting += entry[::-1]
        else:
            yield from _message(entry)


def _message(entry: Any) -> Iterator[dict[str, str]]:
    message = object_in(entry)
    fields = object_in(message.get("kwargs")) or object_in(message.get("data")) or message
    kind = message["id"][-1] if isinstance(message.get("id"), list) and message["id"] else ""
    named = str(message.get("role") or message.get("type") or "")
    role = _CLASSES.get(str(kind)) or _ROLES.get(named)
    content = content_text(fields.get("content"))
    if role and content:
        yield {"role": role, "text": content}


def content_text(content: Any) -> str:
    """Return the text of a message; of a list of parts, that of its text parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part if isinstance(part, str) else object_in(part).get("text") for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _text_of(fields: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the text under one of these names, or the only text of an object."""
    named = next((value for name in names if (value := text(fields.get(name)))), None)
    texts = [value for value in map(text, fields.values()) if value]
    return named or (texts[0] if len(texts) == 1 else None)


def _expected(expected: Any) -> tuple[str, dict[str, Any]]:
    """Return the expected answer and its check: by its meaning, or for an object by its members."""
    answers = [message["text"] for message in _messages(expected) if message["role"] == "assistant"]
    if isinstance(expected, str) and expected.strip():
        return expected, {"answer": "meaning"}
    if answers:
        return answers[-1], {"answer": "meaning"}
    if isinstance(expected, dict) and expected:
        answer = _text_of(expected, _ANSWERS)
        within = object_in(expected.get("message")) or object_in(expected.get("output"))
        answer = answer or content_text(within.get("content"))
        if answer:
            return answer, {"answer": "meaning"}
    if isinstance(expected, (dict, list)) and expected:
        return json_text(expected), {"answer": "json_subset", "value": expected}
    if answer := text(expected):
        return answer, {"answer": "meaning"}
    raise Unreadable("has no expected answer")
