"""Asks a running program for its answer to a turn: by HTTP, or by a JSON line on its standard streams."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from math import inf
from typing import Any
from urllib.parse import urlsplit

import httpx

from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.program_process import ANSWER_MAX, ProgramProcess
from reprise_client.cli.program_supervisor import LOOK_S
from reprise_client.whole_answers import whole_answer

DEFAULT_BODY = '{"text": "{{user}}", "conversation": "{{conversation}}"}'
Turn = Mapping[str, Any]
_ADVICE = (
    " Only answers may be printed there: print all else to standard error, as gate.py and gate.mjs of docs/start.md do."
    " A loop that asks a person must not run."
)


@dataclass(frozen=True, slots=True)
class Asking:
    """How a program is asked; with a `url` by POST of `body`, else by its standard streams.

    `answer` is the JSON pointer of the text in its answer. `sleep` raises when the command is to end.
    """

    url: str | None
    body: Any
    answer: str | None
    start_timeout_s: float
    turn_timeout_s: float
    sleep: Callable[[float], None]

    def check_free(self) -> None:
        """Raise `CouldNotRun` if another program answers at the address before this one is started."""
        if self.url and _is_open(self.url):
            raise CouldNotRun(
                f"Something else already answers at {self.url}: end it, or let the program use another port."
            )

    def wait_until_ready(self, program: ProgramProcess) -> None:
        """Wait until the program listens at its URL; does nothing without one.

        Raises `CouldNotRun` if the program ends before, or does not listen within `start_timeout_s`.
        """
        deadline = time.monotonic() + self.start_timeout_s
        while self.url and not _is_open(self.url):
            if not program.is_running:
                raise program.failed("The program ended before it answered.")
            if time.monotonic() > deadline:
                raise program.failed(f"The program did not answer at {self.url} within {self.start_timeout_s:g} s.")
            self.sleep(LOOK_S)

    def ask(self, program: ProgramProcess, turn: Turn, conversation: str) -> str:
        """Return the program's answer. Raises `CouldNotRun` for a program that crashes, hangs or answers rubbish."""
        values = {
            "user": turn["user"] or "",
            "conversation": conversation,
            "turn": turn["turn"],
            "files": turn["files"],
        }
        text = self._by_http(program, values) if self.url else self._by_line(program, values)
        if not isinstance(text, str) or not text.strip():
            raise program.failed(f"The program gave no answer to turn {turn['turn'] + 1}.")
        return text

    def _by_http(self, program: ProgramProcess, values: Mapping[str, Any]) -> Any:
        answer = Future[httpx.Response]()
        threading.Thread(target=_post, args=(self.url, filled(self.body, values), answer), daemon=True).start()
        self._wait(program, answer.done)
        if error := answer.exception():
            raise program.failed(f"The program did not answer at {self.url}: {str(error) or type(error).__name__}.")
        response = answer.result()
        if response.is_error:
            raise program.failed(f"The program answered {response.status_code}: {response.text[:300]}")
        if self.answer is None and "json" not in response.headers.get("content-type", ""):
            return response.text
        return self._text_in(program, response.text)

    def _by_line(self, program: ProgramProcess, values: Mapping[str, Any]) -> Any:
        program.send(json.dumps(values, ensure_ascii=False))
        lines: list[str] = []

        def has_answered() -> bool:
            if (answer := program.next_answer()) is not None:
                lines.append(answer)
            return bool(lines)

        self._wait(program, has_answered)
        return self._text_in(program, lines[0])

    def _text_in(self, program: ProgramProcess, answer: str) -> Any:
        try:
            document = json.loads(answer)
        except (ValueError, RecursionError):
            advice = "" if self.url else _ADVICE
            raise program.failed(f"The program's answer is no JSON: {answer[:200]!r}.{advice}") from None
        pointer = self.answer
        if pointer is None:
            pointer = "/text" if isinstance(document, dict) else ""
        for key in pointer.split("/")[1:]:
            key = key.replace("~1", "/").replace("~0", "~")
            if isinstance(document, list) and key.isdecimal() and int(key) < len(document):
                document = document[int(key)]
            elif isinstance(document, dict) and key in document:
                document = document[key]
            else:
                raise program.failed(f"The program's answer has nothing at {pointer}: {answer[:200]}")
        return document

    def _wait(self, program: ProgramProcess, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.turn_timeout_s
        while not is_done():
            if not program.is_running and not is_done():
                raise program.failed("The program ended before it answered.")
            if time.monotonic() > deadline:
                raise program.failed(f"The program did not answer within {self.turn_timeout_s:g} s.")
            self.sleep(LOOK_S)


def problem_of(url: str) -> str | None:
    """Return why a program can't be asked at an address; None if it can."""
    try:
        address = urlsplit(url)
        httpx.URL(url)
        is_whole = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except (ValueError, httpx.InvalidURL) as error:
        return str(error)
    return None if is_whole else "an address begins with http:// or https:// and has a host."


def filled(body: Any, values: Mapping[str, Any]) -> Any:
    """Return a body with `{{name}}` replaced in its texts; a text that is only `{{files}}` becomes the list."""
    if isinstance(body, dict):
        return {key: filled(value, values) for key, value in body.items()}
    if isinstance(body, list):
        return [filled(value, values) for value in body]
    if not isinstance(body, str):
        return body
    for name, value in values.items():
        if body == f"{{{{{name}}}}}":
            return value
    # What a turn has is never read as a placeholder.
    pieces = body.split("{{")
    return pieces[0] + "".join(_piece(piece, values) for piece in pieces[1:])


def _piece(piece: str, values: Mapping[str, Any]) -> str:
    name, closed, rest = piece.partition("}}")
    return f"{values[name]}{rest}" if closed and name in values else "{{" + piece


def _post(url: str, body: Any, answer: Future[httpx.Response]) -> None:
    try:
        # No time limit: who waits for the answer ends the program, and so this request.
        with httpx.Client(trust_env=False, timeout=None) as client:  # noqa: S113
            response = client.send(client.build_request("POST", url, json=body), stream=True)
            answer.set_result(whole_answer(response, bytes_max=ANSWER_MAX, until=inf))
    except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
        answer.set_exception(error)


def _is_open(url: str) -> bool:
    address = urlsplit(url)
    try:
        port = address.port or (443 if address.scheme == "https" else 80)
        socket.create_connection((address.hostname or "", port), timeout=1).close()
    except OSError:
        return False
    return True
