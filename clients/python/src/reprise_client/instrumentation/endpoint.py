"""Sends batches to the address of a prompt, and reads what Reprise answers."""

from __future__ import annotations

# Imported by the first request of a process, which a thread makes: see `prepare`.
import encodings.idna  # noqa: F401
import time
from dataclasses import dataclass
from typing import Any

import httpx

from reprise_client import tls
from reprise_client.forks import forks_wait
from reprise_client.limits import ENCODING, ending, limited
from reprise_client.whole_answers import whole_answer

_AWAY = (408, 429, 502, 503, 504)
# What proxies, firewalls and ingresses answer while Reprise is not behind them. Reprise adds a message and a code.
_OF_PROXIES = (401, 403, 404, 405, 407, 421)
_WORDS_MAX = 500
ANSWER_MAX = 1_000_000
"""Bytes of an answer to a batch, which has a number and a message."""


@dataclass(frozen=True)
class Stored:
    """Reprise has the batch. `rejected` of its spans are not stored, for the reason in `words`."""

    rejected: int = 0
    words: str = ""


@dataclass(frozen=True)
class BatchRefused:
    """Reprise refuses the batch, however often it is sent, for the reason in `words`."""

    words: str


@dataclass(frozen=True)
class Away:
    """Reprise can't store the batch now. `retry_after_s` is the time it asked for."""

    words: str
    retry_after_s: float | None = None
    broken: bool = False
    """An error of the server that may be due to this very batch."""


Outcome = Stored | BatchRefused | Away


@dataclass(frozen=True)
class TraceEndpoint:
    """The address of a prompt's spans and the key that may write to it."""

    url: str
    api_key: str
    timeout_s: float = 10.0

    def prepare(self) -> None:
        """Import what a client imports when it is made.

        A child that is forked while a thread imports a module waits for that module for ever.
        """
        self.open().close()

    def open(self) -> httpx.Client:
        """Return a client that is to be used by one thread of one process."""
        headers = {
            "Authorization": f"Bearer {self.api_key}",
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
            **ENCODING,
        }
        timeout = httpx.Timeout(self.timeout_s, connect=min(self.timeout_s, 5.0))
        with forks_wait:
            return limited(httpx.Client(headers=headers, timeout=timeout, verify=tls.default()))

    def send(self, http: httpx.Client, body: bytes) -> Outcome:
        """Send a compressed batch once."""
        try:
            until = time.monotonic() + self.timeout_s
            with ending(until), http.stream("POST", self.url, content=body) as response:
                return read_answer(whole_answer(response, bytes_max=ANSWER_MAX, until=until))
        except (httpx.TransportError, httpx.DecodingError) as error:
            return Away(f"{type(error).__name__}: {error}")


def read_answer(response: httpx.Response) -> Outcome:
    """Return what an answer means for the batch that was sent."""
    status = response.status_code
    if status in _AWAY:
        return Away(_words(response), _seconds(response.headers.get("Retry-After")))
    if status >= 500:
        return Away(_words(response), broken=True)
    answer = _json(response)
    if status >= 300:
        is_of_proxy = (status < 400 or status in _OF_PROXIES) and not {"message", "code"} <= answer.keys()
        return Away(_words(response)) if is_of_proxy else BatchRefused(_words(response))
    if "partialSuccess" not in answer:
        return Away("the answer is not that of Reprise")
    partial = answer["partialSuccess"] if isinstance(answer["partialSuccess"], dict) else {}
    return Stored(_count(partial.get("rejectedSpans")), _short(partial.get("errorMessage")))


def _words(response: httpx.Response) -> str:
    message = _json(response).get("message")
    return f"{response.status_code}: {_short(message or response.text)}"


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        content = response.json()
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _short(text: Any) -> str:
    return " ".join(str(text or "").split())[:_WORDS_MAX]


def _count(value: Any) -> int:
    """Return a number of OTLP JSON, which is text."""
    digits = str(value)[:19]
    return int(digits) if digits.isdecimal() else 0


def _seconds(retry_after: str | None) -> float | None:
    return float(retry_after) if retry_after and retry_after.isdecimal() and len(retry_after) < 6 else None
