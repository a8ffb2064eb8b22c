"""OTLP: batches as JSON, as the Collector's exporter `file` writes them, with contents that were stored elsewhere.

OpenTelemetry's GenAI utilities can upload the messages of a span (`OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK=upload`).
The span then has `gen_ai.input.messages_ref` and the like: the URI of a file with a JSON list, or with an item a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprise_formats.importers.spans import Unreadable, json_text, sent_span_id, sent_trace_id, text

CONTENT_BYTES = 16 * 1024 * 1024
"""The largest file of contents."""
RECORD_BYTES = 256 * 1024 * 1024
"""The contents of a record together: a record may refer to one file a thousand times."""
_REFERENCE = "_ref"
_INDEX = "index"
_NAMES = ("gen_ai.conversation.id", "session.id")


@dataclass(frozen=True)
class UploadedContents:
    """The local folders of files by the beginning of their URIs. Files outside a folder are not read."""

    folders: Mapping[str, Path] = field(default_factory=dict)

    def read(self, uri: str) -> list[Any]:
        """Return the items of a file. Raises `Unreadable` if it is not there, too large, or holds no list."""
        path = self._path(uri)
        try:
            # Opening a named pipe would wait for a writer.
            if path.exists() and not path.is_file():
                raise Unreadable(f"refers to {uri}, which is no file ({path})")
            with path.open("rb") as file:
                content = file.read(CONTENT_BYTES + 1)
        except (OSError, ValueError) as error:
            raise Unreadable(f"refers to {uri}: {getattr(error, 'strerror', None) or error} ({path})") from error
        if len(content) > CONTENT_BYTES:
            raise Unreadable(f"refers to {uri}, which is larger than {CONTENT_BYTES // 1024 // 1024} MiB")
        try:
            items = [json.loads(line) for line in content.splitlines() if line.strip()]
        except (RecursionError, ValueError) as error:
            raise Unreadable(f"refers to {uri}, which is no JSON") from error
        if len(items) == 1 and isinstance(items[0], list):
            return items[0]
        return [{key: value for key, value in item.items() if key != _INDEX} for item in _objects(uri, items)]

    def _path(self, uri: str) -> Path:
        begin = max((begin for begin in self.folders if uri.startswith(begin)), key=len, default=None)
        if begin is None:
            raise Unreadable(f"refers to {uri}: copy this content, and name its folder with --content URI=FOLDER")
        folder = self.folders[begin].resolve()
        try:
            path = (folder / uri[len(begin) :].lstrip("/")).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise Unreadable(f"refers to {uri}, which names no file") from error
        if not path.is_relative_to(folder):
            raise Unreadable(f"refers to {uri}, which is outside {folder}")
        return path


def _objects(uri: str, items: list[Any]) -> list[dict[str, Any]]:
    if all(isinstance(item, dict) for item in items):
        return items
    raise Unreadable(f"refers to {uri}, which has lines that are no objects")


@dataclass(frozen=True)
class RecordedSpan:
    """A span of OTLP JSON with its resource and its scope."""

    resource: Any
    scope: Any
    span: Mapping[str, Any]
    trace_id: str
    conversation: str | None

    def resource_spans(self, scope: str) -> bytes:
        """Return an entry of `resourceSpans` as JSON. Its ids are hashed as by `spans.to_otlp`."""
        ids = {"traceId": sent_trace_id(scope, self.trace_id)}
        for name in ("spanId", "parentSpanId"):
            if self.span.get(name):
                ids[name] = sent_span_id(scope, self.trace_id, str(self.span[name]))
        scope_spans = {"scope": self.scope, "spans": [{**self.span, **ids}]}
        entry = {"resource": self.resource, "scopeSpans": [scope_spans]}
        return json_text(entry).encode("utf-8", "replace")


@dataclass
class _Contents:
    """The contents that one record refers to."""

    uploaded: UploadedContents
    _left: int = field(default_factory=lambda: RECORD_BYTES)

    def attribute(self, attribute: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an attribute, or the content to which it refers. Raises `Unreadable`."""
        key = str(attribute.get("key"))
        uri = _text(attribute)
        if not (uri and key.startswith("gen_ai.") and key.endswith(_REFERENCE)):
            return attribute
        content = json_text(self.uploaded.read(uri))
        self._left -= len(content)
        if self._left < 0:
            raise Unreadable(f"refers to more than {RECORD_BYTES // 1024 // 1024} MiB of content")
        return {"key": key.removesuffix(_REFERENCE), "value": {"stringValue": content}}


@dataclass(frozen=True)
class Otlp:
    """Converts batches of spans. Links are left out: they name traces by ids that an import replaces."""

    contents: UploadedContents = field(default_factory=UploadedContents)

    def __call__(self, record: Mapping[str, Any], _at_ns: int) -> Sequence[RecordedSpan]:
        if "resourceSpans" not in record:
            kinds = [name for name in ("resourceLogs", "resourceMetrics") if name in record]
            raise Unreadable(f"has {kinds[0]}, and only spans are imported" if kinds else "has no resourceSpans")
        return list(self._spans(record, _Contents(self.contents)))

    def _spans(self, record: Mapping[str, Any], contents: _Contents) -> Iterator[RecordedSpan]:
        for resource_spans in _list(record, "resourceSpans"):
            resource = resource_spans.get("resource") or {}
            for scope_spans in _list(resource_spans, "scopeSpans"):
                scope = scope_spans.get("scope") or {}
                for span in _list(scope_spans, "spans"):
                    yield self._span(resource, scope, span, contents)

    def _span(self, resource: Any, scope: Any, span: Mapping[str, Any], contents: _Contents) -> RecordedSpan:
        trace_id = text(span.get("traceId"))
        if not trace_id or not text(span.get("spanId")):
            raise Unreadable("has a span without traceId and spanId")
        attributes = [contents.attribute(attribute) for attribute in _list(span, "attributes")]
        named = [attribute for attribute in attributes if attribute.get("key") in _NAMES]
        texts = {attribute["key"]: _text(attribute) for attribute in named}
        conversation = next((texts[name] for name in _NAMES if texts.get(name)), None)
        kept = {name: value for name, value in span.items() if name != "links"}
        return RecordedSpan(resource, scope, {**kept, "attributes": attributes}, trace_id, conversation)


def _list(parent: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = parent.get(name) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unreadable(f"has {name} that are no list of objects")
    return items


def _text(attribute: Mapping[str, Any]) -> str | None:
    value = attribute.get("value")
    return text(value.get("stringValue")) if isinstance(value, dict) else None
