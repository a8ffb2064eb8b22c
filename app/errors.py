"""The errors that Reprise raises on purpose; `app/http/errors.py` maps each to its HTTP status."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The errors of code that reads data of an unexpected shape."""


class ServiceError(Exception):
    """The base class of all errors that a caller may see; the text is the message."""


class Invalid(ServiceError):
    """The request can't be understood, or exceeds a limit (400).

    Each of its `problems` is a sentence after the path of a field: `placeholders.0.key: …`.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Unauthorized(ServiceError):
    """The key is missing, malformed, unknown, revoked or expired (401)."""


class Forbidden(ServiceError):
    """The key or the member may not do this (403)."""


class NotFound(ServiceError):
    """The object does not exist, or belongs to another project; the answer is the same (404)."""


def require(value: T | None, message: str) -> T:
    """Return the value; raise `NotFound` with the message if it is None."""
    if value is None:
        raise NotFound(message)
    return value


class Conflict(ServiceError):
    """The present state does not allow the request (409)."""


class StaleDraft(ServiceError):
    """The draft changed since the caller read it (412)."""


class TooLarge(ServiceError):
    """The body is too large, before or after decompression (413)."""


class UnsupportedMediaType(ServiceError):
    """The content type or encoding is not accepted; the message lists the accepted ones (415)."""


class RateLimited(ServiceError):
    """The key, the user or the address has exhausted its requests per minute (429)."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ProviderError(ServiceError):
    """The model's vendor failed after all retries; the text is the vendor's, without credentials (502)."""


class ProviderTimeout(ProviderError):
    """The model's vendor did not answer in time (504)."""


class WaitTimeout(ServiceError):
    """A run lasts longer than a caller may wait; it continues, and its result will be in the log (504)."""


class Unavailable(ServiceError):
    """The database, Redis or the workers are temporarily unavailable; the caller should retry (503)."""
