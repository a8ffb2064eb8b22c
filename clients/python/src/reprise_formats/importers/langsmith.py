"""LangSmith: runs as its SDK lists them, its API answers them, and rows of its bulk export as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise_formats.importers.spans import ImportedSpan, object_in, required, text, text_of
from reprise_formats.importers.times import nanoseconds

# The names that LangSmith itself groups runs by, its first choice first. A run's `session_id` is that of a project.
_THREAD = ("thread_id", "session_id", "conversation_id")
Run = Mapping[str, Any]


def convert(record: Run, at_ns: int) -> list[ImportedSpan]:
    """Return the one span of a run."""
    run = {**record, **{name: object_in(record.get(name)) for name in ("extra", "inputs", "outputs")}}
    span_id = required(run, "id", "run_id")
    start_ns = nanoseconds(run.get("start_time")) or at_ns
    kind = text(run.get("run_type"))
    return [
        ImportedSpan(
            required(run, "trace_id", "id", "run_id"),
            span_id,
            text(run.get("parent_run_id")),
            text(run.get("name")) or kind or "run",
            start_ns,
            nanoseconds(run.get("end_time")) or start_ns,
            {**_shared(run), **(_chat(run) if kind == "llm" else _tool(run) if kind == "tool" else {})},
            text(run.get("error")),
        )
    ]


def _metadata(run: Run) -> Run:
    return {**object_in(run.get("custom_metadata")), **object_in(run["extra"].get("metadata"))}


def _shared(run: Run) -> dict[str, Any]:
    metadata = _metadata(run)
    names = (text(run.get("thread_id")), *(text(metadata.get(name)) for name in _THREAD))
    return {
        "gen_ai.conversation.id": next((name for name in names if name), None),
        "user.id": text(metadata.get("user_id")),
    }


def _chat(run: Run) -> dict[str, Any]:
    """Return the content of a model call: messages and tools in the form in which the model's library records them."""
    inputs, metadata = run["inputs"], _metadata(run)
    parameters = object_in(run["extra"].get("invocation_params"))
    usage = _usage(run)
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": text(metadata.get("ls_model_name") or parameters.get("model") or inputs.get("model")),
        "gen_ai.provider.name": text(metadata.get("ls_provider")),
        "gen_ai.input.messages": text_of(_messages(inputs)),
        "gen_ai.output.messages": text_of(_answers(run["outputs"])),
        "gen_ai.tool.definitions": text_of(parameters.get("tools") or inputs.get("tools")),
        "gen_ai.usage.input_tokens": _first(run.get("prompt_tokens"), usage, "input_tokens", "prompt_tokens"),
        "gen_ai.usage.output_tokens": _first(run.get("completion_tokens"), usage, "output_tokens", "completion_tokens"),
    }


def _first(recorded: Any, usage: Run, *names: str) -> Any:
    return recorded or next((usage[name] for name in names if name in usage), None)


def _messages(inputs: Run) -> Any:
    """Return the inputs; of a model that completes text, its texts."""
    prompts = inputs.get("prompts")
    return prompts if isinstance(prompts, list) and "messages" not in inputs else inputs


def _usage(run: Run) -> Run:
    """Return what the wrappers of SDKs put next to the answer, or LangChain's message has."""
    outputs = run["outputs"]
    direct = object_in(outputs.get("usage_metadata")) or object_in(outputs.get("usage"))
    return direct or object_in(_message(outputs).get("usage_metadata"))


def _generation(outputs: Run) -> Run:
    """Return the first answer that LangChain records, in `{"generations": [[{"text": …, "message": …}]]}`."""
    generations = outputs.get("generations")
    for _ in range(2):
        generations = generations[0] if isinstance(generations, list) and generations else generations
    return object_in(generations)


def _message(outputs: Run) -> Run:
    message = object_in(_generation(outputs).get("message"))
    return object_in(message.get("kwargs")) or message


def _answers(outputs: Run) -> Any:
    """Return the outputs; of a model that completes text, its text."""
    generation = _generation(outputs)
    return [generation["text"]] if "text" in generation and "message" not in generation else outputs


def _tool(run: Run) -> dict[str, Any]:
    answer = _answer(run["outputs"])
    call_id = text(run["extra"].get("tool_call_id")) or text(object_in(answer).get("tool_call_id"))
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": text(run.get("name")),
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": text_of(_arguments(run["inputs"])),
        "gen_ai.tool.call.result": text_of(_content(answer)),
    }


def _arguments(inputs: Run) -> Any:
    """Return the inputs, or the text of an object that older releases of LangChain write in their place."""
    only_input = inputs.get("input") if len(inputs) == 1 else None
    return only_input if isinstance(only_input, str) and only_input.lstrip().startswith("{") else inputs


def _answer(outputs: Run) -> Any:
    """Return what a tool returned: LangSmith keeps a value that is no object as `{"output": value}`."""
    answer = outputs["output"] if outputs.keys() == {"output"} else outputs or None
    return object_in(answer).get("kwargs", answer) if object_in(answer).get("lc") else answer


def _content(answer: Any) -> Any:
    """Return the content of LangChain's tool message, and every other answer unchanged."""
    message = object_in(answer)
    return message.get("content") if "content" in message and "tool_call_id" in message else answer
