"""Batches that were written to a file, with contents in another store, become the session that they are when sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reprise_formats.importers.otlp import Otlp, UploadedContents

from tests.integration.replays.recording import prompt
from tests.support.imports import import_file, said, sessions
from tests.support.world import World

CONTENTS = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions")
STORE = "s3://traces/agent"
RECORDED = Path(__file__).parents[2] / "data" / "otlp"
# Each with the form of its files.
RUNS = {
    "ai7.tools_parallel": "json",
    "padk.tools_parallel": "jsonl",
    "paf.tools_sequential": "json",
    "pga.tools_parallel": "jsonl",
    "pp.tools_parallel": "json",
    "ptlg.tools_parallel": "jsonl",
}


@pytest.mark.parametrize(("run", "form"), RUNS.items())
def test_an_import_with_contents_gives_the_session_of_the_same_batch_when_sent(
    world: World, tmp_path: Path, run: str, form: str
) -> None:
    recorded = RECORDED.joinpath(f"{run}.1.json").read_text().replace("service.prompt.id", "app.unused")
    direct, imported = prompt(world), prompt(world)
    assert world.send_to(direct, recorded.encode(), Content_Type="application/json").status_code == 200
    folder, file = tmp_path / "contents", tmp_path / "traces.jsonl"
    folder.mkdir()
    file.write_text(json.dumps(uploaded(json.loads(recorded), folder, form)) + "\n")
    convert = Otlp(UploadedContents({STORE: folder}))

    done, reports = import_file(world, imported, "otlp", file, convert)
    again, _ = import_file(world, imported, "otlp", file, convert)

    assert list(folder.iterdir())
    assert (done.sessions, done.unread, again.unread, reports) == (1, 0, 0, [])
    assert list(map(shown, sessions(world, imported))) == list(map(shown, sessions(world, direct)))


def test_a_batch_without_its_contents_is_not_imported_and_can_be_later(world: World, tmp_path: Path) -> None:
    recorded = RECORDED.joinpath("pga.tools_parallel.1.json").read_text().replace("service.prompt.id", "app.unused")
    folder, file = tmp_path / "contents", tmp_path / "traces.jsonl"
    folder.mkdir()
    file.write_text(json.dumps(uploaded(json.loads(recorded), folder, "json")) + "\n")
    prompt_id, away = prompt(world), folder / "0.json"
    kept = away.rename(tmp_path / "0.json")

    done, reports = import_file(world, prompt_id, "otlp", file, Otlp(UploadedContents({STORE: folder})))

    assert (done.spans, done.unread, sessions(world, prompt_id)) == (0, 1, [])
    assert reports == [f"line 1: refers to {STORE}/0.json: No such file or directory ({away})"]
    kept.rename(away)
    done, reports = import_file(world, prompt_id, "otlp", file, Otlp(UploadedContents({STORE: folder})))
    assert (done.unread, reports, len(sessions(world, prompt_id))) == (0, [], 1)


def shown(session: dict[str, Any]) -> list[Any]:
    """Return the turns, without what an import replaces: ids of traces and spans."""
    turns = [(turn["usage"], turn["warnings"], turn["offeredTools"]) for turn in session["turns"]]
    return [session["conversationId"], said(session), turns]


def uploaded(batch: dict[str, Any], folder: Path, form: str) -> dict[str, Any]:
    """Return the batch with the URIs of its contents, which are in files of the folder.

    The files are those of OpenTelemetry's `UploadCompletionHook` in either form.
    """
    for span in spans_of(batch):
        for attribute in span["attributes"]:
            if attribute["key"] in CONTENTS and "stringValue" in attribute["value"]:
                items = json.loads(attribute["value"]["stringValue"])
                lines = [items] if form == "json" else [item | {"index": n} for n, item in enumerate(items)]
                name = f"{len(list(folder.iterdir()))}.{form}"
                folder.joinpath(name).write_text("".join(json.dumps(line) + "\n" for line in lines))
                attribute["key"] += "_ref"
                attribute["value"] = {"stringValue": f"{STORE}/{name}"}
    return batch


def spans_of(batch: dict[str, Any]) -> list[dict[str, Any]]:
    return [span for entry in batch["resourceSpans"] for scope in entry["scopeSpans"] for span in scope["spans"]]
