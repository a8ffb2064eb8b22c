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
from typing import Any, TypeVar, overload

from reprise_client.errors import RepriseError

Function = TypeVar("Function", bound=Callable[..., Any])
TIMEOUT_S = 60.0
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
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
            answer = json.load(response)
    except urllib.error.HTTPError as error:
        raise ReplayedToolError(f"{name}: {error.read(2000).decode(errors='replace')}") from error
    except OSError as error:
        raise ReplayedToolError(f"{name}: the replay does not answer: {error}") from error
    if answer["error"] is not None:
        raise ReplayedToolError(f"{name}: {answer['error']}")
    return answer["result"]
