"""The forms in which each vendor writes requests, answers, streams and errors, as far as chat goes."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.fakes import anthropic_wire, google_wire, openai_wire, responses_wire


@dataclass(frozen=True)
class Reply:
    """The reply: an answer with these parts, or (`status` not 200) a failure.

    `signature` is Google's for a tool call; `echo_key` puts the caller's key into the failure's message; `cut`
    ends the connection midway, in a stream after `cut_after` events; with `held` what comes after so many waits until
    it is set, as does all of an answer that is no stream; `hang` never answers; `latency_s` is instead of the server's
    own. `model` is the model that an answer of OpenAI's format reports instead of the one that was asked. `raw` is sent
    unchanged, in the place of an answer. `streamed` is sent as a stream, whatever was asked for.
    """

    text: str | None = None
    reasoning: str | None = None
    tool_calls: list[tuple[str, Any]] = field(default_factory=list)
    signature: str | None = None
    refusal: str | None = None
    truncated: bool = False
    cached: int = 0
    cache_write: int = 0
    reasoning_tokens: int = 0
    status: int = 200
    message: str = "Something broke."
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    echo_key: bool = False
    cut: bool = False
    cut_after: int = 3
    held: threading.Event | None = None
    hang: bool = False
    latency_s: float | None = None
    per_event_s: float = 0.0
    model: str | None = None
    raw: bytes | None = None
    streamed: bool = False


@dataclass(frozen=True)
class Asked:
    """The parts of a request that tests read, in any format.

    `id` is a part of all ids in the answer, which are unique so. The answer of the Responses API repeats the
    `instructions` and the `tools`.
    """

    vendor: str
    model: str
    stream: bool
    question: str
    prompt_tokens: int
    key: str
    wants_usage: bool
    of_responses: bool = False
    instructions: str | None = None
    tools: list[Any] = field(default_factory=list)
    id: str = field(default_factory=lambda: secrets.token_hex(12))

    def answer(self, reply: Reply) -> str | None:
        """The answer's text; None where the reply is something else than text."""
        if reply.text is None and not (reply.tool_calls or reply.refusal):
            return f"echo: {self.question}"
        return reply.text


def read(vendor: str, path: str, headers: dict[str, str], body: dict[str, Any]) -> Asked:
    texts = [text for role, text in _texts(vendor, body) if role == "user"]
    words = sum(len(text.split()) for _, text in _texts(vendor, body))
    google = vendor == "GOOGLE"
    return Asked(
        vendor=vendor,
        model=path.rpartition("/")[2].partition(":")[0] if google else body["model"],
        stream=":stream" in path if google else bool(body.get("stream")),
        question=texts[-1] if texts else "",
        prompt_tokens=words,
        key=headers.get("x-api-key")
        or headers.get("x-goog-api-key")
        or headers.get("authorization", "").removeprefix("Bearer "),
        wants_usage=(body.get("stream_options") or {}).get("include_usage", False),
        of_responses=path.endswith("/responses"),
        instructions=body.get("instructions"),
        tools=body.get("tools") or [],
    )


def _texts(vendor: str, body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    given = body.get("contents" if vendor == "GOOGLE" else "messages") or body.get("input") or []
    for message in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        parts = message.get("parts") if vendor == "GOOGLE" else message.get("content")
        for part in [{"text": parts}] if isinstance(parts, str) else parts or []:
            if isinstance(part.get("text"), str):
                yield message["role"], part["text"]


def body(asked: Asked, reply: Reply) -> bytes:
    return json.dumps(_format(asked).body(asked, reply)).encode()


async def events(asked: Asked, reply: Reply) -> AsyncIterator[bytes]:
    for event in _format(asked).events(asked, reply):
        await asyncio.sleep(reply.per_event_s)
        yield event


def error(asked: Asked, reply: Reply) -> tuple[int, bytes]:
    """The status (Google answers 400 where others answer 401) and the body of a failure."""
    message = f"{reply.message} ({asked.key})" if reply.echo_key else reply.message
    status, content = _format(asked).error(reply, message)
    return status, json.dumps(content).encode()


def _format(asked: Asked) -> Any:
    if asked.of_responses:
        return responses_wire
    return {"ANTHROPIC": anthropic_wire, "GOOGLE": google_wire}.get(asked.vendor, openai_wire)
