"""Errors of a vendor's SDK in words; secrets and Retry-After."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.failures import failure, retry_after_s, scrub

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


class SdkError(Exception):
    """The facts as OpenAI's and Anthropic's SDKs carry them."""

    def __init__(self, text, status_code=None, body=None, headers=None):
        super().__init__(text)
        self.status_code, self.body = status_code, body
        self.response = httpx.Response(status_code or 200, headers=headers or {})


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
    assert retry_after_s(httpx.Headers(headers), NOW) == seconds


@pytest.mark.parametrize(
    ("status", "retryable", "outage"),
    [(400, False, False), (401, False, False), (404, False, False), (408, True, False), (429, True, False),
     (500, True, True), (502, True, True), (503, True, True), (529, True, True)],
)  # fmt: skip
def test_the_status_says_whether_to_ask_again(status, retryable, outage):
    told = failure(SdkError("x", status, {"error": {"message": "words"}}), "OPENAI", None, NOW)

    assert (told.retryable, told.outage) == (retryable, outage)
    assert str(told).endswith(": words")


def test_the_vendors_words_win_over_those_of_the_sdk_around_them():
    inner = SdkError("Error code: 500 - {...}", 500, {"message": "Out of GPUs"}, {"retry-after": "3"})
    outer = RuntimeError("[openai] wrapped")
    outer.__cause__ = inner

    told = failure(outer, "OPENAI", None, NOW)

    assert (str(told), told.retry_after_s) == ("OPENAI answered 500: Out of GPUs", 3.0)


def test_a_broken_connection_is_told_by_its_root_and_worth_another_try():
    outer = RuntimeError("Connection error.")
    outer.__cause__ = httpx.ConnectError("All connection attempts failed")

    told = failure(outer, "DEEPSEEK", None, NOW)

    assert "All connection attempts failed" in str(told)
    assert (told.retryable, told.outage) == (True, True)


def test_an_error_sent_in_the_middle_of_a_stream_is_worth_another_try():
    told = failure(SdkError("x", 200, {"error": {"message": "Overloaded"}}), "ANTHROPIC", None, NOW)

    assert (told.retryable, told.outage) == (True, False)
    assert "Overloaded" in str(told)


def test_an_error_of_our_own_making_is_not_tried_again():
    assert not failure(ValueError("no such field"), "OPENAI", None, NOW).retryable


def test_a_page_of_html_is_cut_short():
    assert len(str(failure(SdkError("<html>" * 5000, 502), "OPENAI", None, NOW))) == 2000
