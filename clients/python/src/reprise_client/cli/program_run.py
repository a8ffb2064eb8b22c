"""Replays a user's own program: starts it for each test case, asks it turn by turn, and ends it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.interruption import Interruption
from reprise_client.cli.program_asking import Asking
from reprise_client.cli.program_process import ProgramProcess
from reprise_client.cli.program_supervisor import MARK
from reprise_client.cli.remote import LOOK_S, Remote, judge_fields, wait_for_end
from reprise_client.cli.replay_runner import ChosenCase, ReplayOutcome

# The variables in which SDKs look for the address and the key of a vendor.
VARIABLES = {
    "openai": (("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",)),
    "anthropic": (("ANTHROPIC_BASE_URL",), ("ANTHROPIC_API_KEY",)),
    "gemini": (("GOOGLE_GEMINI_BASE_URL",), ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
# Neither Reprise nor OpenAI's dashboard records a replay, and OpenAI is not sent the token as a key.
UNTRACED = {"OTEL_SDK_DISABLED": "true", "OPENAI_AGENTS_DISABLE_TRACING": "1"}


class ReplayEnded(CouldNotRun):
    """The instance ended the replay before its program had answered, for example because of the cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRunner:
    """Replays test cases on `copies` of the program at once. `candidate` is its name and revision."""

    remote: Remote
    command: Sequence[str]
    candidate: Mapping[str, Any]
    asking: Asking
    stop: Interruption
    timeout_s: float
    offline: bool = False
    tools: str = "endpoint"
    judge: str | None = None
    judging: str | None = None

    def outcomes(self, cases: Sequence[ChosenCase], copies: int) -> Iterator[ReplayOutcome]:
        """Yield the outcome of each test case. After one that could not run, no other one is started."""
        with ThreadPoolExecutor(copies) as pool:
            waiting = {pool.submit(self._outcome, case) for case in cases}
            try:
                while waiting:
                    ended, waiting = wait(waiting, LOOK_S, FIRST_COMPLETED)
                    yield from (future.result() for future in ended)
            finally:
                if waiting:
                    self.stop.request()

    def _outcome(self, case: ChosenCase) -> ReplayOutcome:
        test_case_id, name, failing = case
        body = {**judge_fields(self.judge, self.judging), **failing, "offline": self.offline, "tools": self.tools}
        body["candidate"] = {"external": dict(self.candidate)}
        try:
            self.stop.check()
            started = self.remote.post(f"/api/v1/test-cases/{test_case_id}/replays", body)
            path = f"/api/v1/replays/{started['id']}"
            self.play(path, started)
            replay = wait_for_end(self.remote, path, self.timeout_s, self.stop.sleep, time.monotonic)
        except CouldNotRun as problem:
            return ReplayOutcome(test_case_id, name, None, problem.message)
        return ReplayOutcome(test_case_id, name, replay)

    def play(self, path: str, started: Mapping[str, Any]) -> None:
        """Let the program answer all turns; whatever happens, none of its processes is left, nor an open replay.

        Raises `ReplayEnded` for a program that failed because the instance had ended the replay.
        """
        try:
            turn = self.remote.post_for(f"{path}/turns", harmless=True)
            if turn is None:
                return
            self.asking.check_free()
            program = ProgramProcess.start(
                self.command, self._variables(started), answers_on_stdout=self.asking.url is None
            )
            try:
                self.asking.wait_until_ready(program)
                while turn is not None:
                    self._answer(path, turn, program)
                    turn = self.remote.post_for(f"{path}/turns", harmless=True)
                program.check_quiet()
            finally:
                program.end()
        except CouldNotRun as problem:
            if self.remote.cancel(path):
                raise
            raise ReplayEnded(problem.message) from problem

    def _answer(self, path: str, turn: Mapping[str, Any], program: ProgramProcess) -> None:
        text = self.asking.ask(program, turn, path.rpartition("/")[2])
        try:
            self.remote.post(f"{path}/turns/{turn['turn']}/answer", {"text": text}, harmless=True)
        except CouldNotRun as problem:
            raise (program.failed(problem.message) if problem.status == 400 else problem) from problem

    def _variables(self, started: Mapping[str, Any]) -> dict[str, str]:
        """Return what the program's environment gets: the endpoint with the token, and no export of traces."""
        variables = {MARK: started["token"], "REPRISE_REPLAY_URL": self.remote.url, **UNTRACED}
        for vendor, (addresses, keys) in VARIABLES.items():
            # The address by which this command reaches the instance.
            url = self.remote.url + urlsplit(started["endpoint"][vendor]).path
            variables |= dict.fromkeys(addresses, url) | dict.fromkeys(keys, started["token"])
        return variables
