"""Replays of programs: their turns and answers, and the endpoint where a program calls models as at their vendors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

import falcon

from app.api.operation import ApiCall, Command, Method, Resource, operation
from app.chat import ToolCall
from app.errors import MALFORMED_DATA, Invalid, ProviderError
from app.http.access import ByProgramToken
from app.http.event_stream import EVENT_STREAM
from app.models.api_keys import ApiKey
from app.providers.passing.anthropic import Messages
from app.providers.passing.google import GenerateContent
from app.providers.passing.openai import ChatCompletions, Responses
from app.providers.passing.wire import Body, PassingWire, encoded
from app.schemas import programs as schemas
from app.schemas.base import load
from app.services.replays.program_tools import ToolResult
from app.services.replays.program_upstream import ProgramRequest
from app.services.replays.programs import AnsweredTurn, NextTurn

_OPENAI, _ANTHROPIC, _GEMINI = (schemas.ENDPOINTS[name] for name in ("openai", "anthropic", "gemini"))
_REQUEST = schemas.VendorRequest()
# Other methods make images or videos, or begin work of which no answer is seen here.
_CHAT_METHODS = ("generateContent", "streamGenerateContent")
_OTHER_METHODS = ("countTokens", "embedContent", "batchEmbedContents")
# The name becomes a part of the path at Google.
_GEMINI_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


class ReplayTurns(Resource, tag="Replays", POST="run"):
    """The same turn until it is answered."""

    @operation(
        "The next turn to ask the program of a replay", answers={200: schemas.NextTurnSchema, 204: None}, errors=(409,)
    )
    def on_post(self, key: ApiKey, call: ApiCall, replay_id: int) -> NextTurn | None:
        turn = self.services.programs.next_turn(project_id=key.project_id, replay_id=replay_id)
        if turn is None:
            call.resp.status = falcon.HTTP_204
            self.container.replay_delivery.send([replay_id])
        return turn


class ReplayTurnAnswer(Resource, tag="Replays", POST="run"):
    """The last answer ends the program's part of the replay, which is then judged."""

    @operation(
        "Send what the program answered in a turn",
        body=schemas.ProgramTextSchema,
        limit="run",
        answers={200: schemas.AnsweredTurnSchema},
        errors=(409,),
    )
    def on_post(self, key: ApiKey, replay_id: int, turn: int, command: Command) -> AnsweredTurn:
        answered = self.services.programs.answer_turn(
            project_id=key.project_id, replay_id=replay_id, turn=turn, text=command["text_"]
        )
        if answered.is_last:
            self.container.replay_delivery.send([replay_id])
        return answered


class _Endpoint(Resource, tag="Replay endpoint"):
    """A path of the replay endpoint, which needs the token of a replay in the place of a vendor's key."""

    access = ByProgramToken({"POST"})
    waits = frozenset({"POST"})
    wire: ClassVar[PassingWire]

    def _answer(self, call: ApiCall, model: str = "", streamed: bool | None = None) -> None:
        """Send the model's answer to a request for chat, which becomes a step of the replay.

        `model` is the model's name, and `streamed` whether the program asked for a stream, where a vendor has them in
        the path; elsewhere both are read from the body.
        """
        body, resp, wire = _read_body(call), call.resp, self.wire
        request = _program_request(call, wire, body, model)
        wire.check(body)
        received = self.services.program_requests.chat(call.req.context.key, request)
        if wire.is_streamed(body) if streamed is None else streamed:
            resp.content_type, resp.data = EVENT_STREAM, _as_stream(wire, received, body)
        else:
            _send_json(resp, received)

    def _pass_on(self, call: ApiCall, path: str, model: str = "") -> None:
        """Send the vendor's answer to another request, which is sent to `path` at the vendor."""
        request = _program_request(call, self.wire, _read_body(call), model)
        _send_json(call.resp, self.services.program_requests.pass_on(call.req.context.key, request, path))


def _vendor_operation(summary: str, **more: Any) -> Callable[[Method], Method]:
    """Describe a method with a vendor's body and answer; `more` are other arguments of `operation`."""
    return operation(
        summary,
        body=schemas.VendorRequest,
        limit="run",
        answers={200: schemas.VendorAnswer},
        errors=(409, 502, 504),
        **more,
    )


class ChatCompletionsEndpoint(_Endpoint):
    access = _Endpoint.access
    wire = ChatCompletions()

    @_vendor_operation("OpenAI's chat completions, in a replay", texts=(EVENT_STREAM,))
    def on_post(self, call: ApiCall) -> None:
        self._answer(call)


class ResponsesEndpoint(_Endpoint):
    access = _Endpoint.access
    wire = Responses()

    @_vendor_operation("OpenAI's Responses, in a replay", texts=(EVENT_STREAM,))
    def on_post(self, call: ApiCall) -> None:
        self._answer(call)


class OpenAiOtherEndpoint(_Endpoint):
    """Calls that are no chat are passed on and listed, unless the replay is offline."""

    access = _Endpoint.access
    wire = ChatCompletions()

    @_vendor_operation("OpenAI's embeddings or moderations, in a replay")
    def on_post(self, call: ApiCall) -> None:
        self._pass_on(call, call.req.path.removeprefix(_OPENAI))


