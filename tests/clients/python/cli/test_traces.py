"""`reprise traces wait`: waits for a trace, shows what is refused meanwhile, and what the trace lacks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.remote import Remote
from reprise_client.cli.traces import SETTLING_S, UNCHANGED_S, TraceWait, hindrances, report

TURN: dict[str, Any] = {
    "user": "Where is it?",
    "steps": [{"kind": "tool_call", "name": "find"}, {"kind": "answer", "text": "There."}],
    "warnings": [],
}


def listed(session_id: str, turns: int = 1) -> dict[str, Any]:
    return {"id": session_id, "turns": turns}


def opened(*turns: dict[str, Any], conversation: str | None = "c") -> dict[str, Any]:
    return {"id": "new", "promptId": 2, "conversationId": conversation, "turns": [TURN | turn for turn in turns]}


@dataclass
class Instance:
    """An instance with the newest session, and the rejected spans, of each second."""

    newest: list[dict[str, Any] | None]
    rejected: list[list[dict[str, Any]]] = field(default_factory=lambda: [[]])
    now: float = 0.0
    agent_s: float = 0.0
    agents: tuple[str, ...] = ("bot",)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def answer(self, request: httpx.Request) -> httpx.Response:
        second, path = int(self.now), request.url.path
        if path == "/api/v1/agents":
            agents = [{"name": name, "promptId": 2} for name in self.agents]
            return httpx.Response(200, json={"agents": agents if second >= self.agent_s else []})
        if path == "/api/v1/prompts/2":
            return httpx.Response(200, json={"id": 2})
        if path == "/api/v1/sessions":
            newest = self.newest[min(second, len(self.newest) - 1)]
            return httpx.Response(200, json={"sessions": [newest] if newest else []})
        if path == "/api/v1/rejected-spans":
            return httpx.Response(200, json={"rejectedSpans": self.rejected[min(second, len(self.rejected) - 1)]})
        if path.startswith("/api/v1/sessions/"):
            return httpx.Response(200, json=opened({}) | {"id": path.rpartition("/")[2]})
        return httpx.Response(404, json={"error": "There is no such prompt."})

    def wait(self, prompt_id: int = 2, *, agent: str = "", another: bool = False, timeout_s: float = 30) -> Any:
        remote = Remote("http://reprise", "rp_key", transport=httpx.MockTransport(self.answer), sleep=self.sleep)
        waiting = TraceWait(remote, prompt_id, timeout_s, agent=agent, sleep=self.sleep, monotonic=lambda: self.now)
        return waiting.session(another=another)


def test_the_first_trace_of_an_agent_makes_its_prompt() -> None:
    instance = Instance([listed("new")], agent_s=4)

    assert instance.wait(0, agent="bot")["id"] == "new"
    assert instance.now >= 4


def test_an_agent_without_traces_is_named_in_the_refusal() -> None:
    with pytest.raises(CouldNotRun, match="No trace of agent 'other' came"):
        Instance([listed("new")]).wait(0, agent="other")


@pytest.mark.parametrize(
    ("agents", "others"),
    [
        (("shop", "bot\x1b[2J"), r" Other agents have sent traces: shop, bot\u001b[2J."),
        (tuple("abcdefg"), " Other agents have sent traces: a, b, c, d, e and 2 more."),
        ((), ""),
    ],
)
def test_an_agent_without_traces_is_waited_for_with_the_names_of_the_other_agents(
    capsys: pytest.CaptureFixture[str], agents: tuple[str, ...], others: str
) -> None:
    with pytest.raises(CouldNotRun, match="No trace of agent 'other' came"):
        Instance([listed("new")], agents=agents).wait(0, agent="other")

    assert capsys.readouterr().err.splitlines()[0] == f"Waiting for a trace of agent 'other'.{others}"


def test_other_agents_are_not_named_where_the_agent_has_traces(capsys: pytest.CaptureFixture[str]) -> None:
    Instance([listed("old")] * 9 + [listed("new")], agents=("bot", "shop")).wait(0, agent="bot", another=True)

    assert capsys.readouterr().err == "Waiting for a trace of agent 'bot'.\n"


def test_the_first_trace_is_waited_for() -> None:
    instance = Instance([None, None, None, listed("new")])
    assert instance.wait()["id"] == "new"
    assert instance.now == 3 + UNCHANGED_S


def test_the_newest_trace_is_shown_without_waiting_for_another() -> None:
    assert Instance([listed("old")]).wait()["id"] == "old"


@pytest.mark.parametrize("later", [listed("new"), listed("old", turns=2)])
def test_another_trace_is_one_that_was_not_there_before(later: dict[str, Any]) -> None:
    instance = Instance([listed("old")] * 20 + [later])
    assert instance.wait(another=True)["id"] == later["id"]
    assert instance.now == 20 + UNCHANGED_S


def test_a_trace_is_shown_once_it_no_longer_changes() -> None:
    growing: list[dict[str, Any] | None] = [listed("new", turns) for turns in range(10)]
    instance = Instance(growing)
    instance.wait()
    assert instance.now == 9 + UNCHANGED_S


def test_a_trace_that_never_ends_is_shown_all_the_same() -> None:
    instance = Instance([listed("new", turns) for turns in range(1000)])
    instance.wait()
    assert instance.now == SETTLING_S


def test_no_trace_within_the_time_could_not_run() -> None:
    with pytest.raises(CouldNotRun, match="No trace of prompt 2 came within 5 s"):
        Instance([None]).wait(timeout_s=5)


def test_an_unknown_prompt_could_not_run_at_once() -> None:
    instance = Instance([None])
    with pytest.raises(CouldNotRun, match="There is no such prompt"):
        instance.wait(prompt_id=3)
    assert instance.now == 0


def test_what_is_refused_meanwhile_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    old, wrong, other = (
        {"id": number, "code": "batch_401", "reason": f"reason {number}\x1b[2J", "receivedAt": "now"}
        for number in (7, 8, 10)
    )
    again = wrong | {"id": 9}
    instance = Instance(
        [None] * 4 + [listed("new")], [[old], [again, wrong, old], [again, wrong, old], [other, again, wrong, old]]
    )
    instance.wait()
    shown = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Refused")]
    assert shown == [
        r"Refused at now: reason 7\u001b[2J",
        r"Refused: reason 8\u001b[2J",
        r"Refused: reason 10\u001b[2J",
    ]


def test_the_newest_reasons_of_what_was_refused_before_are_shown_with_their_times(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        {"id": number, "code": "batch_401", "reason": f"reason {number // 2}", "receivedAt": f"second {number}"}
        for number in range(10, 0, -1)
    ]
    Instance([None, None, listed("new")], [rows]).wait()
    assert capsys.readouterr().err.splitlines()[:3] == [
        "Refused at second 7: reason 3",
        "Refused at second 9: reason 4",
        "Refused at second 10: reason 5",
    ]


def test_what_was_refused_before_is_not_shown_to_a_prompt_with_traces(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"id": 1, "code": "batch_401", "reason": "old", "receivedAt": "then"}
    Instance([listed("old")] * 2 + [listed("new")], [[row]]).wait(another=True)
    assert "Refused" not in capsys.readouterr().err


@pytest.mark.parametrize("code", ["clock_ahead", "clock_behind"])
def test_a_span_of_a_wrong_clock_is_not_shown_as_refused(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"id": 1, "code": code, "reason": "the span is stored, but late", "receivedAt": "now"}

    Instance([None, None, listed("new")], [[], [row]]).wait()

    assert "Warning: the span is stored, but late" in capsys.readouterr().err.splitlines()


def lines(session: dict[str, Any]) -> list[str]:
    instance = Remote("http://x", "k", transport=httpx.MockTransport(lambda _: httpx.Response(200, json=session)))
    return list(report(instance.get("/")))


def test_a_whole_trace_lacks_nothing() -> None:
    assert lines(opened({})) == [
        "Session new of prompt 2, turns: 1.",
        "Words: recorded.",
        "Conversation: c.",
        "Tools: 1 call (find).",
    ]


@pytest.mark.parametrize(
    ("session", "words"),
    [
        (opened({"user": None}), "Words: missing: the question. "),
        (opened({"steps": TURN["steps"][:1]}), "Words: missing: the answer. "),
        (opened({"user": None, "steps": []}), "Words: missing: the question and the answer. "),
        (opened(), "Words: missing: "),
        (opened({}, conversation=None), "Conversation: missing. "),
        (opened({"steps": TURN["steps"][1:]}), "Tools: missing. "),
        (opened({"warnings": ["Set the switch."]}, {"warnings": ["Set the switch."]}), "Warning: Set the switch."),
    ],
)
def test_what_a_trace_lacks_is_named(session: dict[str, Any], words: str) -> None:
    assert len([line for line in lines(session) if line.startswith(words)]) == 1


def test_the_advice_of_a_warning_is_not_contradicted() -> None:
    warning = 'The conversation was under way. To record it as one session: config={"thread_id": 1}'

    named = lines(opened({"warnings": [warning]}, conversation=None))

    assert "Conversation: missing. Each turn is its own session; see the warning below." in named
    assert not [line for line in named if "AI SDK" in line]


OFFERED = {"offeredTools": [{"name": "find"}], "spans": [{"model": None}, {"model": "gpt-x"}]}


def of_replays(
    turn: dict[str, Any],
    model: str = "gpt-x",
    *,
    tools: list[dict[str, Any]] | None = None,
    adopted: bool = False,
) -> list[str]:
    vendor = "BUILTIN" if model == "echo" else "OPENAI"
    draft = {"languageModel": {"name": model, "vendor": vendor}, "languageModelConfig": {"tools": tools or []}}
    answers: dict[str, dict[str, Any]] = {"/session": opened(OFFERED | turn), "/draft": draft}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answers[request.url.path]))
    instance = Remote("http://x", "k", transport=transport)
    return list(hindrances(instance.get("/session"), instance.get("/draft"), adopted=adopted))


def heads(lines: list[str]) -> list[str]:
    """Return the words of each line up to its first comma or full stop with a space behind it."""
    return [re.split(r"[.,] ", line)[0] for line in lines]


@pytest.mark.parametrize("missing", [None, []])
def test_what_a_replay_of_the_draft_lacks_is_named(missing: list[dict[str, Any]] | None) -> None:
    bare = {"offeredTools": missing}

    assert of_replays({}) == []
    assert heads(of_replays({}, "echo")) == ["Model: gpt-x is none of Reprise's models"]
    assert of_replays({"spans": [{"model": None}]}, "echo") == []
    assert heads(of_replays(bare)) == ["Definitions of tools: missing"]
    assert of_replays(bare, tools=[{"name": "find"}]) == []
    assert of_replays(bare | {"steps": TURN["steps"][1:]}) == []


def test_definitions_that_are_derived_from_calls_are_named_for_the_prompts_of_agents() -> None:
    bare = {"offeredTools": None}

    assert "Replays of the draft offer no tools" in of_replays(bare)[0]
    assert "Test cases derive them from the recorded calls" in of_replays(bare, adopted=True)[0]


@pytest.mark.parametrize(
    ("recorded", "asked", "named"),
    [
        ("claude-3-5-sonnet-20241022", "claude-sonnet-4-6", True),
        ("gpt-4o-mini", "gpt-4o", True),
        ("gpt-4o-2024-08-06", "gpt-4o", False),
        ("openai/gpt-4o", "gpt-4o", False),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5", False),
        ("gemini-3.1-pro-preview", "gemini-3.1-pro-preview", False),
    ],
)
def test_a_model_that_replays_ask_in_the_place_of_the_recorded_one_is_named(
    recorded: str, asked: str, named: bool
) -> None:
    lines = of_replays({"spans": [{"model": recorded}]}, asked)

    assert heads(lines) == ([f"Model: the agent used {recorded}"] if named else [])
    assert all(f"replays ask {asked}" in line for line in lines)
