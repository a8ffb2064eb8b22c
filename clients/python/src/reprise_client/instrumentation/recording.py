"""Records conversations and turns of code that has no instrumentation, as the GenAI conventions write them.

Where nothing was set up by `instrument`, these record nothing and cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import Any, Protocol

from reprise_client.instrumentation.content import captured
from reprise_client.instrumentation.recorded_json import to_json
from reprise_client.instrumentation.scope import attributes_set, close_turn, open_turn
from reprise_client.instrumentation.spans import OPERATION, set_error, tracer


class RenderedPrompt(Protocol):
    """The prompt of a turn: the commit hash of its version, and the values of its placeholders."""

    @property
    def version(self) -> str | None: ...
    @property
    def resolved(self) -> Mapping[str, str | None]: ...


def conversation(
    conversation_id: str,
    *,
    user: str | None = None,
    prompt: RenderedPrompt | None = None,
    prompt_id: int | None = None,
) -> AbstractContextManager[None]:
    """Name the conversation of all spans that start within, whichever library starts them.

    `user` is who speaks, `prompt` what the model is given. `prompt_id` is the prompt that the spans belong to, where it
    is not the one that `instrument` was given.
    """
    attributes = {
        "gen_ai.conversation.id": conversation_id,
        "user.id": user,
        "service.prompt.id": prompt_id,
        **_prompt_attributes(prompt),
    }
    return attributes_set(attributes)


def _prompt_attributes(prompt: RenderedPrompt | None) -> dict[str, str | None]:
    if prompt is None:
        return {}
    return {
        "service.prompt.version": prompt.version or None,
        "service.prompt.placeholders": to_json(
            {key: name for key, name in prompt.resolved.items() if name is not None}
        ),
    }


class turn(AbstractContextManager["turn"]):  # noqa: N801 - used like a function
    """One turn of a conversation: a span that all others of the turn are within, so that they are one trace.

    `answer` records what the agent answered. Where no instrumentation records the model's calls, the question and the
    answer are recorded as one; where one does, they are not recorded twice.
    """

    def __init__(self, question: str, *, prompt: RenderedPrompt | None = None) -> None:
        self._question, self._prompt = question, prompt
        self._answer: str | None = None
        self._of_model: dict[str, Any] = {}
        self._open = ExitStack()

    def answer(
        self,
        text: str,
        *,
        model: str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> None:
        """Set what the agent answered, and by which model with how many tokens, where that is known."""
        self._answer = text
        recorded = {
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": input_tokens,
            "gen_ai.usage.output_tokens": output_tokens,
        }
        self._of_model = {key: value for key, value in recorded.items() if value is not None}

    def __enter__(self) -> turn:
        self._open.enter_context(attributes_set(_prompt_attributes(self._prompt)))
        attributes = {OPERATION: "invoke_agent", **self._input()}
        self._span = self._open.enter_context(tracer().start_as_current_span("invoke_agent", attributes=attributes))
        if self._span.is_recording():
            open_turn(self._span.get_span_context().trace_id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with _closing(self._open, kind, error, traceback):
            if self._span.is_recording():
                self._span.set_attributes(self._output())
                if close_turn(self._span.get_span_context().trace_id):
                    self._record_model_call(error)

    def _record_model_call(self, error: BaseException | None) -> None:
        attributes = {OPERATION: "chat", **self._of_model, **self._input(), **self._output()}
        with tracer().start_as_current_span("chat", attributes=attributes) as span:
            if error is not None:
                set_error(span, error)

    def _input(self) -> dict[str, str]:
        return _messages("gen_ai.input.messages", "user", self._question)

    def _output(self) -> dict[str, str]:
        return {} if self._answer is None else _messages("gen_ai.output.messages", "assistant", self._answer)


@contextmanager
def _closing(
    stack: ExitStack, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
) -> Any:
    """Close `stack` with the error of the block that ends, whatever happens within."""
    try:
        yield
    finally:
        stack.__exit__(kind, error, traceback)


def _messages(key: str, role: str, text: str) -> dict[str, str]:
    if not captured():
        return {}
    message: dict[str, Any] = {"role": role, "parts": [{"type": "text", "content": text}]}
    if role == "assistant":
        message["finish_reason"] = "stop"
    return {key: to_json([message])}
