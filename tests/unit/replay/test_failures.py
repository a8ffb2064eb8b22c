"""Results that report a failure, in the forms of public APIs, and results that report what was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from app.replay.failures import reports_failure

FAILURES: list[Any] = [
    {"error": "column netto_kr does not exist"},
    {"error": {"code": 403, "message": "Forbidden", "status": "PERMISSION_DENIED"}},  # Google
    {"error": {"type": "invalid_request_error", "param": "amount"}},  # Stripe
    {"ok": False, "error": "channel_not_found"},  # Slack
    {"success": False, "message": "Try again later."},
    {"errors": [{"message": "Field 'x' doesn't exist"}], "data": None},  # GraphQL
    {"isError": True, "content": [{"type": "text", "text": "Invalid date"}]},  # MCP
    {"is_error": True, "content": "Timed out"},
    {"type": "about:blank", "title": "Conflict", "status": 409, "detail": "Already booked"},  # RFC 9457
    {"statusCode": 500, "body": "Internal Server Error"},
    {"status": "error", "message": "unavailable"},
    {"fel": "42703", "meddelande": "kolumnen finns inte"},
    {"Fehler": "Termin belegt"},
    {"erreur": {"code": "E12"}},
    {"エラー": "タイムアウト"},
    {"errorMessage": "Task timed out after 3.00 seconds", "errorType": "Sandbox.Timedout"},  # AWS Lambda
    {"exception": "ValueError", "traceback": "…"},
    "Error: user not found",
    "ERROR:  relation \"orders\" does not exist\nLINE 1: SELECT",
    "Traceback (most recent call last):\n  File \"x.py\", line 1",
    "TypeError: Cannot read properties of undefined",
    "java.lang.IllegalStateException: closed",
    "Fehler: Termin belegt",
    "Erreur : solde insuffisant",
]  # fmt: skip
RESULTS: list[Any] = [
    {"error": None, "items": []},
    {"errors": [], "data": {"id": 1}},
    {"error": "", "rows": 3},
    {"errors": [{"message": "partly"}], "data": {"id": 1}},
    {"status": "failed", "payment": "p-1"},
    {"status": "rejected", "reason": "limit"},
    {"status": 200, "body": "ok"},
    {"status": 404_118, "customer": "x"},
    {"error_rate": 0.2},
    {"errors": 3, "warnings": 1, "log": "a.txt"},
    {"success": True, "error": None},
    {"valid": False, "errors": ["name is missing"], "form": "F-1"},
    {"ok": None},
    {"message": "Done"},
    "The error was mended yesterday.",
    "Errors: 0, warnings: 2",
    "No error",
    "Terror in the night",
    "",
    None,
    0,
    False,
    [],
    [{"error": "x"}],
    {},
]


@pytest.mark.parametrize("result", FAILURES, ids=str)
def test_a_result_of_a_failed_call_reports_a_failure(result: Any) -> None:
    assert reports_failure(result)


@pytest.mark.parametrize("result", RESULTS, ids=str)
def test_a_result_with_what_was_asked_for_reports_none(result: Any) -> None:
    assert not reports_failure(result)


def test_a_huge_result_is_not_read_for_it() -> None:
    assert not reports_failure({f"key {n}": n for n in range(100_000)})
    assert reports_failure("Error: " + "x" * 2_000_000)
