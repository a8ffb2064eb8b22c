"""`reprise test-cases effects` prints proposals, and saves only the confirmed ones."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner, Result
from reprise_client.cli import main

from tests.fakes.json_server import serving

READS = {"effect": "read", "reason": "It shows\nthe stock.", "model": "judge-1"}
TOOLS: dict[str, Any] = {
    "stock_peek": {"effect": "write", "proposedEffect": READS},
    "cash_back": {"effect": "write", "proposedEffect": READS | {"effect": "write", "reason": "It pays."}},
    "get_order": {"effect": "read", "proposedEffect": None},
    "of_an_older_server": {"effect": "write"},
}
CASE = {"id": 7, "name": "Stock", "tools": TOOLS}


def run(*arguments: str) -> tuple[Result, list[tuple[str, str, Any]]]:
    changes: list[tuple[str, str, Any]] = []

    def answer(method: str, path: str, _headers: Any, body: Any) -> tuple[int, Any]:
        if method != "GET":
            changes.append((method, path, body))
            return 200, CASE
        return 200, {"testCases": [CASE], "nextCursor": None}

    with serving(answer) as url:
        environment = {"REPRISE_URL": url, "REPRISE_API_KEY": "rp_key"}
        arguments = ("test-cases", "effects", "--prompt", "3", *arguments)
        return CliRunner().invoke(main, arguments, env=environment), changes


def test_proposals_are_printed_and_nothing_is_changed() -> None:
    ended, changes = run()

    assert ended.exit_code == 0, ended.output
    assert ended.stdout.splitlines() == [
        "7\tstock_peek\tread\tproposed\tIt shows\\nthe stock.",
        "7\tcash_back\twrite\tproposed\tIt pays.",
    ]
    assert changes == []


def test_only_the_named_tool_is_confirmed() -> None:
    ended, changes = run("--confirm", "stock_peek", "--confirm", "get_order")

    assert ended.stdout.splitlines()[0].split("\t")[:4] == ["7", "stock_peek", "read", "confirmed"]
    assert changes == [("PATCH", "/api/v1/test-cases/7", {"tools": {"stock_peek": {"effect": "read"}}})]


def test_an_effect_that_a_person_chose_is_set_whatever_is_proposed() -> None:
    ended, changes = run("--set", "cash_back=by_call", "--set", "get_order=write", "--confirm", "cash_back")

    assert [line.split("\t")[1:4] for line in ended.stdout.splitlines()] == [
        ["stock_peek", "read", "proposed"],
        ["cash_back", "by_call", "set"],
        ["get_order", "write", "set"],
    ]
    assert [body for _, _, body in changes] == [
        {"tools": {"cash_back": {"effect": "by_call"}}},
        {"tools": {"get_order": {"effect": "write"}}},
    ]


@pytest.mark.parametrize("text", ["cash_back", "cash_back=", "=read", "cash_back=both"])
def test_an_effect_that_there_is_not_is_refused(text: str) -> None:
    ended, changes = run("--set", text)

    assert (ended.exit_code, changes) == (2, [])
    assert "EFFECT one of read, write, by_call" in ended.output
