"""Models behind OpenAI's chat completions: OpenAI's, DeepSeek's and those of endpoints of one's own.

Shapes: https://platform.openai.com/docs/api-reference/chat, and for events
https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from app import __version__
from app.chat import Answer, OnEvent, StreamEvent
from app.errors import ProviderTimeout, RepriseError
from app.providers.bounds import AnswerReader
from app.providers.decoding import AnswerBuilder
from app.providers.encoding import encode
from app.providers.endpoints import endpoint_of
from app.providers.failures import ProviderFailure, failed_midway, failure, refused
from app.providers.http_client import HttpClient, is_timeout, pieces
from app.providers.types import Credential, ModelRequest

_HEADERS = {
    "content-type": "application/json",
    "accept-encoding": "gzip",
    "user-agent": f"reprise/{__version__}",
}
_LAST = "[DONE]"
_LINE_END = re.compile(r"\r\n|\n|\r")
# By how much a clock may tell an earlier time than the one that waited for the deadline.
_TICK_S = 0.05


class OpenAIModels:
    """For `VendorModels`, which says what calls do."""

    def __init__(self, utcnow: Callable[[], datetime], *, answer_bytes: int) -> None:
        self._http = HttpClient()
        self._answer_bytes = answer_bytes
        self._utcnow = utcnow

    def complete(self, request: ModelRequest) -> Answer:
        builder = AnswerBuilder()
        whole = b"".join(self._received(request, encode(request), streamed=False))
        builder.add_completion(_read(whole, request))
        return _answer(builder, request)

    def stream(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        builder = AnswerBuilder()
        body = encode(request) | {"stream": True, "stream_options": {"include_usage": True}}
        with closing(self._received(request, body, streamed=True)) as events:
            for event in events:
                if (data := _data(event)) == _LAST:
                    break
                for piece in builder.add_chunk(_read(data, request)) if data else ():
                    on_event(piece)
        answer = _answer(builder, request)
        for tool_call in answer.tool_calls:
            on_event(StreamEvent("tool_call", tool_call=tool_call))
        return answer

    def close(self) -> None:
        """Close the pooled connections; the next call opens them again."""
        self._http.close()

    def _received(self, request: ModelRequest, body: dict[str, Any], *, streamed: bool) -> Generator[bytes, None, None]:
        """Yield the answer, in whole events where it is streamed; what goes wrong is an error of `app/errors.py`."""
        vendor, endpoint = request.model.vendor, endpoint_of(request)
        deadline = time.monotonic() + request.timeout_s
        try:
            with self._http.post(
                f"{endpoint.base_url}/chat/completions",
                _HEADERS | endpoint.headers,
                _encoded(body),
                request.timeout_s,
            ) as response:
                status, encoding = response.status, response.headers.get("content-encoding")
                reader = AnswerReader(status, encoding, answer_bytes=self._answer_bytes, streamed=streamed)
                answer = reader.read_all(pieces(response))
                if not 200 <= status < 300:
                    sent = b"".join(answer)
                    raise refused(vendor, endpoint.api_key, self._utcnow(), status, response.headers, sent)
                yield from answer
                return
        except RepriseError:
            raise
        except Exception as error:  # noqa: BLE001 - the edge to HTTP, which may break in any way on what is sent
            ours: RepriseError = (
                ProviderTimeout(f"{vendor} did not answer in time.")
                if is_timeout(error) and time.monotonic() > deadline - _TICK_S
                else failure(error, vendor, endpoint.api_key, self._utcnow())
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
    """Return the JSON of an answer, or of a chunk of it, that tells of no error."""
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
        return json.loads(text)  # takes halves of surrogate pairs, which some models write


def _answer(builder: AnswerBuilder, request: ModelRequest) -> Answer:
    answer = builder.end()
    if request.model.vendor == "DEEPSEEK" and answer.reasoning:
        return replace(answer, vendor_state={"deepseek": {"reasoning_content": answer.reasoning}})
    return answer
