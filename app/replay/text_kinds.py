"""Finds out what kind of text an argument is: a value, code, prose, or a search (docs/reference/gate.md)."""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from unicodedata import category

from app.replay.case_types import Effect, StringKind
from app.replay.tables import TABLES, words
from app.values.json_pointer import format_pointer

SEVERAL_WORDS = 2
SEVERAL_CHARACTERS = 8  # of a text in a script that has no spaces between words
LONGEST = 20_000  # characters of a text that is read as code, or of which the shape is looked at
# Of a schema, which is asked about each text of a call. A longer reference leads to nothing.
LONGEST_REFERENCE = 1_000  # characters
CHOICES_READ = 20  # alternatives of which the first object is looked for

_NOTHING: Mapping[str, Any] = {}
_CODE_KEYS, _SEARCH_KEYS, SHELL_KEYS = words("keys", "code"), words("keys", "search"), words("keys", "shell")
_PROSE_KEYS = words("prose", "keys")
_EDIT_KEYS, _FILE_KEYS = frozenset(" ".join(TABLES["keys"]["edits"]).split()), words("keys", "files")
_DOCUMENTS = tuple(TABLES["keys"]["documents"].split())
FIXED_BY_SCHEMA = ("enum", "const", "format", "pattern")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-\s.]+")
_BARE = re.compile(r"[\w-]*")
_PATH = re.compile(r"(?:[A-Za-z]:\\|[a-z][a-z0-9+.-]{0,20}://|[.~]{0,2}/)\S*|[\w.@-]++(?>(?:[/\\][\w.@*-]++)+)/?")
EAST_ASIAN = re.compile(r"[\u1100-\u11ff\u3040-\u9fff\uac00-\ud7af]")
_RATE = re.compile(r"[0-9][0-9.,]*[^\W\d_]{1,4}/[^\W\d_]{1,4}")  # 25hl/h
_SQL_STATEMENT = re.compile(
    r"(?>(?:\s++|--[^\n]*+\n|/\*(?![!M+])(?>(?:[^*]|\*(?!/))*)\*/)*)"  # comments
    r"(?:(?:begin|start)\b[a-z ]{0,20};\s*)?(?:(?:explain\s+)?select\b.{0,2000}?\bfrom\b"
    r"|insert\s+into\b|update\s+\S+\s+set\b|delete\s+from\b|merge\s+into\b"
    r"|update\s+\S+\s+(?:as\s+)?\w+\s+set\s+[\w.`]+\s*="
    r"|(?:create|drop|alter|truncate)\s+(?:or\s+replace\s+)?(?:table|view|index|database|schema|function)\b"
    r"|(?:grant|revoke)\s+(?:select|insert|update|delete|all|usage|execute|create|connect)\b[^.!?]{0,500}\bon\b"
    r"|call\s+[\w.`]{1,200}\(|exec(?:ute)?\s+(?:@|\w{0,100}[_.]\w)|pragma\s+[\w.]{1,100}\s*=|vacuum\s*;?\s*\Z|do\s+\$"
    r"|with\s+\w+(?:\s*\([^)]{0,200}\))?\s+as\s*\()",
    re.IGNORECASE | re.DOTALL,
)
_SHELL = re.compile(
    r"\s*[a-z][a-z0-9_.+-]{0,30}\s(?:.*\s)?(?:--?[a-zA-Z][\w-]*(?:[=\s]|$)|[|&]{1,2}\s|>{1,2}\s?\S)", re.DOTALL
)
_CODE_LINE = re.compile(
    r".*(?:[{};]|\)\s*:|=>|->|\\)\s*|\s*(?:def|class|func|fn|function)\s++(?:\w++\s*+)?[(:{<].*|\s*(?:const|let|var)\s+\w+\s*=.*"
    r"|\s*(?:if|for|while|switch)\s*\(.*|\s*(?:if|for|while|elif|else|try|except)\b[^.!?]*:|\s*return\b.*;|#include.*"
    r"|\s*from\s+\S+\s+import\b.*|\s*import\s+[\w.]+(?:\s+as\s+\w+)?;?|\s*[\w.]+\([^()]*\)\s*|(?:@@|---|\+\+\+) .*"
    r"|\s*[\w.\[\]\"']+\s*(?:[-+*/|&]?=|==|!=)\s*\S.*",
    re.ASCII,  # `予約内容(TK-20817)` is no call: programs are written in the letters of ASCII
)
AROUND_WORDS = ".,;:!?…\"'()[]“”„‘’«»¿¡*_<>"
# Words in lower case that are parts of names.
_PARTICLES = frozenset(
    ("von", "van", "de", "der", "den", "di", "da", "del", "della", "do", "dos", "das", "du", "la", "le", "el")
)


def kind_of(key: str, schema: Mapping[str, Any], text: str, effect: Effect, *, in_document: bool = False) -> StringKind:
    """Return the kind of a text: by its schema, then by the key that it is under, then by its shape.

    `in_document`: the call edits a file of prose (see `edits_document`), so that the key of an edit names no code.
    """
    media = schema.get("contentMediaType")
    if isinstance(media, str) and media.split(";")[0].strip() not in ("text/plain", "text/markdown", "text/html"):
        return "code"
    if any(keyword in schema for keyword in FIXED_BY_SCHEMA):
        return "value"
    name = _HUMP.sub("_", key).lower()
    if _is_named(name, _CODE_KEYS) and not _BARE.fullmatch(text) and not (in_document and key in _EDIT_KEYS):
        return "code"
    if is_code(text):
        return "code"
    if effect == "read":
        return "search" if _is_named(name, _SEARCH_KEYS) or is_language(text) else "value"
    return "prose" if is_language(text) or (_is_named(name, _PROSE_KEYS) and _has_several_words(text)) else "value"


