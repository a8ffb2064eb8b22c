"""Turns refusals of vendors, and connections that break, into failures without credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from http.client import HTTPException
from typing import Any, cast
from urllib.parse import quote

import orjson
from urllib3.exceptions import HTTPError

from app.errors import ProviderError
from app.providers.waits import details_of, wait_s
from app.values.storable import cut, storable_text

_HIDDEN = "***"
_MESSAGE_LIMIT = 2_000
_REFUSED_KEY = frozenset({401, 403})
# Google answers 400 to an unknown key; only the details name the reason.
_GOOGLE_REFUSES_KEY = "API_KEY_INVALID"
_UNACCEPTED = frozenset({400, 413, 422})
_LIMIT = re.compile(
    r"max_?(?:completion|new|output)?_?tokens|context (?:length|window|size)|tokens per minute", re.IGNORECASE
)
_WORTH_ANOTHER_TRY = frozenset({408, 409, 429})
_OUT_OF_FUNDS = "insufficient_quota"
# Azure answers 400 with this code when its filter stops a prompt.
_FILTERED = "content_filter"
_STATUS = re.compile(r"[45]\d\d", re.ASCII)
# The status of a type or code of errors that are sent in the place of an answer.
_STATUSES = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "insufficient_quota": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_WORD_KEYS = ("error", "message", "Message", "detail", "msg")
_PARTS_MAX = 5
_QUOTED_MAX = 200
_ON_THE_LINE = (HTTPError, HTTPException, OSError)


class ProviderFailure(ProviderError):
    """A failed attempt to call a model. An `outage` is not the request's fault, and counts for the circuit breaker.

    `unaccepted` is true if the vendor accepts no such request, whatever the key, and `filtered` if its filter stopped
    the prompt. `is_answered` is true if the model has answered and its answer can't be used: the vendor charges for it.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        outage: bool = False,
        retry_after_s: float | None = None,
        unaccepted: bool = False,
        filtered: bool = False,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.outage = outage
        self.retry_after_s = retry_after_s
        self.unaccepted = unaccepted
        self.filtered = filtered
        self.is_answered = False

    @property
    def refuses_limit(self) -> bool:
        """Whether the request was not accepted because of its limit of tokens: by its name, or with a long prompt."""
        return self.unaccepted and bool(_LIMIT.search(str(self)))


def broken(error: BaseException, vendor: str, secret: str | None) -> ProviderFailure:
    """Describe a connection that broke, or another error on the way to the vendor and back, to the caller."""
    on_the_line = isinstance(error, _ON_THE_LINE)
    cause = _cause(error)
    message = _described(vendor, None, str(cause) or type(cause).__name__, secret)
    return ProviderFailure(message, retryable=on_the_line, outage=on_the_line)


def _cause(error: BaseException, depth: int = 4) -> BaseException:
    """Return the innermost error: the messages of the ones around it name classes of Python."""
    inner = error.args[-1] if error.args else None
    return _cause(inner, depth - 1) if depth and isinstance(inner, BaseException) else error


