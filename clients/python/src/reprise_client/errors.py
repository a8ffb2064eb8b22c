"""The errors of the client, all of them a `RepriseError`; the message of an answer's error is the server's."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

RETRY_AFTER_MAX_S = 3600.0
MESSAGE_MAX = 2000


class RepriseError(Exception):
    """The root of all errors of this client."""


class ConfigurationError(RepriseError, ValueError):
    """An argument or an environment variable that no request can be made of."""


class UnreachableError(RepriseError):
    """No answer: the server is away, the network is slow, or something else answers at its address."""


class RunTimeoutError(RepriseError, TimeoutError):
    """A run lasts longer than the caller waits. It continues: `run_id`, if it is known, leads to its result."""

    def __init__(self, message: str, run_id: int | None = None) -> None:
        super().__init__(message)
        self.run_id = run_id


class ApiError(RepriseError):
    """An answer with an error.

    `status` is that of HTTP. `run_id` is the id of the run, if the request began one.
    """

    def __init__(self, message: str, status: int = 0, run_id: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.run_id = run_id


class InvalidRequestError(ApiError):
    """The request can't be understood or is out of the server's limits (400, 413, 415)."""


class AuthenticationError(ApiError):
    """The API key is missing, unknown, revoked or expired (401)."""


class ForbiddenError(ApiError):
    """The API key lacks the scope for the request (403)."""


class NotFoundError(ApiError):
    """The prompt, label, version or run does not exist in the key's project (404)."""


class ConflictError(ApiError):
    """The state on the server does not allow the request (409, 412)."""


class RateLimitedError(ApiError):
    """The key has used up its requests of this minute (429). `retry_after_s` is when to ask again."""

    def __init__(
        self, message: str, status: int = 429, run_id: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, status, run_id)
        self.retry_after_s = retry_after_s


class ServerError(ApiError):
    """The server or the vendor of the model failed (500 to 599), or the answer is none of Reprise.

    `retry_after_s` is when to ask again, if the server sent it.
    """

    def __init__(
        self, message: str, status: int = 500, run_id: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, status, run_id)
        self.retry_after_s = retry_after_s


_BY_STATUS: dict[int, type[ApiError]] = {
    401: AuthenticationError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: ConflictError,
}


def error_of(status: int, message: str, run_id: int | None = None, retry_after_s: float | None = None) -> ApiError:
    """Return the error of an answer with this status, 300 or more."""
    message = message[:MESSAGE_MAX]
    if status == 429:
        return RateLimitedError(message, status, run_id, retry_after_s)
    if status in _BY_STATUS:
        return _BY_STATUS[status](message, status, run_id)
    if 400 <= status < 500:
        return InvalidRequestError(message, status, run_id)
    return ServerError(message, status, run_id, retry_after_s)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After`, which has a number or a date, from 0 to an hour; None without it."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), RETRY_AFTER_MAX_S)
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    now = datetime.now(timezone.utc)
    return min(max((at.replace(tzinfo=at.tzinfo or timezone.utc) - now).total_seconds(), 0.0), RETRY_AFTER_MAX_S)


def how_to_install(extras: str) -> str:
    """Return how the package is installed with more packages, as in its README: no index has it."""
    wheel = f'pip install "$(echo build/clients/reprise_client-*.whl)[{extras}]"'
    return f"{wheel}, in Reprise's repository, where `make clients` builds it"
