"""JSON values as YAML and back: only what JSON has, so that every string stays a string.

PyYAML scans and writes. The values are made from its events and not by its constructors, for three reasons: a plain
`no`, `010` or `12:30` is text here and not `false`, 8 or 750; nothing in a file makes an object; and deep
nesting exhausts no stack.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

DEPTH_MAX = 100
PATH_MAX = 1_000
"""Characters of a path with a line. The paths below a long key would need its length for each value."""
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_DIGITS_MAX = 400
_EXACT = 2**53
_WORDS: dict[str, Any] = {"null": None, "~": None, "": None, "true": True, "false": False}
# A string is written without quotes when no reader of YAML, of version 1.1 or 1.2, reads it as anything else.
_PLAIN = re.compile(r"[A-Za-z_]([A-Za-z0-9_ ./()-]*[A-Za-z0-9_./()-])?")
_RESERVED = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
# Several lines that a literal block gives back as they are: no control characters, no other kinds of line breaks, no
# white space at the ends of lines, which editors remove, and at most one line break at the end.
_LINE = r"[^\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
_BLOCK = re.compile(rf"{_LINE}([ ]*{_LINE})*(\n+[ ]*{_LINE}([ ]*{_LINE})*)*\n?")
_UNFOLDED = 2**31


class BadYaml(ValueError):
    """A text is not the YAML that is read here; `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Parsed:
    """`lines` has the line, from 1, of each key and list item by its path, such as `$.tools[0].name`.

    Paths that are longer than `PATH_MAX` are left out.
    """

    value: Any
    lines: dict[str, int]


@dataclass(slots=True)
class _Open:
    """A mapping or a list that has not ended; `key` is the mapping's key of the value that comes next."""

    inside: dict[str, Any] | list[Any]
    path: str
    key: str | None = None


class _Builder:
    def __init__(self) -> None:
        self.root: Any = None
        self.lines: dict[str, int] = {}
        self._open: list[_Open] = []

    def add(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1
        match event:
            case yaml.AliasEvent():
                raise BadYaml(line, "Aliases are not supported.")
            case yaml.DocumentStartEvent() if self.lines:
                raise BadYaml(line, "There is a second document.")
            case yaml.NodeEvent() if event.anchor is not None or event.tag is not None:
                raise BadYaml(line, "Anchors and tags are not supported.")
            case yaml.ScalarEvent():
                self._scalar(event, line)
            case yaml.MappingStartEvent():
                self._start({}, line)
            case yaml.SequenceStartEvent():
                self._start([], line)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()

    def _start(self, inside: dict[str, Any] | list[Any], line: int) -> None:
        path = self._place(inside, line)
        if len(self._open) == DEPTH_MAX:
            raise BadYaml(line, f"Must not be nested deeper than {DEPTH_MAX} levels.")
        self._open.append(_Open(inside, path))

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        parent = self._open[-1] if self._open else None
        if parent and isinstance(parent.inside, dict) and parent.key is None:
            if event.value in parent.inside:
                raise BadYaml(line, f"The key {event.value!r} is there twice.")
            parent.key = event.value
            self._note(f"{parent.path}.{event.value}", line)
        else:
            self._place(event.value if event.style else _plain(event.value, line), line)

    def _place(self, value: Any, line: int) -> str:
        """Put a value where it belongs and return its path."""
        if not self._open:
            self.root = value
            return "$"
        parent = self._open[-1]
        if isinstance(parent.inside, list):
            parent.inside.append(value)
            path = f"{parent.path}[{len(parent.inside) - 1}]"
            self._note(path, line)
            return path
        if parent.key is None:
            raise BadYaml(line, "A key must be text.")
        parent.inside[parent.key], key, parent.key = value, parent.key, None
        return f"{parent.path}.{key}"

    def _note(self, path: str, line: int) -> None:
        if len(path) <= PATH_MAX:
            self.lines[path] = line


def _plain(text: str, line: int) -> Any:
    """Return the value of a scalar without quotes: JSON's words and numbers, else the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if not (number := _NUMBER.fullmatch(text)):
        return text
    if len(text) > _DIGITS_MAX or math.isinf(float(text)):
        raise BadYaml(line, "The number is too large.")
    return _shortest(float(text)) if number[2] or number[3] else int(text)


def _shortest(number: float) -> float:
    """Return a number without a fraction as an integer, as 1 and 1.0 are one number in JSON."""
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def read(text: str) -> Parsed:
    """Read one YAML document without aliases, anchors and tags. Raises `BadYaml`."""
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            builder.add(event)
    except yaml.reader.ReaderError as error:
        raise BadYaml(text.count("\n", 0, error.position) + 1, "There is a character that YAML forbids.") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadYaml(line, f"Is not YAML: {error.problem or error.context}.") from error
    return Parsed(builder.root, builder.lines)


def write(value: Mapping[str, Any]) -> str:
    """Return YAML that `read` reads as the same value; equal values in equal order give equal bytes."""
    written: str = yaml.emit(_events(value), allow_unicode=True, width=_UNFOLDED)
    return written


def _events(value: Mapping[str, Any]) -> Iterator[yaml.Event]:
    yield yaml.StreamStartEvent()
    yield yaml.DocumentStartEvent(explicit=False)
    to_do: list[Any] = [value]
    while to_do:
        match to_do.pop():
            case yaml.Event() as event:
                yield event
            case Mapping() as mapping:
                yield yaml.MappingStartEvent(anchor=None, tag=None, implicit=True, flow_style=False)
                to_do.append(yaml.MappingEndEvent())
                for key, inner in reversed(list(mapping.items())):
                    to_do += [inner, key]
            case str() as text:
                yield _text_event(text)
            case Sequence() as items:
                yield yaml.SequenceStartEvent(anchor=None, tag=None, implicit=True, flow_style=False)
                to_do += [yaml.SequenceEndEvent(), *reversed(items)]
            case other:
                word = json.dumps(_shortest(other) if isinstance(other, float) else other)
                yield yaml.ScalarEvent(None, None, (True, False), word)
    yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _text_event(text: str) -> yaml.Event:
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return yaml.ScalarEvent(None, None, (True, False), text)
    style = "|" if "\n" in text and _BLOCK.fullmatch(text) else '"'
    return yaml.ScalarEvent(None, None, (False, True), text, style=style)
