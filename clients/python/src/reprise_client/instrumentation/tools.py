"""Records tools that an application runs, with their arguments and results."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast, overload

from reprise_client.instrumentation.content import captured
from reprise_client.instrumentation.recorded_json import to_content, to_json
from reprise_client.instrumentation.spans import OPERATION, set_error, tracer

P = ParamSpec("P")
R = TypeVar("R")


class ToolCall(AbstractContextManager["ToolCall"]):
    """One execution of a tool; as a decorator, each call of the function it decorates."""

    def __init__(self, name: str, arguments: Mapping[str, Any] | None = None, call_id: str | None = None) -> None:
        self.name, self.arguments, self.call_id = name, arguments, call_id

    def result(self, value: Any) -> None:
        """Set what the tool returned: a text, or anything that JSON has a form for."""
        if captured() and self._span.is_recording():
            self._span.set_attribute("gen_ai.tool.call.result", to_content(value))

    def __enter__(self) -> ToolCall:
        self._current = tracer().start_as_current_span(
            f"execute_tool {self.name}", attributes={OPERATION: "execute_tool"}
        )
        self._span = self._current.__enter__()
        if self._span.is_recording():
            self._span.set_attributes(self._attributes())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            set_error(self._span, error)
        self._current.__exit__(kind, error, traceback)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        return recorded(function, self.name)

    def _attributes(self) -> dict[str, str]:
        attributes = {"gen_ai.tool.name": self.name, "gen_ai.tool.type": "function"}
        if self.call_id:
            attributes["gen_ai.tool.call.id"] = self.call_id
        if captured():
            attributes["gen_ai.tool.call.arguments"] = to_json(self.arguments or {})
        return attributes


@overload
def tool(name: str, arguments: Mapping[str, Any] | None = None, *, call_id: str | None = None) -> ToolCall: ...
@overload
def tool(name: Callable[P, R]) -> Callable[P, R]: ...
def tool(name: Any, arguments: Mapping[str, Any] | None = None, *, call_id: str | None = None) -> Any:
    """Record the calls of a function, `@tool` or `@tool("name")`, or one call: `with tool("name", arguments) as call`.

    The function may be a coroutine function. Its arguments are recorded by their names, without `self`. What it raises
    is recorded as the call's error, and raised.
    """
    return ToolCall(name, arguments, call_id) if isinstance(name, str) else recorded(name, name.__name__)


def recorded(function: Callable[P, R], name: str) -> Callable[P, R]:
    """Return a function that does what `function` does, and records it as a tool."""
    call_of = _Calls(function, name)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            with call_of(args, kwargs) as call:
                result = await function(*args, **kwargs)
                call.result(result)
                return result

        return cast("Callable[P, R]", call_async)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with call_of(args, kwargs) as call:
            result = function(*args, **kwargs)
            call.result(result)
            return result

    return call


class _Calls:
    """Makes the calls of a function, with the arguments by their names."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._name = name
        try:
            self._signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self._signature = None

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ToolCall:
        return ToolCall(self._name, self._named(args, kwargs))

    def _named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if self._signature is None:
            return dict(kwargs)
        try:
            bound = self._signature.bind(*args, **kwargs).arguments
        except TypeError:  # the call itself raises it
            return dict(kwargs)
        named: dict[str, Any] = {}
        for place, (key, value) in enumerate(bound.items()):
            if self._signature.parameters[key].kind is inspect.Parameter.VAR_KEYWORD:
                named.update(value)
            elif place or key not in ("self", "cls"):
                named[key] = value
        return named
