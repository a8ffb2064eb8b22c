"""Puts load on an HTTP server: many connections on one event loop, or one connection in a separate process."""

from __future__ import annotations

import asyncio
import http.client
import os
import selectors
import socket
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is sent repeatedly; `known` is the ETag of an answer that the sender has, `more` are headers."""

    method: str
    path: str
    api_key: str
    body: bytes = b""
    known: str = ""
    more: tuple[tuple[str, str], ...] = ()

    def headers(self) -> dict[str, str]:
        conditions = {"If-None-Match": self.known} if self.known else {}
        named = {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"}
        return named | conditions | dict(self.more)

    def wire(self, netloc: str) -> bytes:
        """Return the bytes of the request, in HTTP/1.1 with a kept-alive connection."""
        fields = {"Host": netloc, **self.headers(), "Content-Length": str(len(self.body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"{self.method} {self.path} HTTP/1.1\r\n{head}\r\n".encode() + self.body


@dataclass(frozen=True, slots=True)
class Took:
    """The status of a request's answer, 0 without an answer, and its seconds."""

    status: int
    seconds: float


class _Exchange:
    """A request over a separate connection, which is sent when the connection is open, and its answer."""

    def __init__(self, address: tuple[str, int], wire: bytes) -> None:
        self._wire = wire
        self._received = b""
        self._started = time.perf_counter()
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(address)
        self.took: Took | None = None

    def go_on(self) -> int:
        """Send or receive what is possible; return the event to wait for next, 0 after the end."""
        try:
            if self._wire:
                self._wire = self._wire[self.socket.send(self._wire) :]
                return selectors.EVENT_WRITE if self._wire else selectors.EVENT_READ
            piece = self.socket.recv(65536)
        except OSError:
            return self._end(0)
        if not piece:
            return self._end(0)
        self._received += piece
        head, complete, body = self._received.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if not complete or len(body) < int(length or 0):
            return selectors.EVENT_READ
        return self._end(int(head.split(b" ", 2)[1]))

    def _end(self, status: int) -> int:
        self.took = Took(status, time.perf_counter() - self._started)
        return 0


def burst(url: str, request: Request, count: int) -> list[Took]:
    """Send `count` requests at once, each over a separate connection.

    One thread waits for all sockets. An event loop would need four times as much processor time, which the servers
    would lack, and would open all connections before it sends the first request.
    """
    parts = urlsplit(url)
    address, wire = (parts.hostname or "", parts.port or 80), request.wire(parts.netloc)
    exchanges = []
    with selectors.DefaultSelector() as selector:
        for _ in range(count):
            exchanges.append(_Exchange(address, wire))
            selector.register(exchanges[-1].socket, selectors.EVENT_WRITE, exchanges[-1])
            _go_on(selector, 0)
        while selector.get_map():
            _go_on(selector, None)
    return [exchange.took for exchange in exchanges if exchange.took]


def _go_on(selector: selectors.BaseSelector, timeout_s: float | None) -> None:
    for key, ready in selector.select(timeout_s):
        awaited = key.data.go_on()
        if not awaited:
            selector.unregister(key.fileobj)
            key.data.socket.close()
        elif awaited != ready:
            selector.modify(key.fileobj, awaited, key.data)


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wire: bytes) -> int:
    """Send, read the answer to its end, return its status."""
    writer.write(wire)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0))
    return int(head.split(" ", 2)[1])


async def rate(url: str, request: Request, *, connections: int, seconds: float) -> float:
    """Answers a second over `connections` kept connections, all of them 200 or 304."""
    netloc = urlsplit(url).netloc
    wire, until = request.wire(netloc), time.perf_counter() + seconds

    async def one() -> int:
        reader, writer = await asyncio.open_connection(*netloc.split(":"))
        answers = 0
        while time.perf_counter() < until:
            if (status := await exchange(reader, writer, wire)) not in (200, 304):
                raise SystemExit(f"{request.method} {request.path}: HTTP {status}")
            answers += 1
        writer.close()
        return answers

    return sum(await asyncio.gather(*(one() for _ in range(connections)))) / seconds


async def paced(url: str, request: Request, *, per_second: float, connections: int, seconds: float) -> list[Took]:
    """Send so many requests a second in total, over `connections` kept connections in rotation.

    A time counts from the moment at which its request is due, so that waiting for the answer before counts, too.
    """
    netloc = urlsplit(url).netloc
    wire, began = request.wire(netloc), time.perf_counter() + 0.1
    taken: list[Took] = []

    async def one(first: int) -> None:
        reader, writer = await asyncio.open_connection(*netloc.split(":"))
        for number in range(first, int(per_second * seconds), connections):
            due = began + number / per_second
            await asyncio.sleep(due - time.perf_counter())
            status = await exchange(reader, writer, wire)
            taken.append(Took(status, time.perf_counter() - due))
        writer.close()

    await asyncio.gather(*map(one, range(connections)))
    return taken


def one_by_one(
    url: str, request: Request, *, count: int = 0, stop: Event | None = None, pause_s: float = 0
) -> list[Took]:
    """Send over one kept connection, `count` times or until `stop` is set."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    taken: list[Took] = []
    while len(taken) < count or (stop is not None and not stop.is_set()):
        started = time.perf_counter()
        connection.request(request.method, request.path, request.body, request.headers())
        answer = connection.getresponse()
        answer.read()
        taken.append(Took(answer.status, time.perf_counter() - started))
        time.sleep(pause_s)
    connection.close()
    return taken


def percentile_ms(taken: Sequence[Took], percent: int) -> float:
    if len(taken) < 2:
        return max((took.seconds for took in taken), default=0.0) * 1000
    return statistics.quantiles([took.seconds for took in taken], n=100, method="inclusive")[percent - 1] * 1000


def statuses(taken: Sequence[Took]) -> dict[int, int]:
    """How many requests ended with which status."""
    return {status: sum(took.status == status for took in taken) for status in sorted({took.status for took in taken})}


def memory_mb(group: int) -> list[int]:
    """Resident megabytes, largest first, of each process of the process group `group`, at their peak."""
    peaks = [int(status.partition("VmHWM:")[2].split()[0]) // 1024 for _, status in _processes(group)]
    return sorted(peaks, reverse=True)


def cpu_s(group: int) -> float:
    """Seconds of processor that the processes of the group have used: what a busy machine does not change much."""
    ticks = sum(int(fields[11]) + int(fields[12]) for fields, _ in _processes(group))
    return ticks / os.sysconf("SC_CLK_TCK")


def _processes(group: int) -> Iterator[tuple[list[str], str]]:
    """Of each: the fields of /proc/<pid>/stat after the name, and /proc/<pid>/status."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            status = (folder / "status").read_text()
        except OSError:
            continue
        if int(fields[2]) == group and "VmHWM" in status:
            yield fields, status
