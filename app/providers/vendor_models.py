"""Calls the models of all vendors over HTTP, each in its wire format.

For events: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import orjson

from app import __version__
from app.chat import Answer, OnEvent, StreamEvent
from app.errors import ProviderTimeout, ServiceError
from app.providers.bounds import ANSWER_BYTES, AnswerReader
from app.providers.endpoints import endpoint_of
from app.providers.failures import ProviderFailure, broken, failed_midway, refused
from app.providers.http_client import HttpClient, is_timeout, pieces
from app.providers.types import Credential, ModelRequest
from app.providers.wires import Wire, wire_of

_HEADERS = {
    "content-type": "application/json",
    "accept-encoding": "gzip",
    "user-agent": f"reprise/{__version__}",
}
_LAST = "[DONE]"
_LINE_END = re.compile(r"\r\n|\n|\r")
# By how much a clock may be behind the one that waited for the deadline.
_TICK_S = 0.05


class VendorModels:
    """Makes one attempt per call, without retries. A `ProviderFailure` contains whether another attempt may help."""

    def __init__(
        self, utcnow: Callable[[], datetime] = lambda: datetime.now(UTC), *, answer_bytes: int = ANSWER_BYTES
    ) -> None:
        self._http = HttpClient()
        self._answer_bytes = answer_bytes
        self._utcnow = utcnow

    def complete(self, request: ModelRequest) -> Answer:
        wire = wire_of(request)
        decoder = wire.decoder(request)
        decoder.read_whole(_read(b"".join(self._received(request, wire, streamed=False)), request))
        return decoder.end()

    def stream(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        wire = wire_of(request)
        decoder = wire.decoder(request)
        with closing(self._received(request, wire, streamed=True)) as events:
            for event in events:
                if (data := _data(event)) == _LAST:
                    break
                for piece in decoder.read_event(_read(data, request)) if data else ():
                    on_event(piece)
        answer = decoder.end()
        for tool_call in answer.tool_calls:
            on_event(StreamEvent("tool_call", tool_call=tool_call))
        return answer

    def close(self) -> None:
        """Close the pooled connections; the next call opens them again."""
        self._http.close()

    def _received(self, request: ModelRequest, wire: Wire, *, streamed: bool) -> Generator[bytes, None, None]:
        """Yield the answer, in whole events where it is streamed; what goes wrong is an error of `app/errors.py`."""
        vendor, endpoint = request.model.vendor, endpoint_of(request)
        url = endpoint.base_url + wire.path(request, streamed=streamed)
        body = _encoded(wire.body(request, streamed=streamed))
        deadline = time.monotonic() + request.timeout_s
        try:
            with self._http.post(
                url, {**_HEADERS, **wire.headers, **endpoint.headers}, body, request.timeout_s
            ) as response:
                status, encoding = response.status, response.headers.get("content-encoding")
                reader = AnswerReader(status, encoding, answer_bytes=self._answer_bytes, streamed=streamed)
                answer = reader.read_all(pieces(response))
                if not 200 <= status < 300:
                    sent = b"".join(answer)
                    raise refused(vendor, endpoint.api_key, self._utcnow(), status, response.headers, sent)
                for piece in answer:
                    # Many events may have been received at once, before which no socket waits.
                    if time.monotonic() > deadline:
                        raise TimeoutError
                    yield piece
                return
        except ServiceError:
            raise
        except Exception as error:  # noqa: BLE001 - the edge to HTTP, which may break in any way on what is sent
            ours: ServiceError = (
                ProviderTimeout(f"{vendor} did not answer in time.")
                if is_timeout(error) and time.monotonic() > deadline - _TICK_S
                else broken(error, vendor, endpoint.api_key)
            )
        # Outside the except block: a log of this error must not bring the other one along, key and all.
        raise ours


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:  # an integer of more than 64 bits in a tool's schema, say
        return json.dumps(body).encode()


def _data(event: bytes) -> str:
    """Return the data of an event; "" for a comment."""
    lines = _LINE_END.split(event.decode(errors="replace"))
    return "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))


def _read(text: bytes | str, request: ModelRequest) -> Any:
    """Return the JSON of an answer, or of an event. Raises `ProviderFailure` for what reports an error."""
    try:
        sent = _decoded(text)
    except (ValueError, RecursionError):
        raise ProviderFailure(f"{request.model.vendor} did not answer properly: the answer is no JSON.") from None
    if failed := failed_midway(request.model.vendor, (request.credential or Credential()).api_key, sent):
        raise failed
    return sent


def _decoded(text: bytes | str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)  # accepts halves of surrogate pairs, which some models write
