"""A fake of the model vendors' HTTP APIs, each in its own wire format, that does what a test wants.

In a test:

    with Upstream() as upstream:
        upstream.script(Reply(status=500), Reply(text="second try"))
        credential = Credential("sk-test", upstream.base_url("OPENAI"))
        ...
        assert upstream.requests[-1].body["model"] == "gpt-4o-mini"

Each request gets the next scripted `Reply`; without one it is answered "echo: <last text of the user>".
`latency_s` delays every answer, so that thousands can wait at once (one event loop, no thread per request).
`accepts` is the only key let through, when set.

As a process, for benchmarks and black-box tests: `python -m tests.fakes.upstream --port 0 --latency 5`
prints its base URL; `POST /script` with a JSON list of replies, `GET /requests`, `POST /reset` steer it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tests.fakes import wire
from tests.fakes.wire import Asked, Reply

PATHS = {
    "OPENAI": "/openai/v1",
    "ANTHROPIC": "/anthropic",
    "GOOGLE": "/google",
    "DEEPSEEK": "/deepseek",
    "CUSTOM_OPENAI_COMPATIBLE": "/custom/v1",
}
_BACKLOG = 4096


@dataclass(frozen=True)
class Recorded:
    """A request as it arrived; header names are lower case."""

    vendor: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Upstream:
    """The server; `start` it, or use it as a context manager, in any thread."""

    port: int = 0
    latency_s: float = 0.0
    accepts: str | None = None
    requests: list[Recorded] = field(default_factory=list)
    open_now: int = 0
    most_open: int = 0
    connections: int = 0
    # Chooses the reply by the request's body, where requests come in any order; goes before the script.
    choose: Callable[[dict[str, Any]], Reply] | None = None
    # Questions about the effects of tools come when a worker gets to a new test case. They are not among the requests,
    # and `classifies` gives their replies.
    classified: list[Recorded] = field(default_factory=list)
    classifies: Callable[[dict[str, Any]], Reply] = lambda body: Reply(text='{"tools": []}')
    # The questions for mutants of a guard map, for which `rewords` gives the replies.
    reworded: list[Recorded] = field(default_factory=list)
    rewords: Callable[[dict[str, Any]], Reply] | None = None
    _replies: deque[Reply] = field(default_factory=deque)

    def script(self, *replies: Reply) -> None:
        self._replies.extend(replies)

    def reset(self) -> None:
        self._replies.clear()
        self.choose = None
        self.requests.clear()
        self.classified.clear()
        self.reworded.clear()
        self.rewords = None
        self.most_open = self.open_now

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def base_url(self, vendor: str) -> str:
        return self.url + PATHS[vendor]

    def __enter__(self) -> Upstream:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve(started)), name="upstream", daemon=True)
        self._thread.start()
        started.wait(60)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)

    async def serve(self, started: threading.Event) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, backlog=_BACKLOG)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await self._stopped.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._connection(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False when the connection is not to be used again."""
        request_line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        method, path, _ = request_line.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if not path.startswith(tuple(PATHS.values())):
            _send(writer, 200, {}, json.dumps(self._steer(method, path, body)).encode())
            return True
        self.open_now += 1
        self.most_open = max(self.most_open, self.open_now)
        try:
            asked, reply = self._read(path, headers, json.loads(body or b"{}"))
            await asyncio.sleep(self.latency_s if reply.latency_s is None else reply.latency_s)
            if reply.hang:
                await reader.read()
                return False
            while reply.held and not asked.stream and not reply.held.is_set():
                await asyncio.sleep(0.01)
            return await _answer(writer, asked, reply)
        finally:
            self.open_now -= 1

    def _steer(self, method: str, path: str, body: bytes) -> Any:
        match method, path:
            case "POST", "/script":
                self.script(*(Reply(**reply) for reply in json.loads(body)))
            case "POST", "/reset":
                self.reset()
            case "GET", "/requests":
                return [asdict(request) for request in self.requests]
        return {"port": self.port, "requests": len(self.requests), "openNow": self.open_now}

    def _next_reply(self) -> Reply:
        return self._replies.popleft() if self._replies else Reply()

    def _read(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> tuple[Asked, Reply]:
        vendor = next(vendor for vendor, prefix in PATHS.items() if path.startswith(prefix))
        asked, recorded = wire.read(vendor, path, headers, body), Recorded(vendor, path, headers, body)
        if asked.question.startswith("[begin tools "):
            self.classified.append(recorded)
            reply = self.classifies(body)
        elif asked.question.startswith("[begin sentences "):
            self.reworded.append(recorded)
            reply = self.rewords(body) if self.rewords else Reply(text='{"sentences": []}')
        else:
            self.requests.append(recorded)
            reply = self.choose(body) if self.choose is not None else self._next_reply()
        if self.accepts is not None and asked.key != self.accepts:
            reply = Reply(status=401, message=f"Incorrect API key provided: {asked.key}.")
        return asked, reply


async def _answer(writer: asyncio.StreamWriter, asked: Asked, reply: Reply) -> bool:
    if reply.status != 200:
        status, content = wire.error(asked, reply)
        _send(writer, status, reply.headers, content)
    elif reply.raw is not None:
        kind = "text/event-stream" if asked.stream else "application/json"
        _send(writer, 200, {"content-type": kind, **reply.headers}, reply.raw)
    elif asked.stream or reply.streamed:
        asked = replace(asked, wants_usage=asked.wants_usage or reply.streamed)
        return await _send_stream(writer, wire.events(asked, reply), reply)
    else:
        _send(writer, 200, reply.headers, wire.body(asked, reply), cut=reply.cut)
    await writer.drain()
    return not reply.cut


def _send(
    writer: asyncio.StreamWriter, status: int, headers: dict[str, str], content: bytes, cut: bool = False
) -> None:
    lines = {"content-type": "application/json", "content-length": str(len(content)), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    writer.write(f"HTTP/1.1 {status} Fake\r\n{head}\r\n".encode() + (content[:20] if cut else content))


async def _send_stream(writer: asyncio.StreamWriter, events: AsyncIterator[bytes], reply: Reply) -> bool:
    head = "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    writer.write(f"HTTP/1.1 200 Fake\r\n{head}\r\n".encode())
    sent = 0
    async for event in events:
        if reply.cut and sent >= reply.cut_after:
            return False
        while reply.held and sent >= reply.cut_after and not reply.held.is_set():
            await asyncio.sleep(0.01)
        writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        await writer.drain()
        sent += 1
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    arguments = parser.parse_args()
    upstream = Upstream(port=arguments.port, latency_s=arguments.latency)
    upstream.start()
    print(upstream.url, flush=True)
    with suppress(KeyboardInterrupt):
        upstream._thread.join()


if __name__ == "__main__":
    main()
