"""Calls the models of all vendors over HTTP, each in its wire format.

For events: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import orjson

from app import __version__
from app.chat import Answer, OnEvent, StreamEvent
from app.errors import ProviderTimeout, ServiceError
from app.providers.answer_memory import AnswerMemory, HeldAnswer
from app.providers.bounds import ANSWER_BYTES, AnswerReader
from app.providers.decoding import Decoder
from app.providers.endpoints import endpoint_of
from app.providers.failures import ProviderFailure, broken, failed_midway, no_json, refused
from app.providers.http_client import HttpClient, is_timeout, pieces
from app.providers.stopping import CallStop, Stopped
from app.providers.types import Credential, ModelRequest
from app.providers.wires import Wire, wire_of
from app.values.json import json_bytes

_HEADERS = {
    "content-type": "application/json",
    "accept-encoding": "gzip",
    "user-agent": f"reprise/{__version__}",
}
_LAST = "[DONE]"
# The part of an answer that is no JSON that may be quoted.
_START = 8_192
# An integer of fewer digits has at most 64 bits.
_LONG_TEXT, _LONG_BYTES = re.compile(r"[0-9]{19}"), re.compile(rb"[0-9]{19}")
# Python converts no text of more than 4,300 digits.
_INTEGER_DIGITS_MAX = 4_000
_LINE_END = re.compile(r"\r\n|\n|\r")
# By how much a clock may be behind the one that waited for the deadline.
_TICK_S = 0.05


class VendorModels:
    """Makes one attempt per call, without retries. A `ProviderFailure` contains whether another attempt may help."""

    def __init__(
        self, utcnow: Callable[[], datetime] = lambda: datetime.now(UTC), *, answer_bytes: int = ANSWER_BYTES
    ) -> None:
        self._http, self._memory = HttpClient(), AnswerMemory()
        self._answer_bytes = answer_bytes
        self._utcnow = utcnow

    def complete(self, request: ModelRequest) -> Answer:
        return self._answer(request, lambda event: None, streamed=False)

    def stream(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        answer = self._answer(request, on_event, streamed=True)
        for tool_call in answer.tool_calls:
            on_event(StreamEvent("tool_call", tool_call=tool_call))
        return answer

    def _answer(self, request: ModelRequest, on_event: OnEvent, *, streamed: bool) -> Answer:
        """Read the answer in the form in which it is sent: some servers send another one than was asked for."""
        wire = wire_of(request)
        decoder, has_begun = wire.decoder(request), False
        with HeldAnswer(self._memory, request.organization_id) as held_answer:
            decoder.answer.part = held_answer.texts
            try:
                with closing(self._received(request, wire, held_answer, streamed=streamed)) as received:
                    for is_event, sent in received:
                        has_begun = True
                        if not is_event:
                            whole = _read(sent, request)
                            decoder.read_whole(whole)
                            decoder.read_model(whole)
                            return _passed_on(decoder.end(), on_event)
                        if (data := _data(sent)) == _LAST:
                            decoder.read_done()
                            break
                        for piece in decoder.read_event(_read(data, request)) if data else ():
                            on_event(piece)
                return _ended(decoder, on_event)
            except Stopped:
                raise Stopped(decoder.so_far()) from None
            except ProviderFailure as failure:
                if not failure.filtered:
                    failure.is_answered |= has_begun and not failure.retryable
                    raise
                decoder.read_refusal(str(failure))
            return _ended(decoder, on_event)

    def close(self) -> None:
        """Close the pooled connections; the next call opens them again."""
        self._http.close()

    def _received(
        self, request: ModelRequest, wire: Wire, held_answer: HeldAnswer, *, streamed: bool
    ) -> Generator[tuple[bool, bytes], None, None]:
        """Yield (True, an event) for each event of a stream, otherwise (False, the answer).

        What goes wrong is an error of `app/errors.py`.
        """
        vendor, endpoint = request.model.vendor, endpoint_of(request)
        url = endpoint.base_url + wire.path(request, streamed=streamed)
        url += f"?{endpoint.query}" if endpoint.query else ""
        body = _encoded(wire.body(request, streamed=streamed))
        deadline, is_accepted = time.monotonic() + request.timeout_s, False
        try:
            with self._http.post(
                url, {**_HEADERS, **wire.headers, **endpoint.headers}, body, request.timeout_s, request.stop
            ) as response:
                status, encoding = response.status, response.headers.get("content-encoding")
                is_stream = _is_stream(response.headers.get("content-type"), streamed=streamed)
                reader = AnswerReader(
                    status, encoding, answer_bytes=self._answer_bytes, streamed=is_stream, part=held_answer.received
                )
                answer = reader.read_all(pieces(response))
                if not 200 <= status < 300:
                    sent = b"".join(answer)
                    raise refused(vendor, endpoint.api_key, self._utcnow(), status, response.headers, sent)
                is_accepted = True
                in_time = _until(deadline, request.stop, answer)
                yield from ((True, event) for event in in_time) if is_stream else [(False, b"".join(in_time))]
                return
        except ProviderFailure as failure:
            failure.is_answered = is_accepted
            raise
        except (ServiceError, Stopped):
            raise
        except Exception as error:  # noqa: BLE001 - the edge to HTTP, which may break in any way on what is sent
            ours: ServiceError = (
                ProviderTimeout(f"{vendor} did not answer in time.")
                if is_timeout(error) and time.monotonic() > deadline - _TICK_S
                else broken(error, vendor, endpoint.api_key)
            )
        # Outside the except block: a log of this error must not bring the other one along, key and all.
        raise ours


def _until(deadline: float, stop: CallStop, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        stop.check()
        # Many pieces may have been received at once, before which no socket waits.
        if time.monotonic() > deadline:
            raise TimeoutError
        yield piece


def _is_stream(content_type: str | None, *, streamed: bool) -> bool:
    kind = (content_type or "").lower()
    return "event-stream" in kind or (streamed and "json" not in kind)


def _ended(decoder: Decoder, on_event: OnEvent) -> Answer:
    """Pass on what the decoder has kept back of a stream, and return the answer."""
    for piece in decoder.rest():
        on_event(piece)
    return decoder.end()


def _passed_on(answer: Answer, on_event: OnEvent) -> Answer:
    """Pass on the texts of an answer that was sent as a whole, and return it."""
    if answer.reasoning:
        on_event(StreamEvent("reasoning", answer.reasoning))
    if answer.text:
        on_event(StreamEvent("token", answer.text))
    return answer


def _encoded(body: dict[str, Any]) -> bytes:
    """Return a request's body as JSON. Raises `ProviderFailure` where it is nested too deeply for that."""
    try:
        return json_bytes(body)
    except RecursionError:
        raise ProviderFailure("The request is nested too deeply to be sent.", unaccepted=True) from None


def _data(event: bytes) -> str:
    """Return the data of an event; "" for a comment."""
    lines = _LINE_END.split(event.decode("utf-8-sig", errors="replace"))  # a stream may begin with a mark
    return "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))


def _read(text: bytes | str, request: ModelRequest) -> Any:
    """Return the JSON of an answer, or of an event. Raises `ProviderFailure` for what reports an error."""
    vendor, secret = request.model.vendor, (request.credential or Credential()).api_key
    try:
        sent = _decoded(text)
    except (ValueError, RecursionError):
        start = text[:_START]
        raise no_json(vendor, secret, start if isinstance(start, str) else start.decode(errors="replace")) from None
    if failed := failed_midway(vendor, secret, sent):
        raise failed
    return sent


def _decoded(text: bytes | str) -> Any:
    """Return the JSON value, with all digits of integers."""
    try:
        if not (_LONG_BYTES.search(text) if isinstance(text, bytes) else _LONG_TEXT.search(text)):
            return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    # Accepts halves of surrogate pairs, which some models write, and numbers that orjson makes floats of.
    return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _INTEGER_DIGITS_MAX else digits
