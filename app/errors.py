"""The errors that Reprise raises on purpose, with their codes and HTTP statuses."""

from __future__ import annotations

from typing import ClassVar, TypeVar

T = TypeVar("T")


MALFORMED_DATA = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The errors that Python raises in code that reads data of an unexpected shape."""


class ServiceError(Exception):
    """The base class of all errors that a caller may see; the text is the message.

    `code` is stored with a run or another piece of work that failed. `status` is the status of the HTTP answer. A
    subclass that is declared without a code has the code and the status of its base class.
    """

    code: ClassVar[str]
    status: ClassVar[int]

    def __init_subclass__(cls, *, code: str = "", status: int = 0) -> None:
        if code:
            cls.code, cls.status = code, status
            BY_CODE[code] = cls


BY_CODE: dict[str, type[ServiceError]] = {}
"""The errors by their code."""


class Invalid(ServiceError, code="invalid", status=400):
    """The request can't be understood, or exceeds a limit.

    Each of its `problems` is a sentence after the path of a field: `placeholders.0.key: …`.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Unauthorized(ServiceError, code="unauthorized", status=401):
    """The key is missing, malformed, unknown, revoked or expired."""


class Forbidden(ServiceError, code="forbidden", status=403):
    """The key or the member may not do this."""


class NotFound(ServiceError, code="not_found", status=404):
    """The object does not exist, or belongs to another project; the answer is the same."""


def require(value: T | None, message: str) -> T:
    """Return the value; raise `NotFound` with the message if it is None."""
    if value is None:
        raise NotFound(message)
    return value


class Conflict(ServiceError, code="conflict", status=409):
    """The present state does not allow the request."""


class Cancelled(ServiceError, code="cancelled", status=409):
    """Somebody cancelled what the caller waits for."""


class StaleDraft(ServiceError, code="stale_draft", status=412):
    """The draft changed since the caller read it."""


class TooLarge(ServiceError, code="too_large", status=413):
    """The body is too large, before or after decompression."""


class UnsupportedMediaType(ServiceError, code="unsupported", status=415):
    """The content type or encoding is not accepted; the message lists the accepted ones."""


class RateLimited(ServiceError, code="rate_limited", status=429):
    """The key, the user or the address has exhausted its requests per minute."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ProviderError(ServiceError, code="provider", status=502):
    """The model's vendor failed after all retries; the text is the vendor's, without credentials."""


class ProviderTimeout(ProviderError, code="provider_timeout", status=504):
    """The model's vendor did not answer in time."""


class WaitTimeout(ServiceError, code="wait_timeout", status=504):
    """A run lasts longer than a caller may wait; it continues, and its result will be in the log."""


class Unavailable(ServiceError, code="unavailable", status=503):
    """The database, Redis or the workers are temporarily unavailable; the caller should retry."""
