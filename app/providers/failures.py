"""Turns errors of vendors into failures: the message without credentials, and if a retry may help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any
from urllib.parse import quote

import httpx
import orjson
from urllib3.exceptions import HTTPError

from app.errors import ProviderError
from app.storable import storable_text

_HIDDEN = "***"
_MESSAGE_LIMIT = 2_000
_REFUSED_KEY = frozenset({401, 403})
# Google answers 400 to a key it does not know, and says so only in the details.
_GOOGLE_REFUSES_KEY = "API_KEY_INVALID"
_WORTH_ANOTHER_TRY = frozenset({408, 429})
_OUT_OF_FUNDS = "insufficient_quota"
_BROKEN = (httpx.TransportError, HTTPError, HTTPException, OSError)


class ProviderFailure(ProviderError):
    """A failed attempt to call a model. An `outage` is not the request's fault, and counts for the circuit breaker."""

    def __init__(
        self, message: str, *, retryable: bool = False, outage: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.outage = outage
        self.retry_after_s = retry_after_s


def failure(error: BaseException, vendor: str, secret: str | None, now: datetime) -> ProviderFailure:
    """Describe an error of a vendor's SDK, or of any-llm around it, or a broken connection, to the caller."""
    causes = tuple(_causes(error))
    if known := next((cause for cause in causes if isinstance(cause, ProviderFailure)), None):
        return known
    status = next((status for cause in causes if (status := _status(cause)) is not None), None)
    refuses_key = any(_GOOGLE_REFUSES_KEY in str(cause) for cause in causes)
    message = _told(vendor, status, _message(causes), secret, refuses_key=refuses_key)
    if status is None or status < 400:
        broken = any(isinstance(cause, _BROKEN) for cause in causes)
        failed_midway = any(getattr(cause, "body", None) is not None for cause in causes)
        return ProviderFailure(message, retryable=broken or failed_midway, outage=broken)
    headers = next((headers for cause in causes if (headers := _headers(cause)) is not None), {})
    out_of_funds = any(getattr(cause, "code", None) == _OUT_OF_FUNDS for cause in causes)
    return _refused(message, status, headers, now, out_of_funds=out_of_funds)


def refused(
    vendor: str, secret: str | None, now: datetime, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderFailure:
    """Describe an answer in OpenAI's format whose status is none of success."""
    try:
        sent = orjson.loads(body)
    except orjson.JSONDecodeError:
        sent = None
    text = _words(sent) or body.decode(errors="replace").strip() or "no reason is given"
    error = sent.get("error") if isinstance(sent, dict) else None
    out_of_funds = isinstance(error, dict) and error.get("code") == _OUT_OF_FUNDS
    return _refused(_told(vendor, status, text, secret), status, headers, now, out_of_funds=out_of_funds)


def failed_midway(vendor: str, secret: str | None, sent: Any) -> ProviderFailure | None:
    """Return the failure that a piece of an answer in OpenAI's format tells of, in the place of a choice."""
    if not isinstance(sent, dict) or not sent.get("error"):
        return None
    return ProviderFailure(_told(vendor, None, _words(sent) or str(sent["error"]), secret), retryable=True)


def _refused(
    message: str, status: int, headers: Mapping[str, str], now: datetime, *, out_of_funds: bool
) -> ProviderFailure:
    return ProviderFailure(
        message,
        # OpenAI says 429 also when the account has no money left, which no waiting cures.
        retryable=status >= 500 or (status in _WORTH_ANOTHER_TRY and not out_of_funds),
        outage=status >= 500,
        retry_after_s=retry_after_s(headers, now),
    )


def _told(vendor: str, status: int | None, message: str, secret: str | None, *, refuses_key: bool = False) -> str:
    if status in _REFUSED_KEY or refuses_key:
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


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error's causes, then the error itself: the vendor's own exception comes before any-llm's."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = getattr(error, "original_exception", None) or error.__cause__ or error.__context__
    yield from seen[1:]
    yield from seen[:1]


def _status(error: BaseException) -> int | None:
    """Return the HTTP status, which OpenAI and Anthropic call `status_code` and Google `code`."""
    candidates = (getattr(error, name, None) for name in ("status_code", "code"))
    return next((value for value in candidates if isinstance(value, int)), None)


def _headers(error: BaseException) -> Mapping[str, str] | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return headers if isinstance(headers, Mapping) else None


def _message(causes: tuple[BaseException, ...]) -> str:
    from_body = next((message for cause in causes if (message := _body_message(cause))), None)
    broken = next((str(cause) for cause in reversed(causes) if isinstance(cause, httpx.TransportError)), None)
    return from_body or broken or str(causes[0]) or type(causes[0]).__name__


def _body_message(error: BaseException) -> str | None:
    """Return the message in the vendor's body, which OpenAI and Anthropic keep as `body` and Google as `details`."""
    bodies = (getattr(error, "body", None), getattr(error, "details", None))
    return next((message for body in bodies if (message := _words(body))), None)


def _words(body: object) -> str | None:
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    return message if isinstance(message, str) else None