def refused(
    vendor: str, secret: str | None, now: datetime, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderFailure:
    """Describe an answer that has the status of an error."""
    try:
        sent = orjson.loads(body)
    except orjson.JSONDecodeError:
        sent = None
    error = _error_in(sent)
    words = words_of(sent) or body.decode(errors="replace").strip() or "no reason is given"
    failure = _failure(vendor, secret, status, error, words)
    failure.retry_after_s = wait_s(headers, error, words, now)
    if (stated := headers.get("x-should-retry", "").lower()) in ("true", "false"):
        failure.retryable = stated == "true"
    return failure


def failed_midway(vendor: str, secret: str | None, sent: Any) -> ProviderFailure | None:
    """Return the failure that an error in the place of an answer, or of an event, reports."""
    if (error := _reported(sent)) is None:
        return None
    words = words_of(error) or str(error)
    if status := _status_of(error):
        return _failure(vendor, secret, status, error, words)
    return ProviderFailure(_described(vendor, None, words, secret), retryable=True)


def no_json(vendor: str, secret: str | None, sent: str) -> ProviderFailure:
    """Describe an answer, or an event, that is no JSON."""
    quoted = cut(scrub(sent, secret), _QUOTED_MAX).strip()
    return ProviderFailure(_described(vendor, None, f"the answer is no JSON: {quoted}", None))


def _failure(vendor: str, secret: str | None, status: int, error: object, words: str) -> ProviderFailure:
    reasons = [detail.get("reason") for detail in details_of(error)]
    code = error.get("code") if isinstance(error, dict) else None
    refuses_key = status in _REFUSED_KEY or _GOOGLE_REFUSES_KEY in reasons
    # OpenAI also answers 429 when the account has no money left; waiting does not help then.
    out_of_funds = code == _OUT_OF_FUNDS
    return ProviderFailure(
        _described(vendor, status, words, secret, refuses_key=refuses_key),
        retryable=status >= 500 or (status in _WORTH_ANOTHER_TRY and not out_of_funds),
        outage=status >= 500,
        unaccepted=status in _UNACCEPTED and not refuses_key,
        filtered=code == _FILTERED,
    )


def _error_in(sent: object) -> object:
    """Return the error in a body; Google's endpoint of OpenAI's format sends a list with it."""
    sent = sent[0] if isinstance(sent, list) and sent else sent
    return sent.get("error", sent) if isinstance(sent, dict) else sent


def _reported(sent: object) -> object:
    """Return the error that is sent in the place of an answer, None if there is none.

    vLLM sends an object of the kind "error", and OpenRouter puts the error into a choice.
    """
    sent = sent[0] if isinstance(sent, list) and sent else sent
    if not isinstance(sent, dict):
        return None
    if sent.get("error"):
        return cast("object", sent["error"])
    if sent.get("object") == "error":
        return sent
    choices = sent.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return (choice.get("error") or None) if isinstance(choice, dict) else None


def _status_of(error: object) -> int | None:
    """Return the status that an error names, by its code or by its type."""
    if not isinstance(error, dict):
        return None
    code = error.get("code")
    number = int(code) if isinstance(code, int) or (isinstance(code, str) and _STATUS.fullmatch(code)) else 0
    if 400 <= number < 600:
        return number
    names = (name for name in (error.get("type"), code) if isinstance(name, str))
    return next((_STATUSES[name] for name in names if name in _STATUSES), None)


def _described(vendor: str, status: int | None, message: str, secret: str | None, *, refuses_key: bool = False) -> str:
    if refuses_key:
        words = f"{vendor} refused the key: {message}"
    elif status is not None and status >= 400:
        words = f"{vendor} answered {status}: {message}"
    else:
        words = f"{vendor} could not be reached or did not answer properly: {message}"
    return storable_text(cut(scrub(words, secret), _MESSAGE_LIMIT))


def scrub(text: str, secret: str | None) -> str:
    """Replace the secret in a text, in its plain and in its URL-encoded form, with and without space around it."""
    for form in (secret, secret.strip(), quote(secret, safe="")) if secret and secret.strip() else ():
        text = text.replace(form, _HIDDEN)
    return text


def words_of(sent: object, depth: int = 4) -> str:
    """Return the words of an error in the forms of vendors and frameworks, "" without any."""
    if isinstance(sent, str):
        return sent.strip()
    if depth == 0:
        return ""
    if isinstance(sent, list):
        return "; ".join(filter(None, (words_of(part, depth - 1) for part in sent[:_PARTS_MAX])))
    if not isinstance(sent, dict):
        return ""
    words = next(filter(None, (words_of(sent.get(key), depth - 1) for key in _WORD_KEYS)), "")
    place = sent.get("loc")
    if words and isinstance(place, list):  # a validation error of FastAPI
        words = f"{'.'.join(map(str, place[:_PARTS_MAX]))}: {words}"
    # The words of the vendor behind OpenRouter.
    metadata = sent.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f"{words}: {raw}" if words and isinstance(raw, str) and raw else words
