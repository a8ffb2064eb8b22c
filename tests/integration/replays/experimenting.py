"""Start experiments and wait for them, on a model that follows the text of its prompt."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import prompt
from tests.support.waiting import wait_until
from tests.support.world import World

GOOD, BAD = "Be good.", "Be bad."
PING = Reply(text="Ping")
PONG = Reply(text="Pong")


def experiment(world: World, prompt_id: int, **body: Any) -> str:
    """Start an experiment, with four repeats at least; returns its path."""
    accepted = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json={"detect": 0.5, **body})
    assert accepted.status_code == 202, accepted.text
    path: str = accepted.headers["Location"]
    assert path == f"/api/v1/experiments/{accepted.json['id']}"
    return path


def ended(world: World, path: str) -> dict[str, Any]:
    def found() -> Any:
        experiment = world.get(path).json
        return experiment if experiment["finishedAt"] else None

    experiment: dict[str, Any] = wait_until(found, path)
    return experiment


def run(world: World, prompt_id: int, **body: Any) -> dict[str, Any]:
    return ended(world, experiment(world, prompt_id, **body))


def verdict(found: dict[str, Any]) -> tuple[str, str | None]:
    return found["status"], found["verdict"]


def statuses(world: World, prompt_id: int) -> Counter[str]:
    """The number of the prompt's replays with each status."""
    replays = world.get(f"/api/v1/prompts/{prompt_id}/replays?limit=200").json["replays"]
    return Counter(each["status"] for each in replays)


def case(world: World, prompt_id: int, question: str = "Ping", answer: str = "Ping") -> int:
    made = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": question, "expectedAnswer": answer})
    assert made.status_code == 201, made.text
    case_id: int = made.json["id"]
    return case_id


def changed_prompt(world: World, cases: int = 1, **fields: Any) -> int:
    """Make a prompt with test cases, with a version of the text `GOOD` and a draft of the text `BAD`."""
    prompt_id = prompt(world, value=GOOD, **fields)
    for number in range(cases):
        case(world, prompt_id, f"Ping {number}")
    changed = world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": BAD})
    assert changed.status_code == 200, changed.text
    return prompt_id


def is_draft(body: dict[str, Any]) -> bool:
    return BAD in body["messages"][0]["content"]


def behave(upstream: Upstream, draft: Callable[[int], Reply] | Reply, version: Reply = PING) -> None:
    """Answer the draft with a reply, or with what `draft` makes of the number of its call; the version with another."""
    calls = count()

    def choose(body: dict[str, Any]) -> Reply:
        if not is_draft(body):
            return version
        return draft(next(calls)) if callable(draft) else draft

    upstream.choose = choose


@contextmanager
def held_baseline(upstream: Upstream) -> Iterator[None]:
    """Answer the draft at once, and the version when the block has ended."""
    held = threading.Event()
    behave(upstream, PING, version=Reply(text="Ping", held=held))
    try:
        yield
    finally:
        held.set()