def kinds_of(arguments: Any, schema: Mapping[str, Any], effect: Effect) -> dict[str, StringKind]:
    """Return the kinds of the texts of a call by JSON pointer, with `*` for places of lists; values are left out."""
    in_document = edits_document(arguments)
    kinds = (
        (format_pointer(path), kind_of(key_of(path), part, text, effect, in_document=in_document))
        for path, part, text in _texts(arguments, schema)
    )
    return {pointer: kind for pointer, kind in kinds if kind != "value"}


def edits_document(arguments: Any) -> bool:
    """Return True for the arguments of a call that names one file, by an ending for files of prose."""
    if not isinstance(arguments, Mapping):
        return False
    files = [value for key, value in arguments.items() if _is_named(_HUMP.sub("_", key).lower(), _FILE_KEYS)]
    return len(files) == 1 and isinstance(files[0], str) and files[0].lower().endswith(_DOCUMENTS)


def is_code(text: str) -> bool:
    """Return True for a text with the shape of SQL, a shell command, source code, a path, an address or JSON."""
    text = text[:LONGEST].strip()
    if _is_path(text) or is_sql(text) or _is_json(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and _SHELL.match(text) and not text.endswith((".", "!", "?")):
        return True
    return bool(lines) and 2 * sum(_CODE_LINE.fullmatch(line) is not None for line in lines) >= len(lines)


def _is_path(text: str) -> bool:
    """Return True for a path or an address; words of Chinese, Japanese or Korean with a slash between them are none."""
    if not _PATH.fullmatch(text) or _RATE.fullmatch(text):
        return False
    is_rooted = text.startswith(("/", "~", "."))
    return is_rooted or "." in text.rpartition("/")[2] or not EAST_ASIAN.search(text)


def is_sql(text: str) -> bool:
    """Return True for a text that begins as a statement of SQL does."""
    return _SQL_STATEMENT.match(text) is not None


def is_language(text: str) -> bool:
    """Return True for several words, of which one is neither a name nor a number."""
    shown = words_of(text)
    if any("\u3040" <= char <= "\u9fff" or "\u0e00" <= char <= "\u0eff" for char in text[:LONGEST]):
        return len(text) >= SEVERAL_CHARACTERS
    if sum(any(map(str.isalpha, word)) for word in shown) < SEVERAL_WORDS:
        return False
    return any(
        len(word) > 1 and word[0].isalpha() and word.islower() and word not in _PARTICLES for word in shown
    ) or any(char > "\xff" and category(char) == "Lo" for word in shown for char in word[:1])


def _has_several_words(text: str) -> bool:
    """Return True for several words without digits, which may all be names or nouns of German."""
    shown = (word for word in words_of(text) if any(map(str.isalpha, word)) and not any(map(str.isdecimal, word)))
    return next(islice(shown, SEVERAL_WORDS - 1, None), None) is not None


def words_of(text: str) -> list[str]:
    """Return the words at the beginning of a text, without the punctuation around them."""
    return [word.strip(AROUND_WORDS) for word in text[:LONGEST].split()]


def schema_at(schema: Mapping[str, Any], path: Sequence[str | int]) -> Mapping[str, Any]:
    """Return the schema of the value at a path, empty where there is none; of several alternatives the first object."""
    part: Mapping[str, Any] = _resolved(schema, schema)
    for name in path:
        properties = part.get("properties")
        below = properties.get(name) if isinstance(properties, Mapping) else None
        if below is None and (name == "*" or str(name).isdecimal()):
            below = part.get("items")
        part = _resolved(below, schema)
    return part


def _resolved(part: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with what its reference, or the first of its alternatives that is no null, adds."""
    if not isinstance(part, Mapping):
        return _NOTHING
    if "$ref" not in part and "anyOf" not in part and "oneOf" not in part and "allOf" not in part:
        return part
    parts: list[Any] = []
    for _ in range(8):  # references may lead in a circle
        if not isinstance(part, Mapping):
            break
        parts.append(part)
        below: Any = None
        reference = part.get("$ref")
        if isinstance(reference, str) and len(reference) <= LONGEST_REFERENCE and reference.startswith("#/"):
            below = root
            for name in reference[2:].split("/"):
                below = below.get(name) if isinstance(below, Mapping) else None
        else:
            choices: list[Any] = next(
                (part[key] for key in ("anyOf", "oneOf", "allOf") if isinstance(part.get(key), list)), []
            )
            below = next(
                (
                    choice
                    for choice in choices[:CHOICES_READ]
                    if isinstance(choice, Mapping) and choice.get("type") != "null"
                ),
                None,
            )
        part = below
    return ChainMap(*parts)  # not a merged copy: a schema may be large, and is asked about each text of a call


def _is_named(name: str, keys: frozenset[str]) -> bool:
    return name in keys or name.rpartition("_")[2] in keys


def _is_json(text: str) -> bool:
    if text[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def key_of(path: Sequence[str]) -> str:
    """Return the last key of a path; that of a list for its places."""
    return next((name for name in reversed(path) if name != "*" and not name.isdecimal()), "")


def _texts(value: Any, schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any], str]]:
    """Yield the path, the schema and the text of every text in a JSON value."""
    pending: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while pending:
        path, inner = pending.pop()
        if isinstance(inner, dict):
            pending += [((*path, key), child) for key, child in reversed(inner.items())]
        elif isinstance(inner, list):
            pending += [((*path, "*"), child) for child in reversed(inner)]
        elif isinstance(inner, str):
            yield path, schema_at(schema, path), inner
