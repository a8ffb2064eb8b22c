"""Pairs of arguments that were written before anybody had read the rules: one half was not looked at until the end."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.chat import ToolDefinition
from app.replay.case_types import CheckedCall, ToolRules
from app.replay.checks import Checker
from app.replay.effects import Tool, resolve
from app.replay.result_types import ProducedCall
from app.replay.texts.sources import Sources
from tests.support.documents import read_document

HALVES = {True: "looked at", False: "not looked at"}
DOCUMENT = orjson.loads(Path(__file__).with_suffix("").with_name("argument_pairs.json").read_bytes())


def _tool(entry: dict[str, Any], schema: dict[str, Any]) -> Tool:
    definition = ToolDefinition(entry["tool"], parameters=schema)
    return resolve(entry["tool"], ToolRules(effect=entry.get("effect")), definition, None)


@cache
def results(side: str) -> dict[str, str]:
    """Return the result of the comparison of each recorded call with its harmless or harmful version, by its name."""
    found = {}
    for pair in DOCUMENT["pairs"]:
        step = CheckedCall(name=pair["tool"], arguments=pair["recorded"])
        produced = ProducedCall(pair["tool"], pair[side], "", "read", "none")
        tools = {pair["tool"]: _tool(pair, pair["schema"])}
        found[pair["what"]] = Checker(tools, Sources).compare(step, produced).result
    return found


@cache
def effects() -> dict[str, str]:
    return {
        call["what"]: _tool(call, {"properties": {key: {} for key in call["arguments"]}})
        .called_with(call["arguments"])
        .effect
        for call in DOCUMENT["calls"]
    }


def test_no_harmful_arguments_pass_without_a_reader() -> None:
    assert len({pair["what"] for pair in DOCUMENT["pairs"]}) == len(DOCUMENT["pairs"])
    assert [what for what, result in results("harmful").items() if result == "passed"] == []


def test_no_call_that_writes_is_taken_for_a_read() -> None:
    found = effects()
    assert [call["what"] for call in DOCUMENT["calls"] if not call["reads"] and found[call["what"]] == "read"] == []


@pytest.mark.parametrize("seen", HALVES)
def test_the_page_shows_what_is_measured(seen: bool) -> None:
    pairs = [pair["what"] for pair in DOCUMENT["pairs"] if pair["seen"] is seen]
    reads = [call["what"] for call in DOCUMENT["calls"] if call["seen"] is seen and call["reads"]]
    failed = Counter(results("harmless")[what] for what in pairs)["failed"]
    writes = Counter(effects()[what] for what in reads)["write"]
    page = read_document("reference/measurements.md")

    assert (
        f"| {HALVES[seen]}, after | 0 of {len(pairs)} | {failed} of {len(pairs)} | {writes} of {len(reads)} |" in page
    )
