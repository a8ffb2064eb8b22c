"""The programs of docs/connect, with the SDKs that they pin, give the session that was held with them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.connect.conftest import Prompt, Run
from tests.e2e.connect.sdks import DOCS
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply

PROGRAMS = sorted(path.parent.name for path in DOCS.glob("*/main.*"))
REPLIES = (
    Reply(tool_calls=[("get_order", {"order_id": "1042"})]),
    Reply(text="Order 1042 has shipped from Oslo."),
    Reply(tool_calls=[("get_weather", {"city": "Oslo"})]),
    Reply(text="It rains in Oslo."),
)
TURNS = [
    (
        "Where is order 1042?",
        [
            ("get_order", {"order_id": "1042"}, {"order_id": "1042", "state": "shipped", "city": "Oslo"}, None),
            "Order 1042 has shipped from Oslo.",
        ],
    ),
    (
        "What is the weather there?",
        [
            ("get_weather", {"city": "Oslo"}, {"city": "Oslo", "celsius": 4, "sky": "rain"}, None),
            "It rains in Oslo.",
        ],
    ),
]


@pytest.mark.sdks
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_conversation_with_the_program_is_one_session(
    run_page: Run, upstream: Upstream, prompt: Prompt, name: str
) -> None:
    upstream.script(*REPLIES)

    done = run_page(name)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "It rains in Oslo." in done.stdout
    [session] = prompt.sessions()
    assert session["conversationId"]
    assert [(turn["user"], list(map(step, turn["steps"]))) for turn in session["turns"]] == TURNS
    rendered = prompt.rendered(tone="formal")
    for turn in session["turns"]:
        assert turn["promptVersion"] == rendered["commitHash"]
        assert turn["placeholders"] == {"tone": "formal"}
        assert sorted(tool["name"] for tool in turn["offeredTools"]) == ["get_order", "get_weather"]
        assert turn["usage"]["outputTokens"] > 0
        assert turn["warnings"] == []
    assert prompt.rejected() == []


@pytest.mark.sdks
def test_the_model_is_given_the_rendered_prompt(run_page: Run, upstream: Upstream, prompt: Prompt) -> None:
    upstream.script(*REPLIES)

    run_page("python-opentelemetry")

    first = upstream.requests[0].body["messages"][0]
    assert first == {"role": "system", "content": "Answer in a cold tone."}


def step(shown: dict[str, Any]) -> Any:
    if shown["kind"] == "answer":
        return shown["text"]
    return shown["name"], shown["arguments"], shown["result"], shown["error"]
