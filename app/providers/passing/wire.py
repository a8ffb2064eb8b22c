"""Passes a program's request on to a vendor. `PassingWire` reads and writes the JSON of one vendor's chat API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, ClassVar

from app.chat import Answer, StreamEvent, Tokens, ToolDefinition
from app.errors import Invalid, ProviderError
from app.providers.decoding import Decoder, count_of
from app.providers.vendors import Vendor
from app.values.json import json_bytes

Body = dict[str, Any]
# The fields of a request for a stream. They are not passed on, because the vendor is always asked for a whole answer.
_STREAM_FIELDS = frozenset({"stream", "stream_options"})
REPEATED_MAX = 1000
"""Characters of a text of an answer that many frames of its stream repeat."""
STREAM_GROWTH = 8
"""Bytes of a stream for each byte of its answer: Responses' events have each text five times, and ids of it."""
STREAM_BYTES = 256 * 1024
"""Bytes of a stream beyond these, for the frames of many small parts."""


class PassedOn:
    """A `Wire` (see `app/providers/wires.py`) that sends the JSON of the caller unchanged.

    After the call, `received` is the JSON of the answer.
    """

    def __init__(self, path: str, body: Body, headers: Mapping[str, str], make_decoder: Callable[[], Decoder]) -> None:
        self.headers = headers
        self.received: Any = None
        self._path, self._body, self._make_decoder = path, body, make_decoder

    def path(self, _request: object, *, streamed: bool) -> str:
        return self._path

    def body(self, _request: object, *, streamed: bool) -> Body:
        return self._body

    def decoder(self, _request: object) -> Decoder:
        return _KeepingDecoder(self._make_decoder(), self)


class _KeepingDecoder(Decoder):
    """Reads with another decoder, and keeps the JSON in `PassedOn.received`."""

    def __init__(self, decoder: Decoder, passed_on: PassedOn) -> None:
        self._decoder, self._passed_on = decoder, passed_on
        self.answer = decoder.answer

    def read_whole(self, sent: Any) -> None:
        self._passed_on.received = sent
        self._decoder.read_whole(sent)

    def read_event(self, sent: Any) -> list[StreamEvent]:
        return self._decoder.read_event(sent)

    def end(self) -> Answer:
        return self._decoder.end()


class NoChat(Decoder):
    """Reads only the usage in the answer of an API that is not a chat, such as OpenAI's embeddings."""

    def read_whole(self, sent: Any) -> None:
        self.answer.finish = "stop"
        usage = sent.get("usage") if isinstance(sent, dict) else None
        if isinstance(usage, dict):
            self.answer.tokens = Tokens(count_of(usage.get("prompt_tokens")))

    def read_event(self, sent: Any) -> list[StreamEvent]:
        return []


@dataclass(frozen=True, slots=True)
class Results:
    """The results of the tool calls in one answer of a model.

    `received` is the JSON of the answer, and `texts` are the results in the order of the calls in it.
    """

    received: Any
    texts: Sequence[str]