class MessagesEndpoint(_Endpoint):
    access = _Endpoint.access
    wire = Messages()

    @_vendor_operation("Anthropic's Messages, in a replay", texts=(EVENT_STREAM,))
    def on_post(self, call: ApiCall) -> None:
        self._answer(call)


class CountTokensEndpoint(_Endpoint):
    """It is passed on and listed, unless the replay is offline."""

    access = _Endpoint.access
    wire = Messages()

    @_vendor_operation("Anthropic's count of tokens, in a replay")
    def on_post(self, call: ApiCall) -> None:
        self._pass_on(call, "/v1/messages/count_tokens")


class GeminiEndpoint(_Endpoint):
    """`model` is a name and a method, such as `gemini-3-flash:streamGenerateContent`.

    The methods countTokens, embedContent and batchEmbedContents are passed on and listed, unless the replay is offline.
    Other methods are refused.
    """

    access = _Endpoint.access
    wire = GenerateContent()

    @_vendor_operation("Google's models, in a replay", texts=(EVENT_STREAM,))
    def on_post(self, call: ApiCall, model: str) -> None:
        name, method = _name_and_method(model)
        if method in _OTHER_METHODS:
            self._pass_on(call, f"/v1beta/models/{name}:{method}", name)
        elif method == "streamGenerateContent" and call.req.params.get("alt") != "sse":
            raise Invalid("alt: Only streams of server-sent events are supported: send alt=sse.")
        else:
            self._answer(call, name, method == "streamGenerateContent")


class ProgramTool(Resource, tag="Replay endpoint"):
    """For programs that call their tools themselves. A call that no model asked for is a step of the turn, too."""

    access = ByProgramToken({"POST"})
    waits = frozenset({"POST"})

    @operation(
        "The result of a tool that the program calls, in a replay",
        body=schemas.ProgramToolSchema,
        limit="run",
        answers={200: schemas.ProgramToolResult},
        errors=(409,),
    )
    def on_post(self, call: ApiCall, command: Command) -> ToolResult:
        tool_call = ToolCall("", command["name"], command["arguments"])
        return self.services.program_requests.tool_result(call.req.context.key, tool_call)


ENDPOINT_ROUTES: tuple[tuple[str, type[Resource]], ...] = (
    ("/api/replay/tools", ProgramTool),
    (f"{_OPENAI}/chat/completions", ChatCompletionsEndpoint),
    (f"{_OPENAI}/responses", ResponsesEndpoint),
    (f"{_OPENAI}/embeddings", OpenAiOtherEndpoint),
    (f"{_OPENAI}/moderations", OpenAiOtherEndpoint),
    (f"{_ANTHROPIC}/v1/messages", MessagesEndpoint),
    (f"{_ANTHROPIC}/v1/messages/count_tokens", CountTokensEndpoint),
    # The Vercel AI SDK expects the version in the base URL.
    (f"{_ANTHROPIC}/messages", MessagesEndpoint),
    (f"{_GEMINI}/v1beta/models/{{model}}", GeminiEndpoint),
    (f"{_GEMINI}/v1/models/{{model}}", GeminiEndpoint),
    (f"{_GEMINI}/models/{{model}}", GeminiEndpoint),
)


def _name_and_method(model: str) -> tuple[str, str]:
    """Split the last part of a path, "model:method"; raises `Invalid` for a bad name or a method that is refused."""
    name, _, method = model.partition(":")
    if len(name) > schemas.MODEL_MAX or not _GEMINI_NAME.fullmatch(name):
        raise Invalid(
            f"model: Must be at most {schemas.MODEL_MAX} letters, digits, - and _, with single dots between them."
        )
    if method not in (*_CHAT_METHODS, *_OTHER_METHODS):
        raise Invalid(f"model: The method must be one of {', '.join((*_CHAT_METHODS, *_OTHER_METHODS))}.")
    return name, method


def _read_body(call: ApiCall) -> Body:
    """Return the body, of which only the size and the `model` are checked."""
    body = call.read_json()
    load(_REQUEST, body)
    checked: Body = body
    return checked


def _program_request(call: ApiCall, wire: PassingWire, body: Body, model: str) -> ProgramRequest:
    """Return the program's request to `model`, by default to the one that the body names; raises `Invalid`."""
    name = model or body.get("model")
    if not isinstance(name, str) or not name:
        raise Invalid("model: Must be the name of a model.")
    sent = {header: call.req.get_header(header) for header in wire.kept_headers}
    request = ProgramRequest(wire, name, body, {header: value for header, value in sent.items() if value})
    try:
        # Both are read from the body when they are asked for.
        request.instruction, list(request.tools)
    except MALFORMED_DATA as error:
        raise Invalid(f"The request is not in the vendor's format: {error}") from error
    return request


def _as_stream(wire: PassingWire, received: Any, body: Body) -> bytes:
    """Return an answer that the vendor sent whole as its events; raises `ProviderError`."""
    try:
        return wire.stream(received, body)
    except MALFORMED_DATA as error:
        raise ProviderError(f"The model's answer can't be streamed: {error}") from error


def _send_json(resp: falcon.Response, received: Any) -> None:
    resp.content_type, resp.data = falcon.MEDIA_JSON, encoded(received)
