"""The errors that Reprise raises on purpose; `app/http/errors.py` maps each to its HTTP status."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The errors of code that reads data of a shape that it was not written for."""


class RepriseError(Exception):
    """The root of all errors that are meant to be seen by a caller; its text is the message."""


class Invalid(RepriseError):
    """The request can't be understood or is out of its limits (400).

    Each of its `problems` is a sentence, after the path of the field that it is about: `placeholders.0.key: …`.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Unauthorized(RepriseError):
    """No key, or one that is malformed, unknown, revoked or expired (401)."""


class Forbidden(RepriseError):
    """The key or the member may not do this (403)."""


class NotFound(RepriseError):
    """Does not exist, or belongs to another project: the caller can't tell which (404)."""


def require(found: T | None, message: str) -> T:
    """Return the value; raises `NotFound` with the message where it is None."""
    if found is None:
        raise NotFound(message)
    return found


class Conflict(RepriseError):
    """The state does not allow it (409)."""


class StaleDraft(RepriseError):
    """The draft changed since the caller read it (412)."""


class TooLarge(RepriseError):
    """A body over its limit, before or after decompression (413)."""


class UnsupportedMediaType(RepriseError):
    """A content type or encoding that is not accepted; the message says which are (415)."""


class RateLimited(RepriseError):
    """The key, the user or the address has used up its requests of this minute (429)."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ProviderError(RepriseError):
    """The model's vendor failed after all retries; the text is the vendor's own, never a credential (502)."""


class ProviderTimeout(ProviderError):
    """The model's vendor did not answer in time (504)."""


class WaitTimeout(RepriseError):
    """A run takes longer than a caller may wait; it goes on to its log (504)."""


class Unavailable(RepriseError):
    """The database, Redis or the workers are away for the moment; asking again is right (503)."""