class PassingWire(ABC):
    """A vendor's chat API as programs call it.

    A `Body` is the JSON of a program's request, and `received` the JSON of the vendor's answer to it.
    """

    vendor: ClassVar[Vendor]
    headers: ClassVar[Mapping[str, str]] = {}
    kept_headers: ClassVar[tuple[str, ...]] = ()
    """Headers of a program's request that are passed on."""
    make_decoder: ClassVar[Callable[[], Decoder]]
    stream_end: ClassVar[bytes] = b""
    limit_names: ClassVar[tuple[str, ...]]
    """The parameters that limit the tokens of an answer."""
    number_name: ClassVar[str | None] = None
    """The parameter with the number of answers to one request."""
    acting: ClassVar[tuple[str, ...]] = ("mcp",)
    """The beginnings of the types of tools that act outside of the replay, which has no results for them."""

    def check(self, body: Body) -> None:
        """Raise `Invalid` for a request that a replay can't pass on."""
        self.conversation(body)
        if kind := next(self.acting_tools(body), None):
            raise Invalid(
                f"tools: A replay can't answer the calls of {kind[:100]}, which would really be run. Offer the model "
                "its tools as functions, or leave it out of replays."
            )
        if self.number_name and count_of(self.parameters(body).get(self.number_name)) > 1 and body.get("tools"):
            raise Invalid(f"{self.number_name}: Must be 1 where tools are offered: a replay follows one answer.")

    def acting_tools(self, body: Body) -> Iterator[str]:
        """Yield what a request offers that acts outside of the replay, such as a remote MCP server."""
        kinds = (entry.get("type") for entry in entries(body.get("tools")))
        return (kind for kind in kinds if isinstance(kind, str) and kind.startswith(self.acting))

    def is_streamed(self, body: Body) -> bool:
        return body.get("stream") is True

    def whole(self, body: Body) -> Body:
        """Return the request for an answer that is not streamed."""
        return {name: value for name, value in body.items() if name not in _STREAM_FIELDS}

    @abstractmethod
    def path(self, model: str) -> str:
        """Return the path for answers that are not streamed, below the vendor's base URL."""

    @abstractmethod
    def conversation(self, body: Body) -> list[Any]:
        """Return the messages of a request in the vendor's JSON. Raises `Invalid` if they are no list."""

    @abstractmethod
    def continued(self, body: Body, results: Results) -> Body:
        """Return the request with the answer and the results of its calls added to its messages."""

    @abstractmethod
    def events(self, received: Any, body: Body) -> Iterator[Any]:
        """Yield the events, as JSON, of the stream that would have brought an answer."""

    @abstractmethod
    def instruction(self, body: Body) -> str:
        """Return the instruction in a request: its system or developer messages."""

    @abstractmethod
    def tools(self, body: Body) -> Iterator[ToolDefinition]:
        """Yield the functions that the program offers, without tools that the vendor runs."""

    def parameters(self, body: Body) -> Mapping[str, Any]:
        """Return the object of a request that has the parameters of the answer."""
        return body

    def most_written(self, body: Body, model_max: int) -> int:
        """Return the most tokens that a model can write for a request, if one answer has at most `model_max`."""
        parameters = self.parameters(body)
        asked = (count_of(parameters.get(name)) for name in self.limit_names)
        number = count_of(parameters.get(self.number_name)) if self.number_name else 1
        return min(next(filter(None, asked), model_max), model_max) * max(number, 1)

    def stream(self, received: Any, body: Body) -> bytes:
        """Return the stream of an answer as server-sent events.

        Raises `ProviderError` for an answer of so many small parts that their frames would be far larger.
        """
        most = STREAM_GROWTH * len(encoded(received)) + STREAM_BYTES
        stream = BytesIO()
        for event in self.events(received, body):
            stream.write(self.frame(event))
            if stream.tell() > most:
                raise ProviderError(f"The model's answer can't be streamed: its events have more than {most} bytes.")
        stream.write(self.stream_end)
        return stream.getvalue()

    def frame(self, event: Any) -> bytes:
        """Return an event, with its type where the vendor names it."""
        name = event.get("type")
        return (f"event: {name}\n" if name else "").encode() + b"data: " + encoded(event) + b"\n\n"


def encoded(received: Any) -> bytes:
    """Return what a vendor sent as JSON again. Raises `ProviderError` for what is nested too deeply."""
    try:
        return json_bytes(received)
    except RecursionError as error:
        raise ProviderError("The model's answer is nested too deeply to be passed on.") from error


def cut_to_repeat(value: Any) -> Any:
    """Return a value for the many frames that repeat it: long texts are cut, lists and objects become None."""
    if isinstance(value, str):
        return value[:REPEATED_MAX]
    return value if isinstance(value, int | float) else None


def listed(body: Body, field: str) -> list[Any]:
    """Return the list in a field of a request. Raises `Invalid` if it is no list."""
    value = body.get(field)
    if not isinstance(value, list):
        raise Invalid(f"{field}: Must be a list.")
    return value


def entries(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list in JSON; a text counts as the list `[{"text": …}]`."""
    items: Iterable[Any] = [{"text": value}] if isinstance(value, str) else value if isinstance(value, list) else ()
    return (item for item in items if isinstance(item, dict))


def texts(value: Any) -> str:
    """Return the text of a message's content, which may be a list of parts."""
    return "\n".join(part["text"] for part in entries(value) if isinstance(part.get("text"), str))


def tool(entry: Mapping[str, Any], parameters: Any) -> Iterator[ToolDefinition]:
    """Yield the definition of the tool in an entry of a request; nothing if it has no name."""
    name, description = entry.get("name"), entry.get("description")
    if isinstance(name, str) and name:
        schema = parameters if isinstance(parameters, dict) else {}
        yield ToolDefinition(name, description if isinstance(description, str) else "", schema)


def without_nulls(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without its nulls: some servers send nulls, and refuse them when they are sent back."""
    return {key: value for key, value in message.items() if value is not None}
