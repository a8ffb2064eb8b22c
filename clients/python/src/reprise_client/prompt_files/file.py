"""Reads and writes a prompt's file, compares files by fingerprint, and maps them from and to the API's JSON.

    ---
    prompt: 17
    base: c1f0a4e2b7d95386
    model: gpt-5
    instructionFormat: XML
    configuration:
      temperature: 0.2
    ---
    You help customers of {{shop}}.

The text begins behind the second `---` line and ends with the file. Git may change line ends, so each of them is a line
feed in what is sent or compared. `base` is the fingerprint of what the file was made of, so that a push can detect
whether anybody else changed the prompt since.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from reprise_formats.text_files import with_line_feeds

from reprise_client.differences import unified
from reprise_client.prompt_files.front_matter import BadYaml, read, write

Name = Annotated[str, Meta(min_length=1)]
Fingerprint = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
# Whole lines, with the line ends of any editor.
_FENCE = re.compile(r"(?<![^\r\n])---[ \t]*(?:\r\n|\r|\n|\Z)")
_OPENING = re.compile(r"\ufeff?---[ \t]*(?P<end>\r\n|\r|\n)")
_BASE_LINE = re.compile(r"(?<![^\r\n])base:[^\r\n]*")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_ERROR = re.compile(r"(?P<message>.*?)(?: - at `(?P<path>.*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`", re.DOTALL)


class BadFile(ValueError):
    """A file is no prompt; the message begins with the line, from 1, and the path where there is one."""


class _Part(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"):
    pass


class FilePlaceholderValue(_Part, frozen=True):
    name: Name
    content: str
    is_default: bool = False


class FilePlaceholder(_Part, frozen=True, kw_only=True):
    key: Name
    description: str = ""
    values: Annotated[tuple[FilePlaceholderValue, ...], Meta(min_length=1)]


class Annotations(_Part, frozen=True):
    read_only_hint: bool | UnsetType = UNSET
    destructive_hint: bool | UnsetType = UNSET


class FileTool(_Part, frozen=True):
    name: Name
    description: str | UnsetType = UNSET
    effect: Literal["read", "write", "by_call"] | UnsetType = UNSET
    annotations: Annotations | UnsetType = UNSET
    strict: bool | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET


class Configuration(_Part, frozen=True, rename=None):
    """The parameters that differ from the model's defaults; the instance checks their ranges, which are the model's."""

    temperature: int | float | UnsetType = UNSET
    top_p: int | float | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET
    reasoning_effort: str | UnsetType = UNSET
    stop: tuple[str, ...] | UnsetType = UNSET
    seed: int | UnsetType = UNSET
    response_format: str | UnsetType = UNSET
    json_schema: dict[str, Any] | UnsetType = UNSET


class PromptFile(_Part, frozen=True, kw_only=True):
    """`prompt` and `base` are where the content comes from; the other fields are the content."""

    prompt: Annotated[int, Meta(ge=1)] | None = None
    base: Fingerprint | None = None
    model: Name
    fallback: Name | None = None
    instruction_format: Literal["XML", "RAW"]
    configuration: Configuration = Configuration()
    tools: tuple[FileTool, ...] = ()
    placeholders: tuple[FilePlaceholder, ...] = ()
    text: str


def parse(content: str) -> PromptFile:
    """Return what a file holds. Raises `BadFile`, which names the line, and the path of a bad value."""
    content = with_line_feeds(content)
    begin, end = _fences(content)
    try:
        parsed = read(content[begin : end.start()])
    except BadYaml as error:
        raise BadFile(f"line {error.line + 1}: {error.message}") from error
    if not isinstance(parsed.value, dict):
        raise BadFile("line 2: The front matter must be a mapping of keys to values.")
    if "text" in parsed.value:
        raise BadFile(f"line {parsed.lines['$.text'] + 1}: text: The text belongs after the front matter.")
    try:
        return msgspec.convert({**parsed.value, "text": content[end.end() :]}, PromptFile)
    except msgspec.ValidationError as error:
        raise BadFile(_located(str(error), parsed.lines)) from error


def has_front_matter(content: str) -> bool:
    return _OPENING.match(content) is not None


def with_prompt(content: str, prompt_id: int) -> str:
    """Return the content of a file that names no prompt with the prompt's id; every other byte stays."""
    begin = _fences(content)[0]
    return f"{content[:begin]}prompt: {prompt_id}{_line_end(content)}{content[begin:]}"


def _line_end(content: str) -> str:
    opening = _OPENING.match(content)
    return opening["end"] if opening else "\n"


