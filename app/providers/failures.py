"""Turns refusals of vendors, and connections that break, into failures without credentials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any
from urllib.parse import quote

import orjson
from urllib3.exceptions import HTTPError

from app.errors import ProviderError
from app.values.storable import storable_text

_HIDDEN = "***"
_MESSAGE_LIMIT = 2_000
_REFUSED_KEY = frozenset({401, 403})
# Google answers 400 to an unknown key; only the details name the reason.
_GOOGLE_REFUSES_KEY = "API_KEY_INVALID"
_UNACCEPTED = frozenset({400, 422})
_WORTH_ANOTHER_TRY = frozenset({408, 429})
_OUT_OF_FUNDS = "insufficient_quota"
_ON_THE_LINE = (HTTPError, HTTPException, OSError)


class ProviderFailure(ProviderError):
    """A failed attempt to call a model. An `outage` is not the request's fault, and counts for the circuit breaker.

    `unaccepted` is true if the vendor accepts no such request, whatever the key.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        outage: bool = False,
        retry_after_s: float | None = None,
        unaccepted: bool = False,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.outage = outage
        self.retry_after_s = retry_after_s
        self.unaccepted = unaccepted


def broken(error: BaseException, vendor: str, secret: str | None) -> ProviderFailure:
    """Describe a connection that broke, or another error on the way to the vendor and back, to the caller."""
    on_the_line = isinstance(error, _ON_THE_LINE)
    message = _described(vendor, None, str(error) or type(error).__name__, secret)
    return ProviderFailure(message, retryable=on_the_line, outage=on_the_line)


def refused(
    vendor: str, secret: str | None, now: datetime, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderFailure:
    """Describe an answer that has the status of an error."""
    try:
        sent = orjson.loads(body)
    except orjson.JSONDecodeError:
        sent = None
    error = sent.get("error") if isinstance(sent, dict) else None
    details = list(_details(error))
    words = _words(sent) or body.decode(errors="replace").strip() or "no reason is given"
    refuses_key = status in _REFUSED_KEY or any(detail.get("reason") == _GOOGLE_REFUSES_KEY for detail in details)
    # OpenAI also answers 429 when the account has no money left; waiting does not help then.
    out_of_funds = isinstance(error, dict) and error.get("code") == _OUT_OF_FUNDS
    retry_after = retry_after_s(headers, now)
    return ProviderFailure(
        _described(vendor, status, words, secret, refuses_key=refuses_key),
        retryable=status >= 500 or (status in _WORTH_ANOTHER_TRY and not out_of_funds),
        outage=status >= 500,
        retry_after_s=_retry_delay_s(details) if retry_after is None else retry_after,
        unaccepted=status in _UNACCEPTED and not refuses_key,
    )


def failed_midway(vendor: str, secret: str | None, sent: Any) -> ProviderFailure | None:
    """Return the failure that an error in the place of an answer, or of an event, reports."""
    if not isinstance(sent, dict) or not sent.get("error"):
        return None
    return ProviderFailure(_described(vendor, None, _words(sent) or str(sent["error"]), secret), retryable=True)


def _details(error: object) -> Iterator[dict[str, Any]]:
    """Yield the details of Google's errors (https://google.aip.dev/193)."""
    details = error.get("details") if isinstance(error, dict) else None
    yield from (detail for detail in details if isinstance(detail, dict)) if isinstance(details, list) else ()


def _retry_delay_s(details: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the seconds of a `google.rpc.RetryInfo`; its delay is a text such as `7.5s`."""
    delays = (detail.get("retryDelay") for detail in details)
    seconds = (_seconds(delay[:-1]) for delay in delays if isinstance(delay, str) and delay.endswith("s"))
    return next((delay_s for delay_s in seconds if delay_s is not None), None)


def _described(vendor: str, status: int | None, message: str, secret: str | None, *, refuses_key: bool = False) -> str:
    if refuses_key:
        words = f"{vendor} refused the key: {message}"
    elif status is not None and status >= 400:
        words = f"{vendor} answered {status}: {message}"
    else:
        words = f"{vendor} could not be reached or did not answer properly: {message}"
    return storable_text(scrub(words, secret)[:_MESSAGE_LIMIT])


def scrub(text: str, secret: str | None) -> str:
    """Replace the secret in a text, in its plain and in its URL-encoded form, with and without space around it."""
    for form in (secret, secret.strip(), quote(secret, safe="")) if secret and secret.strip() else ():
        text = text.replace(form, _HIDDEN)
    return text


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds of `retry-after-ms` or Retry-After (RFC 9110 §10.2.3: a number, or a date)."""
    if milliseconds := headers.get("retry-after-ms"):
        return _seconds(milliseconds, scale=0.001)
    value = headers.get("retry-after", "")
    if (seconds := _seconds(value)) is not None:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds())


def _seconds(value: str, scale: float = 1.0) -> float | None:
    return float(value) * scale if value.strip().replace(".", "", 1).isdecimal() else None


def _words(body: object) -> str | None:
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    return message if isinstance(message, str) else None
