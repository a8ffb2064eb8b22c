"""Imports recorded exports of other tools in the way of the command `reprise import`, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reprise_formats.importers import CONVERTERS, Convert
from reprise_formats.importers.records import read
from reprise_formats.importers.sending import Import

from tests.support.world import World

DATA = Path(__file__).parents[1] / "data" / "imports"
AT_NS = 1_760_000_000_000_000_000

# Files that hold the conversation `CONVERSATION`, each with the tool that wrote it.
FILES = {
    "langfuse.observations.json": "langfuse",
    "langfuse.blob.jsonl": "langfuse",
    "langsmith.runs.jsonl": "langsmith",
    "langsmith.page.json": "langsmith",
    "phoenix.spans.json": "phoenix",
    "phoenix.dataframe.jsonl": "phoenix",
}
REFUNDS = [{"order": order, "refunded": 500} for order in ("A-1", "A-2")]
CONVERSATION = [
    ("Where is my order A-1?", [("find", {"order": "A-1"}, "on its way"), "It is on its way."]),
    (
        "Refund A-1 and A-2, 5 € each.",
        [
            *(("refund", {"order": refund["order"], "cents": 500}, refund) for refund in REFUNDS),
            "Both are refunded. 🎉",
        ],
    ),
]


def import_file(
    world: World, prompt_id: int, tool: str, file: Path, convert: Convert | None = None
) -> tuple[Import, list[str]]:
    """Return the finished import, and what it reported."""
    reports: list[str] = []

    def send(body: bytes, headers: dict[str, str]) -> Any:
        names = {name.replace("-", "_"): value for name, value in headers.items()}
        return world.send_to(prompt_id, body, **names)

    run = Import(convert or CONVERTERS[tool], f"{tool}/{prompt_id}", send, reports.append)
    with file.open("rb") as opened:
        run.run(read(opened), AT_NS)
    return run, reports


def sessions(world: World, prompt_id: int) -> list[dict[str, Any]]:
    """Return the prompt's sessions, newest first."""
    entries = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"]
    return [world.get(f"/api/v1/sessions/{entry['id']}").json for entry in entries]


def said(session: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    """Return each turn's user and steps: a tool call as name, arguments and result, an answer as text.

    Calls that ran side by side are in the order of their arguments.
    """
    return [(turn["user"], _steps(turn["steps"])) for turn in session["turns"]]


def _steps(steps: list[dict[str, Any]]) -> list[Any]:
    calls = [(step["name"], step["arguments"], step["result"]) for step in steps if step["kind"] == "tool_call"]
    return [*sorted(calls, key=str), *(step["text"] for step in steps if step["kind"] == "answer")]
