"""Refusals of vendors in words; secrets and Retry-After."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.failures import broken, failed_midway, refused, retry_after_s, scrub

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def refusal(status, message="words", headers=None, vendor="OPENAI", **error):
    """The failure of an answer with this status, whose error has this message."""
    body = json.dumps({"error": {"message": message, **error}}).encode()
    return refused(vendor, None, NOW, status, headers or {}, body)


@given(st.text(), st.text(min_size=8), st.text())
def test_a_scrubbed_text_never_holds_the_secret(before, secret, after):
    assert secret not in scrub(before + secret + after, secret)


def test_the_secret_is_scrubbed_from_urls_too():
    assert scrub("GET /?key=a%2Fb%3D&x=1 a/b=", "a/b=") == "GET /?key=***&x=1 ***"


@pytest.mark.parametrize("secret", [None, ""])
def test_without_a_secret_a_text_stays(secret):
    assert scrub("as it is", secret) == "as it is"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=30), usegmt=True)}, 30.0),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=30), usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(headers, seconds):
    assert retry_after_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("status", "retryable", "outage"),
    [(400, False, False), (401, False, False), (404, False, False), (408, True, False), (429, True, False),
     (500, True, True), (502, True, True), (503, True, True), (529, True, True)],
)  # fmt: skip
def test_the_status_says_whether_to_ask_again(status, retryable, outage):
    failure = refusal(status)

    assert (failure.retryable, failure.outage) == (retryable, outage)
    assert str(failure).endswith(": words")


@pytest.mark.parametrize(
    ("delay", "seconds"), [("7s", 7.0), ("7.5s", 7.5), ("-1s", None), ("soon", None), (7, None), ("s", None)]
)
def test_the_delay_in_the_details_of_googles_errors_is_read(delay, seconds):
    details = ["odd", {"@type": "type.googleapis.com/google.rpc.Help"}, {"retryDelay": delay}]
    assert refusal(429, vendor="GOOGLE", details=details).retry_after_s == seconds


def test_a_header_wins_over_the_delay_in_the_details():
    assert refusal(429, headers={"retry-after": "3"}, details=[{"retryDelay": "9s"}]).retry_after_s == 3.0


def test_a_key_that_google_does_not_know_is_named_in_the_details_only():
    failure = refusal(400, "API key not valid", vendor="GOOGLE", details=[{"reason": "API_KEY_INVALID"}])
    assert str(failure) == "GOOGLE refused the key: API key not valid"


def test_a_broken_connection_is_worth_another_try():
    failure = broken(ConnectionResetError("Connection reset by peer"), "DEEPSEEK", None)

    assert "Connection reset by peer" in str(failure)
    assert (failure.retryable, failure.outage) == (True, True)


def test_an_error_sent_in_the_middle_of_a_stream_is_worth_another_try():
    failure = failed_midway("ANTHROPIC", None, {"type": "error", "error": {"message": "Overloaded"}})

    assert (failure.retryable, failure.outage) == (True, False)
    assert "Overloaded" in str(failure)


def test_an_error_of_our_own_making_is_not_tried_again():
    assert not broken(ValueError("no such field"), "OPENAI", None).retryable


def test_a_page_of_html_is_cut_short():
    assert len(str(refused("OPENAI", None, NOW, 502, {}, b"<html>" * 5000))) == 2000
