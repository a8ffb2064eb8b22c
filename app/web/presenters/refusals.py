"""Translates refusals of a draft for the editor's page: the API names fields by their paths in the body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.errors import Invalid, ServiceError
from app.values.json_pointer import is_index
from app.web.presenters.prompt_editor import PlaceholderFields, PromptFields

# By field of the API: the field's id on the page, and its label.
FIELDS = {
    "name": ("name", "Name"),
    "value": ("value", "Text"),
    "placeholders": ("placeholders", "Placeholders"),
    "languageModelName": ("model", "Model"),
    "fallbackModelName": ("fallback", "When it fails, ask"),
    "assertionType": ("assertion_type", "New test cases check answers"),
    "assertionValue": ("assertion_value", "What the judge checks"),
    "message": ("message", "Commit message"),
    "question": ("question", "Question"),
    "history": ("question", "Question"),
    "files": ("files", "Files"),
}
CONFIG = {
    "temperature": "Temperature",
    "max_tokens": "Longest answer, in tokens",
    "response_format": "Answers with",
    "reasoning_effort": "Reasoning effort",
    "top_p": "Top p",
    "seed": "Seed",
    "stop": "Stop words",
    "json_schema": "JSON Schema of the answer",
    "tools": "Tools",
}
OF_A_PLACEHOLDER = {"key": "key", "description": "what it is for", "values": "values"}
_PROBLEM = re.compile(r"(\w+(?:\..+?)?): (.+)", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A problem and its place on the page: `place` in words, `field` as an id. Both are "" for a problem elsewhere."""

    message: str
    place: str = ""
    field: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def refusals(error: ServiceError, fields: PromptFields) -> list[Refusal]:
    """Return the problems of a draft made from `fields`."""
    problems = error.problems if isinstance(error, Invalid) else (str(error),)
    return [_refusal(problem, fields.placeholders) for problem in problems]


def _refusal(problem: str, placeholders: Sequence[PlaceholderFields]) -> Refusal:
    match = _PROBLEM.fullmatch(problem)
    if not match:
        return Refusal(problem)
    (root, *path), message = match[1].split("."), match[2]
    if root == "placeholders" and path and is_index(path[0]) and int(path[0]) < len(placeholders):
        return Refusal(message, *_of_placeholder(int(path[0]), path[1:], placeholders))
    if root == "languageModelConfig" and path and path[0] in CONFIG:
        return Refusal(message, ", ".join([CONFIG[path[0]], *_numbered(path[1:], "number")]), path[0])
    if root in FIELDS:
        field, label = FIELDS[root]
        return Refusal(message, ", ".join([label, *_numbered(path, "number")]), field)
    return Refusal(problem)


def _of_placeholder(index: int, path: list[str], placeholders: Sequence[PlaceholderFields]) -> tuple[str, str]:
    """Return the place and the field. A problem of all values is shown at the first value."""
    key = placeholders[index].key
    name = f"Placeholder “{key}”" if key else f"Placeholder {index + 1}"
    id_ = f"placeholder.{index}"
    if path[:1] == ["values"] and path[1:]:
        field = path[2] if path[2:] in (["name"], ["content"]) else "name"
        return ", ".join([name, *_numbered(path[1:], "value")]), f"{id_}.values.{path[1]}.{field}"
    words = [OF_A_PLACEHOLDER.get(step, step) for step in path]
    field = "values.0.name" if path == ["values"] else path[0] if path else "key"
    return ", ".join([name, *words]), f"{id_}.{field}"


def _numbered(path: Sequence[str], noun: str) -> Iterator[str]:
    """Yield the parts of a path in words. Indices count from 1: `value 2`."""
    for part in path:
        yield f"{noun} {int(part) + 1}" if is_index(part) else part
