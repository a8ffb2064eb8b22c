"""A conversation that was recorded as one trace has a turn for each question, on the page, in lists and in the API."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from app.services.ingest.settling import SETTLE_AFTER, TurnSettler
from app.work.work_time import WorkTime
from tests.integration.test_search import index
from tests.integration.web.conftest import Browser, admin  # noqa: F401 - a fixture
from tests.support.exports import export, span
from tests.support.waiting import PATIENCE_S
from tests.support.world import World

QUESTIONS = ("Is it wet?", "Is it cold?", "Is it late?")


@pytest.fixture
def sweep(world: World) -> Callable[[], None]:
    """Counts turns as the clock does, after the time without new spans."""
    container = world.container

    def sweep() -> None:
        later = container.now() + SETTLE_AFTER + timedelta(seconds=1)
        TurnSettler(database=container.database, now=lambda: later, work_time=WorkTime(PATIENCE_S)).sweep()

    return sweep


class Spoken:
    """Traces of voice conversations with one id; in each an agent runs for each question, and calls a tool."""

    def __init__(self, world: World) -> None:
        self.world, self.prompt_id, self.spans = world, world.prompt(), 0
        self.conversation = secrets.token_hex(8)

    def trace(self, questions: tuple[str, ...], *, fails: int | None = None) -> list[dict[str, Any]]:
        self._trace_id = secrets.token_hex(16)
        root = self._span("session", None, 1, {"session.id": self.conversation})
        spans, history = [root], []
        for number, question in enumerate(questions):
            agent = self._span("agent_turn", root, 1, {"gen_ai.operation.name": "invoke_agent"})
            history.append({"role": "user", "content": question})
            answer = {"role": "assistant", "content": f"Answer to {question}"}
            words = {"gen_ai.input.messages": json.dumps(history), "gen_ai.output.messages": json.dumps([answer])}
            usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.request.model": "gpt-4o-mini"}
            tool = self._span("look", agent, 1, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"})
            tool["status"] = {"code": 2 if number == fails else 0}
            chat = self._span("chat", agent, 1, {"gen_ai.operation.name": "chat"} | words | usage)
            spans += [agent, tool, chat]
            history.append(answer)
        root["endTimeUnixNano"] = str(int(spans[-1]["endTimeUnixNano"]))
        return spans

    def _span(self, name: str, parent: dict[str, Any] | None, seconds: int, values: dict[str, Any]) -> dict[str, Any]:
        self.spans += 1
        begin = (1_795_000_000 + 10 * self.spans) * 10**9
        return span(
            {"service.prompt.id": self.prompt_id} | values,
            traceId=self._trace_id,
            spanId=f"{self.spans:016x}",
            parentSpanId=parent and parent["spanId"],
            name=name,
            startTimeUnixNano=str(begin),
            endTimeUnixNano=str(begin + seconds * 10**9),
        )

    def send(self, *traces: list[dict[str, Any]]) -> None:
        assert self.world.send(export(*(recorded for trace in traces for recorded in trace))).status_code == 200

    @property
    def row(self) -> dict[str, Any]:
        [row] = self.world.get("/api/v1/sessions", params={"promptId": self.prompt_id}).json["sessions"]
        return dict(row)

    @property
    def session(self) -> dict[str, Any]:
        return dict(self.world.get(f"/api/v1/sessions/{self.row['id']}").json)


@pytest.fixture
def spoken(world: World) -> Spoken:
    return Spoken(world)


def test_lists_count_the_turns_of_a_trace(spoken: Spoken, sweep: Callable[[], None]) -> None:
    spoken.send(spoken.trace(QUESTIONS), spoken.trace(QUESTIONS[:1]))
    sweep()

    turns = spoken.session["turns"]
    assert [turn["user"] for turn in turns] == [*QUESTIONS, QUESTIONS[0]]
    assert spoken.row["turns"] == 4
    assert spoken.row["usage"] == spoken.session["usage"]
    assert spoken.session["conversationId"] == spoken.conversation


def test_a_turn_that_comes_later_is_counted_too(spoken: Spoken, sweep: Callable[[], None]) -> None:
    spans = spoken.trace(QUESTIONS)
    spoken.send(spans[:4])
    sweep()
    assert spoken.row["turns"] == 1

    spoken.send(spans[4:])
    sweep()

    assert spoken.row["turns"] == 3


def test_a_page_numbers_the_turns_of_all_traces(
    spoken: Spoken,
    sweep: Callable[[], None],
    admin: Browser,  # noqa: F811
) -> None:
    spoken.send(*(spoken.trace(QUESTIONS, fails=1 if number == 9 else None) for number in range(10)))
    sweep()
    path = f"{admin.base}/sessions/{spoken.row['id']}"

    admin.open(f"{path}?turn=30")

    assert 'id="turn-30"' in admin.page
    assert "Answer to Is it late?" in admin.text
    assert 'id="line-30"' in admin.page
    assert admin.open(f"{path}?turn=31").status_code == 404
    assert "Is it cold?" in admin.open(f"{path}/turns/29/texts/user").text


def test_turns_that_are_not_yet_counted_are_on_the_page(spoken: Spoken, admin: Browser) -> None:  # noqa: F811
    spoken.send(spoken.trace(QUESTIONS, fails=1))
    path = f"{admin.base}/sessions/{spoken.row['id']}"

    admin.open(path)

    failed = [f'id="turn-{number}" data-failed' in admin.page for number in (1, 2, 3)]
    assert failed == [False, True, False]
    assert [f'id="turn-{number}"' in admin.page for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert "Is it late?" in admin.open(f"{path}/turns/3/texts/user").text
    assert admin.open(f"{path}/turns/4/texts/user").status_code == 404


def test_a_score_of_the_trace_is_shown_once(spoken: Spoken, admin: Browser) -> None:  # noqa: F811
    spoken.send(spoken.trace(QUESTIONS))
    trace_id = spoken.session["turns"][0]["traceId"]
    for name, place in (("whole", {}), ("second", {"spanId": spoken.session["turns"][1]["spans"][0]["spanId"]})):
        score = {"name": name, "value": 0.25, "target": {"traceId": trace_id} | place}
        assert spoken.world.post("/api/v1/scores", json=score).status_code == 201

    admin.open(f"{admin.base}/sessions/{spoken.row['id']}")

    first, second, third = admin.page.split('<article class="turn"')[1:]
    assert ["whole" in turn for turn in (first, second, third)] == [True, False, False]
    assert ["second" in turn for turn in (first, second, third)] == [False, True, False]


def test_a_search_finds_words_of_each_turn(spoken: Spoken) -> None:
    spoken.send(spoken.trace(QUESTIONS))
    index(spoken.world)

    for question in QUESTIONS:
        words = question.removeprefix("Is it ").removesuffix("?")
        rows = spoken.world.get("/api/v1/sessions", params={"promptId": spoken.prompt_id, "q": words}).json["sessions"]
        assert len(rows) == 1


def test_a_search_hit_has_the_number_of_its_turn(spoken: Spoken, sweep: Callable[[], None]) -> None:
    spoken.send(spoken.trace(QUESTIONS), spoken.trace(("Is it far?", "Is it open?")), spoken.trace(("Is it dear?",)))
    sweep()
    index(spoken.world)
    params = {"promptId": spoken.prompt_id}

    for word in ("wet", "late", "far", "open", "dear"):
        [row] = spoken.world.get("/api/v1/sessions", params=params | {"q": word}).json["sessions"]
        path = f"/api/v1/prompts/{spoken.prompt_id}/logs"
        [entry] = spoken.world.get(path, params={"q": word}).json["entries"]
        numbers = [n for n, turn in enumerate(spoken.session["turns"], 1) if word in (turn["user"] or "")]
        assert (row["hit"]["kind"], [row["hit"]["turn"]]) == ("user", numbers), word
        assert entry["hit"]["turn"] == row["hit"]["turn"]

    [row] = spoken.world.get("/api/v1/sessions", params=params | {"q": '"Answer to Is it open"'}).json["sessions"]
    assert (row["hit"]["kind"], row["hit"]["turn"]) == ("answer", 5)
