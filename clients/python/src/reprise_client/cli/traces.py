"""`reprise traces wait`: waits for the first trace of a prompt, and shows what it lacks."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from reprise_client.cli import terminal
from reprise_client.cli.replay import key_option, url_option

if TYPE_CHECKING:
    from reprise_client.cli.remote import Remote, RemoteAnswer

LOOK_S = 1.0
# Exporters send a batch every 5 seconds by default, and a trace may come in several batches.
UNCHANGED_S, SETTLING_S = 6.0, 60.0
_ADVISED = "To record it as one session: "
_SDK = "In Vercel's AI SDK name it in each call: runtimeContext in version 7, the telemetry's metadata.sessionId in 6."
_ADVICE = (
    "A batch with a wrong key is only in the log of the server; one with a wrong address or protocol may not reach it."
)
_DATE = re.compile(r"(?:[-@](?:\d{8}|\d{4}-\d\d-\d\d|\d{2}-\d{2,4}|\d{3}|latest|preview))+\Z")
_DERIVED = (
    "Test cases derive them from the recorded calls: names and arguments, without descriptions. If replays call tools "
    "in another way than your program, add the tools in the editor of the prompt."
)
_NONE_OFFERED = (
    "Replays of the draft offer no tools, so their tool calls fail. Add the tools in the editor of the prompt."
)
WARNINGS_MAX, TOOLS_MAX, REFUSED_BEFORE_MAX, AGENTS_MAX = 10, 5, 3, 5


@click.group()
def traces() -> None:
    """Check that the traces of an agent arrive."""


@traces.command()
@url_option
@key_option
@click.option("--prompt", "prompt_id", type=int, help="The prompt's id.")
@click.option("--agent", help="The name of an agent, instead of --prompt; REPRISE_AGENT when both are left out.")
@click.option("--next", "another", is_flag=True, help="Wait for a trace that is not stored yet.")
@click.option("--timeout", type=click.FloatRange(1), default=600, show_default=True, help="Seconds.")
def wait(url: str, api_key: str, prompt_id: int | None, agent: str | None, another: bool, timeout: float) -> None:
    """Wait for the first trace of a prompt or an agent, and show whether it has words, a conversation and tool calls.

    If the prompt has traces, the newest is shown at once; --next waits for another. Batches that are refused meanwhile
    are shown with the reason. Exit code 0: the trace has the user's words and the answer. 1: it lacks them. 2: none
    came, or the command could not run.
    """
    from reprise_client.cli import remote

    if prompt_id is None and agent is None:
        agent = os.environ.get("REPRISE_AGENT") or None
    if (prompt_id is None) == (agent is None):
        raise click.UsageError("Name either a prompt with --prompt, or an agent with --agent or REPRISE_AGENT.")
    waiting = TraceWait(remote.connect(url, api_key), prompt_id or 0, timeout, agent=agent or "")
    session = waiting.session(another=another)
    draft, _ = waiting.instance.draft(session["promptId"])
    listed = waiting.instance.get("/api/v1/agents").listed("agents")
    adopted = any(entry["promptId"] == session["promptId"] for entry in listed)
    for line in (*report(session), *hindrances(session, draft, adopted=adopted)):
        terminal.echo(line)
    sys.exit(bool(_missing_words(session)))


@dataclass
class TraceWait:
    """Looks for a session of the prompt, or of the `agent` of that name, every second; needs the scope `read`."""

    instance: Remote
    prompt_id: int
    timeout_s: float
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    agent: str = ""
    _shown_id: int = field(default=0, init=False)

    def session(self, *, another: bool) -> RemoteAnswer:
        """Return the newest session once it no longer changes; with `another` not the one that is there now.

        Raises `CouldNotRun` if none came within the time.
        """
        from reprise_client.cli.failures import CouldNotRun

        if not self.agent:
            self.instance.draft(self.prompt_id)  # ends the command if there is no such prompt
        until = self.monotonic() + self.timeout_s
        before = self._newest()
        if before is None:
            # The first batch may have been refused before the command began.
            self._show_rejected(REFUSED_BEFORE_MAX)
        else:
            self._shown_id = max((row["id"] for row in self._rejected()), default=0)
        if before is None or another:
            terminal.echo(f"Waiting for a trace of {self._owner}.{self._others(before)}", err=True)
        while (newest := self._newest()) is None or (another and newest == before):
            if self.monotonic() > until:
                raise CouldNotRun(f"No trace of {self._owner} came within {self.timeout_s:g} s. {_ADVICE}")
            self._show_rejected()
            self.sleep(LOOK_S)
        return self.instance.get(f"/api/v1/sessions/{self._settled(newest)['id']}")

    def _others(self, newest: Mapping[str, Any] | None) -> str:
        """Return the names of agents that have traces, one of which may be meant; "" if the agent is known."""
        if not self.agent or newest is not None:
            return ""
        names = [agent["name"] for agent in self.instance.get("/api/v1/agents").listed("agents")]
        names = [name for name in names if name != self.agent]
        more = f" and {len(names) - AGENTS_MAX} more" if len(names) > AGENTS_MAX else ""
        return f" Other agents have sent traces: {', '.join(names[:AGENTS_MAX])}{more}." if names else ""

    def _settled(self, newest: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the newest session once it was unchanged for some seconds."""
        began = changed = self.monotonic()
        while self.monotonic() < min(changed + UNCHANGED_S, began + SETTLING_S):
            self.sleep(LOOK_S)
            self._show_rejected()
            now = self._newest() or newest
            if now != newest:
                newest, changed = now, self.monotonic()
        return newest

    @property
    def _owner(self) -> str:
        return f"agent {self.agent!r}" if self.agent else f"prompt {self.prompt_id}"

    def _newest(self) -> dict[str, Any] | None:
        if self.agent and not self.prompt_id:
            listed = self.instance.get("/api/v1/agents").listed("agents")
            self.prompt_id = next((agent["promptId"] for agent in listed if agent["name"] == self.agent), 0)
            if not self.prompt_id:
                return None
        listed = self.instance.get("/api/v1/sessions", promptId=self.prompt_id, limit=1).listed("sessions")
        return dict(listed[0]) if listed else None

    def _rejected(self) -> list[RemoteAnswer]:
        return self.instance.get("/api/v1/rejected-spans", limit=20).listed("rejectedSpans")

    def _show_rejected(self, reasons_max: int | None = None) -> None:
        """Print what was rejected since the last look, oldest first, each reason once, and warnings of clocks.

        With `reasons_max` only the newest reasons, each with the time of its newest span.
        """
        rows = [row for row in reversed(self._rejected()) if row["id"] > self._shown_id]
        times = {(row["code"], row["reason"]): row["receivedAt"] for row in rows}
        shown = list(times.items())[-reasons_max:] if reasons_max else times.items()
        for (code, reason), received in shown:
            # Spans with a wrong time are stored.
            effect = "Warning" if code.startswith("clock_") else "Refused"
            terminal.echo(f"{effect}{f' at {received}' if reasons_max else ''}: {reason}", err=True)
        self._shown_id = max((row["id"] for row in rows), default=self._shown_id)


