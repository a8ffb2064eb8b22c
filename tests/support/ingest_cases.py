"""Batches that are written down by hand, and the sessions that they must become: tests/data/ingest_cases."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.exports import pairs_of, value_of

DATA = Path(__file__).parents[1] / "data" / "ingest_cases"
BEGIN_NS, SECOND_NS = 1_795_000_000 * 10**9, 10**9
OK, ERROR = 1, 2


@dataclass(frozen=True)
class Case:
    """One entry of a file, `name` begins with the letter of the file."""

    name: str
    written: dict[str, Any]

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """The sessions that the batch must become, the earliest first."""
        return list(self.written["sessions"])

    def headers(self, key: str) -> dict[str, str]:
        return {name: value.replace("$API_KEY", key) for name, value in self.written.get("headers", {}).items()}

    def sent(self) -> Sent:
        """The case with trace ids that no other test has."""
        sent = Sent()
        sent.groups.extend(sent.group(written) for written in self.written["spans"])
        sent.records.extend(sent.record(written) for written in self.written.get("logs", ()))
        return sent


@dataclass
class Sent:
    """Spans, each in a group of its scope, and log records."""

    groups: list[dict[str, Any]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    traces: dict[str, str] = field(default_factory=dict)
    spans: dict[str, str] = field(default_factory=dict)

    def at_once(self) -> dict[str, Any]:
        return batch_of(self.groups)

    def in_pieces(self) -> Iterator[dict[str, Any]]:
        """A batch for each span, the last span first."""
        return (batch_of([group]) for group in reversed(self.groups))

    def group(self, written: dict[str, Any]) -> dict[str, Any]:
        begin, end = (time_of(second) for second in written["at"])
        span = {
            "traceId": self._trace(written),
            "spanId": self._span(written["id"]),
            "name": written["name"],
            "startTimeUnixNano": begin,
            "endTimeUnixNano": end,
            "attributes": attributes_of(written),
            "events": [event_of(event) for event in written.get("events", ())],
        }
        if parent := written.get("parent"):
            span["parentSpanId"] = self._span(parent)
        if "error" in written:
            span["status"] = {"code": ERROR, "message": written["error"]}
        elif written.get("ok"):
            span["status"] = {"code": OK}
        return {"scope": {"name": written["scope"]}, "spans": [span]}

    def record(self, written: dict[str, Any]) -> dict[str, Any]:
        ids = {"traceId": self._trace(written), "spanId": self._span(written["span"])} if "span" in written else {}
        return {
            **ids,
            "timeUnixNano": time_of(written["at"]),
            "eventName": written["event"],
            "attributes": attributes_of(written),
            **({"body": value_of(plain(written["body"]))} if "body" in written else {}),
        }

    def _trace(self, written: dict[str, Any]) -> str:
        """What names no trace is of one trace."""
        return self.traces.setdefault(written.get("trace", ""), secrets.token_hex(16))

    def _span(self, name: str) -> str:
        return self.spans.setdefault(name, secrets.token_hex(8))


def batch_of(groups: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": groups}]}


def event_of(written: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": written["name"],
        "timeUnixNano": time_of(written["at"]),
        "attributes": attributes_of(written),
    }


def attributes_of(written: dict[str, Any]) -> list[dict[str, Any]]:
    return pairs_of({key: plain(value) for key, value in written.get("attributes", {}).items()})


def plain(value: Any) -> Any:
    """A value with its JSON as text: `{"$json": value}` is the text of `value`, which may have others in it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$json"}:
        return json.dumps(plain(value["$json"]))
    return {key: plain(inner) for key, inner in value.items()}


def time_of(second: float) -> str:
    return str(BEGIN_NS + round(second * 1000) * (SECOND_NS // 1000))


def cases() -> list[Case]:
    return [
        Case(f"{path.stem[0]} {name}", written)
        for path in sorted(DATA.glob("*.json"))
        for name, written in json.loads(path.read_text()).items()
    ]


def read_wrongly() -> set[str]:
    """The names of the cases that are still read wrongly."""
    lines = (DATA / "still_wrong.txt").read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}
