"""Lets the tools of a program get their results from a replay, while `reprise gate --tools program` plays it.

    from reprise_client.replay import tool

    @tool
    def refund(order_id: str) -> dict: ...

Outside of a replay a call goes to the function. In a replay the function never runs.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from http.client import HTTPException
from time import monotonic
from typing import Any, TypeVar, overload

from reprise_client.errors import RepriseError

Function = TypeVar("Function", bound=Callable[..., Any])
TIMEOUT_S = 60.0
ANSWER_MAX, REFUSAL_MAX = 64_000_000, 2_000
"""The most bytes of an answer, and of its beginning in the message of an error."""
_URL, _TOKEN = "REPRISE_REPLAY_URL", "REPRISE_REPLAY_TOKEN"


class ReplayedToolError(RepriseError):
    """The recorded call failed, or the recording has no result for it."""


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(*, name: str) -> Callable[[Function], Function]: ...
def tool(function: Any = None, /, *, name: str | None = None) -> Any:
    """Decorate a function, or a coroutine function, that a model calls as a tool.

    `name` is the tool's name where it is not the function's. Raises `ReplayedToolError` in a replay for an error.
    """
    if function is None:
        return lambda decorated: _replayed(decorated, name or decorated.__name__)
    return _replayed(function, name or function.__name__)


def _replayed(function: Any, name: str) -> Any:
    signature = inspect.signature(function)

    def arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs).arguments
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                bound.update(bound.pop(parameter.name, {}))
        return bound

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def replayed_coroutine(*args: Any, **kwargs: Any) -> Any:
            if not os.environ.get(_TOKEN):
                return await function(*args, **kwargs)
            return await asyncio.to_thread(call, name, arguments(args, kwargs))

        return replayed_coroutine

    @wraps(function)
    def replayed(*args: Any, **kwargs: Any) -> Any:
        return call(name, arguments(args, kwargs)) if os.environ.get(_TOKEN) else function(*args, **kwargs)

    return replayed


def call(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return the result of a tool's call from the replay. Raises `ReplayedToolError`."""
    body = json.dumps({"name": name, "arguments": arguments}, default=str).encode()
    headers = {"Authorization": f"Bearer {os.environ[_TOKEN]}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{os.environ[_URL]}/api/replay/tools", body, headers)  # noqa: S310 - http(s)
    try:
        status, content = _answered(request)
    except (OSError, HTTPException) as error:
        raise ReplayedToolError(f"{name}: the replay does not answer: {error}") from error
    if status != HTTPStatus.OK:
        refusal = content[:REFUSAL_MAX].decode(errors="replace")
        raise ReplayedToolError(f"{name}: {refusal or f'{request.full_url} answered {status}.'}")
    try:
        answer = json.loads(content)
        failure, result = answer["error"], answer["result"]
    except (ValueError, LookupError, TypeError, RecursionError) as problem:
        raise ReplayedToolError(f"{name}: {request.full_url} did not answer as Reprise does.") from problem
    if failure is not None:
        raise ReplayedToolError(f"{name}: {failure}")
    return result


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: the token would go to another host, and that host's answer would be a result."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _answered(request: urllib.request.Request) -> tuple[int, bytes]:
    """Return the status and the body of an answer. Raises `OSError` or `HTTPException`."""
    until = monotonic() + TIMEOUT_S
    try:
        response = urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as refusal:
        response = refusal
    content = bytearray()
    with response:
        while piece := response.read1(65536):
            content += piece
            if len(content) > ANSWER_MAX:
                raise OSError(f"the answer has more than {ANSWER_MAX} bytes")
            if monotonic() > until:
                raise TimeoutError("the answer took too long")
    return response.status, bytes(content)