def report(session: RemoteAnswer) -> Iterator[str]:
    """Yield the lines that show what a session has and what it lacks."""
    turns = session.listed("turns")
    calls = [step["name"] for turn in turns for step in turn.listed("steps") if step["kind"] == "tool_call"]
    names = ", ".join(list(dict.fromkeys(calls))[:TOOLS_MAX])
    yield f"Session {session['id']} of prompt {session['promptId']}, turns: {len(turns)}."
    yield f"Words: {_missing_words(session) or 'recorded.'}"
    if session["conversationId"]:
        yield f"Conversation: {session['conversationId']}."
    else:
        # That of a session which began under way names how this very instrumentation names a conversation.
        advised = any(_ADVISED in warning for turn in turns for warning in turn["warnings"])
        how = "see the warning below." if advised else f"set session.id on the span around a turn. {_SDK}"
        yield f"Conversation: missing. Each turn is its own session; {how}"
    if calls:
        yield f"Tools: {len(calls)} call{'s' * (len(calls) > 1)} ({names})."
    else:
        yield "Tools: missing. None was called, or calls are not recorded; then a test case only checks the answers."
    warnings = dict.fromkeys(warning for turn in turns for warning in turn["warnings"])
    yield from (f"Warning: {warning}" for warning in list(warnings)[:WARNINGS_MAX])


def hindrances(session: RemoteAnswer, draft: RemoteAnswer, *, adopted: bool) -> Iterator[str]:
    """Yield the lines that show what a replay of a session with its prompt's draft would lack.

    `adopted` is true for the prompt of an agent: its test cases derive definitions of tools from calls.
    """
    turns = session.listed("turns")
    recorded = next((span["model"] for turn in turns for span in turn.listed("spans") if span["model"]), None)
    asked = draft["languageModel"]["name"]
    if recorded and draft["languageModel"]["vendor"] == "BUILTIN":
        yield (
            f"Model: {recorded} is none of Reprise's models, and no key is set for one near it. So replays ask "
            f"{asked}, which is built in and no language model. Set a vendor's key, or add your model on the page "
            "Settings, Models. Then choose the model in the editor of the prompt."
        )
    elif recorded and not _is_same_model(recorded, asked):
        yield (
            f"Model: the agent used {recorded}, and replays ask {asked}. To change this, choose another one in the "
            "editor of the prompt, or add yours on the page Settings, Models. A gate over your program asks what your "
            "program asks."
        )
    called = any(step["kind"] == "tool_call" for turn in turns for step in turn.listed("steps"))
    if called and not draft["languageModelConfig"]["tools"] and not any(turn["offeredTools"] for turn in turns):
        effect = _DERIVED if adopted else _NONE_OFFERED
        yield f"Definitions of tools: missing. {effect} A gate over your program needs no definitions."


def _is_same_model(recorded: str, name: str) -> bool:
    """Return whether a recorded name is that of a model, perhaps with a path before it and a date behind it."""
    plain = recorded.rpartition("/")[2].lower()
    return _DATE.sub("", plain) == _DATE.sub("", name.lower())


def _missing_words(session: RemoteAnswer) -> str:
    """Return what the session lacks of question and answer, "" if it has both."""
    turns = session.listed("turns")
    lacking = [] if any(turn["user"] for turn in turns) else ["the question"]
    if not any(step["kind"] == "answer" for turn in turns for step in turn.listed("steps")):
        lacking.append("the answer")
    return f"missing: {' and '.join(lacking)}. Switch on the recording of message contents." if lacking else ""