def _fences(content: str) -> tuple[int, re.Match[str]]:
    """Return where the front matter begins, and the line that ends it."""
    if not (opening := _OPENING.match(content)):
        raise BadFile("line 1: The file must begin with a line of three dashes, ---.")
    if not (closing := _FENCE.search(content, opening.end())):
        raise BadFile("line 1: The front matter has no end, a second line of three dashes, ---.")
    return opening.end(), closing


def _located(error: str, lines: Mapping[str, int]) -> str:
    """Return msgspec's message with the line and the path of the value in front."""
    match = _ERROR.fullmatch(error)
    message, path = (match["message"], match["path"] or "$") if match else (error, "$")
    if unknown := _UNKNOWN.fullmatch(message):
        path, message = f"{path}.{unknown['key']}", "Unknown key."
    line = lines.get(path, 0) + 1
    return f"line {line}: {path.removeprefix('$').removeprefix('.')}: {message}".replace(": : ", ": ")


def format_file(file: PromptFile) -> str:
    """Return the content of a file that `parse` reads as the same; equal prompts give equal bytes."""
    fields = msgspec.to_builtins(file)
    text = fields.pop("text")
    if not fields.get("configuration"):
        fields.pop("configuration", None)
    return f"---\n{write(fields)}---\n{text}"


def fingerprint(file: PromptFile) -> str:
    """Return 16 hex digits that identify the content, wherever the file comes from."""
    return hashlib.sha256(format_file(_content(file)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def with_base(content: str, base: str) -> str:
    """Return a file's content with another `base`; every other byte stays, comments and line ends too."""
    begin, end = _fences(content)
    front = content[begin : end.start()]
    line = write({"base": base}).rstrip("\n")
    changed, count = _BASE_LINE.subn(line, front, count=1)
    return content[:begin] + (changed if count else front + line + _line_end(content)) + content[end.start() :]


def difference(old: PromptFile, new: PromptFile, old_name: str, new_name: str) -> Iterator[str]:
    """Yield the lines of a unified diff between the contents of two files, as `format_file` writes them.

    Texts that would need too long to compare are shown as replaced as a whole.
    """
    before, after = (_LINES.findall(format_file(_content(file))) for file in (old, new))
    for line in unified(before, after, old_name, new_name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _content(file: PromptFile) -> PromptFile:
    return msgspec.structs.replace(file, prompt=None, base=None)


def from_answer(prompt: Mapping[str, Any]) -> PromptFile:
    """Return the file of a prompt's draft or version as the API shows it, without `base`.

    Raises `BadFile` for what this release does not know, such as a parameter of a newer one.
    """
    model = prompt["languageModel"]
    defaults = {"tools": [], "temperature": 1, "max_tokens": model["completionTokensMax"], "response_format": "text"}
    shown = prompt["languageModelConfig"]
    config = {key: value for key, value in shown.items() if key not in defaults or defaults[key] != value}
    fields = {
        "prompt": prompt.get("id"),
        "model": model["name"],
        "fallback": prompt["fallbackModelName"],
        "instructionFormat": prompt["instructionFormat"],
        "tools": config.pop("tools", []),
        "configuration": config,
        "placeholders": prompt["placeholderDefinitions"],
        "text": with_line_feeds(prompt["value"]),
    }
    try:
        return msgspec.convert(fields, PromptFile)
    except msgspec.ValidationError as error:
        raise BadFile(_located(str(error), {})) from error


def to_overlay(file: PromptFile) -> dict[str, Any]:
    """Return the content by the API's names, as a candidate that replaces all of the draft that replays use."""
    fields = msgspec.to_builtins(file)
    return {
        "value": file.text,
        "languageModelName": file.model,
        "languageModelConfig": {**fields.get("configuration", {}), "tools": fields.get("tools", [])},
        "instructionFormat": file.instruction_format,
        "placeholders": fields.get("placeholders", []),
    }


def to_change(file: PromptFile) -> dict[str, Any]:
    """Return the body that makes the content the draft; the instruction format of a prompt can't change."""
    change = to_overlay(file) | {"fallbackModelName": file.fallback}
    del change["instructionFormat"]
    return change


_NAMES = {
    "languageModelConfig.tools": "tools",
    "languageModelConfig": "configuration",
    "languageModelName": "model",
    "fallbackModelName": "fallback",
    "value": "text",
}


def in_names_of_the_file(message: str) -> str:
    """Return a message of the API with the file's names of fields in the place of the API's."""
    return re.sub(
        r"(?<![\w.])(?:candidate\.)?(" + "|".join(map(re.escape, _NAMES)) + r")(?=[.:])",
        lambda match: _NAMES[match[1]],
        message,
    )
