"""How long vendors ask to wait."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.failures import refused
from app.providers.waits import WAIT_MAX_S, retry_after_s, wait_s

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SOON = NOW + timedelta(seconds=30)


def refusal(headers=None, message="words", **error):
    """The failure of a 429 with this error."""
    body = json.dumps({"error": {"message": message, **error}}).encode()
    return refused("OPENAI", None, NOW, 429, headers or {}, body)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "1.25s"}, 1.25),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "1.5", "retry-after": "7"}, 0.0015),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": format_datetime(SOON, usegmt=True)}, 30.0),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=30), usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "\u00b2"}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(headers, seconds):
    assert retry_after_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("delay", "seconds"), [("7s", 7.0), ("3.5s", 3.5), ("-1s", None), ("soon", None), (7, None), ("s", None)]
)
def test_the_delay_in_the_details_of_googles_errors_is_read(delay, seconds):
    details = ["odd", {"@type": "type.googleapis.com/google.rpc.Help"}, {"retryDelay": delay}]
    assert refusal(details=details).retry_after_s == seconds


def test_a_header_wins_over_the_delay_in_the_details():
    assert refusal({"retry-after": "3"}, details=[{"retryDelay": "9s"}]).retry_after_s == 3.0


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ({"retry_after": 2.5}, 2.5),
        ({"retry_after": "2.5"}, 2.5),
        ({"retry_after_ms": 250}, 0.25),
        ({"metadata": {"retry_after": 4}}, 4.0),
        ({"retry_after": True}, None),
        ({"retry_after": {}}, None),
        ({"retry_after": -1}, None),
    ],
)
def test_a_field_of_the_error_is_read(error, seconds):
    assert refusal(**error).retry_after_s == seconds


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Rate limit reached. Please try again in 20s. Contact us.", 20.0),
        ("Please try again in 6m0.5s.", 360.5),
        ("Please try again in 250ms.", 0.25),
        ("Please retry in 34.074824224s.", 34.074824224),
        ("Please retry after 26 seconds.", 26.0),
        ("try again in 1 minute 5 seconds", 65.0),
        ("Please try again in 1h2m3s", 3723.0),
        ("Please try again later.", None),
        ("You used 20s.", None),
    ],
)
def test_the_words_of_the_error_are_read(words, seconds):
    assert refusal(message=words).retry_after_s == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "120ms",
          "x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "6m0s"}, 0.12),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(SOON.timestamp() * 1000))}, 30.0),
        ({"x-ratelimit-reset": str(int(SOON.timestamp()))}, 30.0),
        ({"x-ratelimit-reset": "7.66"}, 7.66),
        ({"anthropic-ratelimit-requests-remaining": "0",
          "anthropic-ratelimit-requests-reset": "2026-01-01T12:00:30Z"}, 30.0),
        ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "6m0s"}, None),
        ({"x-ratelimit-reset": "never"}, None),
        ({"x-ratelimit-reset": str(int(NOW.timestamp()) - 9)}, 0.0),
    ],
)  # fmt: skip
def test_the_limit_that_is_used_up_names_its_end(headers, seconds):
    assert refusal(headers).retry_after_s == seconds


@given(st.text(alphabet="0123456789.smhd -:TZ²\n", max_size=300), st.sampled_from(["retry-after", "x-ratelimit-reset"]))
def test_any_value_is_a_bounded_wait_or_none(value, name):
    seconds = wait_s({name: value}, {"retry_after": value}, f"try again in {value}", NOW)
    assert seconds is None or 0 <= seconds <= WAIT_MAX_S


def test_a_wait_beyond_a_day_is_a_day():
    assert refusal({"retry-after": "9" * 400}).retry_after_s == WAIT_MAX_S


@pytest.mark.parametrize("part", ["1ms", "1s ", "1.5m", "1milli", "12hours "])
@pytest.mark.parametrize("end", ["!", "x!", ""])
def test_a_long_duration_has_one_reading(part, end):
    """With a second reading of each part, one of these texts would need hours."""
    value = (part * 40)[: 99 - len(end)] + end
    assert refusal({"retry-after": value}).retry_after_s is None or not end
