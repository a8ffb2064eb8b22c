"""Batches of OTLP JSON become spans with their contents, or a reason why not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_formats.importers import otlp
from reprise_formats.importers.otlp import CONTENT_BYTES, Otlp, UploadedContents
from reprise_formats.importers.spans import Unreadable

INPUT = "gen_ai.input.messages"
MESSAGES = [{"role": "user", "parts": [{"type": "text", "content": "Where is A-1? 🚚"}]}, {"role": "system"}]
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))


def record(uri: str, **fields: Any) -> dict[str, Any]:
    attributes = [{"key": f"{INPUT}_ref", "value": {"stringValue": uri}}]
    span = {"traceId": "ab", "spanId": "cd", "name": "chat", "attributes": attributes, **fields}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": [span]}]}]}


def attributes_of(uri: str, contents: UploadedContents, **fields: Any) -> dict[str, Any]:
    (span,) = Otlp(contents)(record(uri, **fields), 0)
    (sent,) = json.loads(span.resource_spans("x"))["scopeSpans"][0]["spans"]
    return {attribute["key"]: attribute["value"] for attribute in sent["attributes"]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a_inputs.json", json.dumps(MESSAGES)),
        ("a_inputs.json", json.dumps(MESSAGES, indent=None) + "\n"),
        ("a_inputs.jsonl", "\n".join(json.dumps(message | {"index": n}) for n, message in enumerate(MESSAGES))),
        ("deeper/a.jsonl", "\n\n".join(map(json.dumps, MESSAGES)) + "\n"),
    ],
)
def test_a_reference_becomes_the_content_of_its_file(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")

    attributes = attributes_of(
        f"s3://traces/{name}", UploadedContents({"s3://": Path("/none"), "s3://traces": tmp_path})
    )

    assert json.loads(attributes[INPUT]["stringValue"]) == MESSAGES
    assert f"{INPUT}_ref" not in attributes


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("gs://other/a.json", "copy this content, and name its folder with --content"),
        ("s3://traces/../secret.json", "outside"),
        ("s3://traces/link.json", "outside"),
        ("s3://traces/missing.json", "No such file"),
        ("s3://traces/folder", "no file"),
        ("s3://traces/pipe", "no file"),
        ("s3://traces/a\0b", "names no file"),
        ("s3://traces/words.json", "no JSON"),
        ("s3://traces/numbers.jsonl", "lines that are no objects"),
        ("s3://traces/latin.json", "no JSON"),
        ("s3://traces/large.json", "larger than 16 MiB"),
    ],
)
def test_content_that_cannot_be_read_is_named(tmp_path: Path, uri: str, reason: str) -> None:
    folder = tmp_path / "traces"
    folder.joinpath("folder").mkdir(parents=True)
    tmp_path.joinpath("secret.json").write_text("[]")
    folder.joinpath("link.json").symlink_to(tmp_path / "secret.json")
    os.mkfifo(folder / "pipe")
    folder.joinpath("words.json").write_text("not [json")
    folder.joinpath("numbers.jsonl").write_text("1\n2\n")
    folder.joinpath("latin.json").write_bytes(b'["\xe9"]')
    with folder.joinpath("large.json").open("wb") as large:
        large.truncate(CONTENT_BYTES + 1)

    with pytest.raises(Unreadable, match=f"(?s)refers to .*{reason}"):
        attributes_of(uri, UploadedContents({"s3://traces/": folder}))


def test_a_record_that_refers_to_one_file_again_and_again_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("a.json").write_text(json.dumps(["x" * 100]))
    monkeypatch.setattr(otlp, "RECORD_BYTES", 1_000)
    reference = {"key": f"{INPUT}_ref", "value": {"stringValue": "s3://a.json"}}
    read = Otlp(UploadedContents({"s3://": tmp_path}))

    assert read(record("", attributes=[reference] * 9), 0)
    assert read(record("", attributes=[reference] * 9), 0), "each record has its own bound"
    with pytest.raises(Unreadable, match="more than"):
        read(record("", attributes=[reference] * 10), 0)


def test_other_attributes_and_fields_are_kept_and_links_are_not() -> None:
    fields = {"kind": 3, "events": [{"name": "gen_ai.choice"}], "links": [{"traceId": "ef"}], "parentSpanId": "01"}
    attributes = [
        {"key": "x_ref", "value": {"stringValue": "s3://traces/a"}},
        {"key": "gen_ai.conversation.id", "value": {"stringValue": "c-1"}},
        {"key": "n", "value": {"intValue": "7"}},
        *({"key": key, "value": {"stringValue": "no name"}} for key in ({"a": 1}, [], None, 7)),
    ]

    (span,) = Otlp()(record("", attributes=attributes, **fields), 0)
    entry = json.loads(span.resource_spans("x"))

    (sent,) = entry["scopeSpans"][0]["spans"]
    assert (span.conversation, sent["attributes"]) == ("c-1", attributes)
    assert (sent["kind"], sent["events"], "links" in sent) == (3, fields["events"], False)
    assert [len(sent[name]) for name in ("traceId", "spanId", "parentSpanId")] == [32, 16, 16]
    assert json.loads(span.resource_spans("y"))["scopeSpans"][0]["spans"][0]["traceId"] != sent["traceId"]


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        ({}, "has no resourceSpans"),
        ({"resourceLogs": []}, "has resourceLogs, and only spans are imported"),
        ({"resourceSpans": 7}, "has resourceSpans that are no list of objects"),
        (record("", traceId=""), "has a span without traceId and spanId"),
        (record("", attributes=[7]), "has attributes that are no list of objects"),
    ],
)
def test_a_batch_that_cannot_be_read_has_a_reason(batch: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unreadable, match=f"^{reason}$"):
        Otlp()(batch, 0)


@given(fields=st.dictionaries(st.sampled_from(["traceId", "spanId", "attributes", "links", "kind", "events"]), JSON))
def test_any_span_is_sent_or_has_a_reason(fields: dict[str, Any]) -> None:
    try:
        sent = [json.loads(span.resource_spans("x")) for span in Otlp()(record("", **fields), 0)]
    except Unreadable:
        return
    assert [len(entry["scopeSpans"][0]["spans"][0]["traceId"]) for entry in sent] == [32]
