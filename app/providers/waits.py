"""Reads how long a vendor asks to wait before the next attempt: in headers, in the error, or in its message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

WAIT_MAX_S = 86_400.0
"""The longest wait that is read. Calls end sooner, so a longer one has the same effect."""
_UNIT_S = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_NUMBER = re.compile(r"\s*\d{1,500}(\.\d{0,500})?\s*", re.ASCII)
# Atomic groups: "1ms" must not also be read as "1m" and the letter "s", or a long text has exponentially many readings.
_PART = r"\d{1,20}+(?>(?:\.\d{1,20}+)?)\s?+(?>ms|milli|s|m|h|d)[a-z]{0,10}+"
_PARTS = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)\s?(ms|milli|s|m|h|d)[a-z]{0,10}", re.ASCII)
_DURATION = re.compile(rf"\s*(?>(?:{_PART}\s?+)+)", re.ASCII)
_IN_MESSAGE = re.compile(rf"\b(?:retry|again)\s(?:in|after)\s(?:about\s)?((?>(?:{_PART}\s?+)+))", re.ASCII)
_MESSAGE_MAX = 2_000
_DURATION_MAX = 100
# A plain number that is not below these is no duration but a time: seconds, or milliseconds, since 1970.
_EPOCH_S, _EPOCH_MS = 10**8, 10**11


def wait_s(headers: Mapping[str, str], error: object, message: str, now: datetime) -> float | None:
    """Return the seconds that the vendor asks to wait, with their fraction; None if it asks for none."""
    waits = (retry_after_s(headers, now), _in_error(error), _until_reset(headers, now), _in_message(message))
    seconds = next((wait for wait in waits if wait is not None), None)
    return None if seconds is None else min(seconds, WAIT_MAX_S)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds of `retry-after-ms` or Retry-After (RFC 9110 §10.2.3: a number, or a date)."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    if (seconds := _number(value)) is not None:
        return seconds
    if (seconds := _duration_s(value)) is not None:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return _seconds_until(at, now)


def _in_error(error: object) -> float | None:
    """Return the wait in the fields of an error; Google's is a `google.rpc.RetryInfo` in its details."""
    if not isinstance(error, dict):
        return None
    for source in (*details_of(error), error, error.get("metadata")):
        for key, scale in (("retryDelay", 1.0), ("retry_after_ms", 0.001), ("retry_after", 1.0)):
            value = source.get(key) if isinstance(source, dict) else None
            seconds = _duration_s(value) if isinstance(value, str) else None
            if seconds is None and key != "retryDelay":
                seconds = _number(str(value)) if isinstance(value, str | int | float) else None
            if seconds is not None:
                return seconds * scale
    return None


def details_of(error: object) -> Iterator[dict[str, Any]]:
    """Yield the details of Google's errors (https://google.aip.dev/193)."""
    details = error.get("details") if isinstance(error, dict) else None
    if isinstance(details, list):
        yield from (detail for detail in details if isinstance(detail, dict))


def _until_reset(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the wait until the limits that are used up begin again.

    OpenAI sends `x-ratelimit-remaining-tokens: 0` with `x-ratelimit-reset-tokens: 6m0s`, Anthropic
    `anthropic-ratelimit-tokens-reset` with a time, others `x-ratelimit-reset` with seconds since 1970.
    """
    sent = {name.lower(): value for name, value in headers.items() if "ratelimit" in name.lower()}
    used_up = [
        _reset_s(value, now)
        for name, value in sent.items()
        if "reset" in name and sent.get(name.replace("reset", "remaining"), "0").strip() == "0"
    ]
    return max((seconds for seconds in used_up if seconds is not None), default=None)


def _reset_s(value: str, now: datetime) -> float | None:
    if (number := _number(value)) is not None:
        if number < _EPOCH_S:
            return number
        return max(number / (1000 if number >= _EPOCH_MS else 1) - now.timestamp(), 0.0)
    if (seconds := _duration_s(value)) is not None:
        return seconds
    try:
        return _seconds_until(datetime.fromisoformat(value.strip()), now)
    except (ValueError, OverflowError):
        return None


def _in_message(message: str) -> float | None:
    """Return the wait that a message states, such as "try again in 20s"."""
    stated = _IN_MESSAGE.search(message[:_MESSAGE_MAX].lower())
    return _duration_s(stated[1]) if stated else None


def _seconds_until(at: datetime, now: datetime) -> float:
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds())


def _duration_s(value: str) -> float | None:
    """Return the seconds of a duration such as `7.5s`, `6m0s`, `120ms` or `1 minute 5 seconds`."""
    if len(value) > _DURATION_MAX or not _DURATION.fullmatch(value):
        return None
    return sum(float(number) * _UNIT_S[unit] for number, unit in _PARTS.findall(value))


def _number(value: str) -> float | None:
    return float(value) if _NUMBER.fullmatch(value) else None
