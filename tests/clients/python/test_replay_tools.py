"""Tools of a program: functions outside of a replay, and the results of the replay within one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from reprise_client.replay import ReplayedToolError, tool

from tests.fakes.json_server import serving


@tool
def refund(order_id: str, amount: int = 5, **more: Any) -> dict[str, Any]:
    """Refund an order."""
    return {"refunded": order_id, "amount": amount, **more}


@tool(name="look-up")
async def look_up(order_id: str) -> str:
    return f"found {order_id}"


def test_outside_of_a_replay_a_call_goes_to_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPRISE_REPLAY_TOKEN", raising=False)
    assert refund("A-1", reason="late") == {"refunded": "A-1", "amount": 5, "reason": "late"}
    assert asyncio.run(look_up("A-1")) == "found A-1"
    assert (refund.__name__, refund.__doc__) == ("refund", "Refund an order.")


ANSWERS: dict[str, tuple[int, Any]] = {
    "refund": (200, {"result": {"refunded": "B-2"}, "error": None}),
    "look-up": (200, {"result": None, "error": "tool unavailable for these arguments"}),
}


def test_in_a_replay_the_function_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(_method: str, path: str, headers: Any, body: Any) -> tuple[int, Any]:
        asked.append((path, headers["Authorization"], body))
        return ANSWERS[body["name"]]

    with serving(answer) as url:
        monkeypatch.setenv("REPRISE_REPLAY_URL", url)
        monkeypatch.setenv("REPRISE_REPLAY_TOKEN", "rpp_1")
        assert refund("A-1", amount=7, reason="late") == {"refunded": "B-2"}
        with pytest.raises(ReplayedToolError, match="look-up: tool unavailable"):
            asyncio.run(look_up(order_id="A-1"))
    sent = {"order_id": "A-1", "amount": 7, "reason": "late"}
    assert asked[0] == ("/api/replay/tools", "Bearer rpp_1", {"name": "refund", "arguments": sent})
    assert asked[1][2] == {"name": "look-up", "arguments": {"order_id": "A-1"}}


def test_a_replay_that_refuses_or_is_gone_is_an_error_and_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_REPLAY_TOKEN", "rpp_1")
    with serving(lambda *_: (400, {"error": "The replay ends with this turn."})) as url:
        monkeypatch.setenv("REPRISE_REPLAY_URL", url)
        with pytest.raises(ReplayedToolError, match="The replay ends with this turn"):
            refund("A-1")
    with pytest.raises(ReplayedToolError, match="the replay does not answer"):
        refund("A-1")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_leads_the_token_to_no_other_host(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    asked = []

    def answer(_method: str, path: str, headers: Any, _body: Any) -> tuple[int, Any]:
        asked.append((path, headers["Authorization"]))
        return 200, {"result": "forged", "error": None}

    monkeypatch.setenv("REPRISE_REPLAY_TOKEN", "rpp_1")
    with serving(answer) as other, serving(lambda *_: (status, None, {"Location": f"{other}/x"})) as url:
        monkeypatch.setenv("REPRISE_REPLAY_URL", url)
        with pytest.raises(ReplayedToolError, match=f"refund: {url}/api/replay/tools answered {status}"):
            refund("A-1")
    assert asked == []


@pytest.mark.parametrize("content", [b"", b"[]", b"[" * 100_000, b"<html>", b'{"result": 1}', b'{"error": null}', b"7"])
def test_an_answer_of_something_else_is_an_error(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setenv("REPRISE_REPLAY_TOKEN", "rpp_1")
    with serving(lambda *_: (200, content)) as url:
        monkeypatch.setenv("REPRISE_REPLAY_URL", url)
        with pytest.raises(ReplayedToolError, match="did not answer as Reprise does"):
            refund("A-1")


def test_an_answer_has_a_limit_of_bytes_and_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_REPLAY_TOKEN", "rpp_1")
    with serving(lambda *_: (200, {"result": "x" * 1_000, "error": None})) as url:
        monkeypatch.setenv("REPRISE_REPLAY_URL", url)
        with monkeypatch.context() as patch:
            patch.setattr("reprise_client.replay.ANSWER_MAX", 1_000)
            with pytest.raises(ReplayedToolError, match="more than 1000 bytes"):
                refund("A-1")
        moments = iter([0.0, 61.0])
        monkeypatch.setattr("reprise_client.replay.monotonic", lambda: next(moments))
        with pytest.raises(ReplayedToolError, match="took too long"):
            refund("A-1")
