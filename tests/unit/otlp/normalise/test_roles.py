"""The roles of messages in the spellings of vendors, frameworks and languages."""

from __future__ import annotations

from typing import Any

import pytest

from app.otlp.normalise.roles import is_role, role_named, role_of, role_of_event


@pytest.mark.parametrize(
    ("role", "names"),
    [
        (
            "user",
            ["user", "USER", "User", "human", "HUMAN", "HumanMessage", "HumanMessageChunk", "Role.USER", "ROLE_USER"],
        ),
        ("assistant", ["MODEL", "model", "CHATBOT", "ai", "AIMessageChunk", "Assistant", "ChatRole.Assistant", "bot"]),
        ("tool", ["TOOL", "FUNCTION", "function", "ToolMessage", "ipython", "MessageRole.TOOL"]),
        ("system", ["SYSTEM", "System", "SystemMessage", "ROLE_SYSTEM"]),
        ("developer", ["Developer"]),
    ],
)
def test_a_role_is_read_in_every_spelling(role: str, names: list[str]) -> None:
    assert {role_named(name) for name in names} == {role}
    assert all(map(is_role, names))


@pytest.mark.parametrize("name", ["narrator", "message", "", "u" * 1000, "Narrator.Old"])
def test_other_names_stay(name: str) -> None:
    assert role_named(name) == name
    assert not is_role(name)


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"role": "MODEL"}, "assistant"),
        ({"role": {"Value": "User"}}, "user"),
        ({"role": {"label": "assistant"}}, "assistant"),
        ({"event.name": "gen_ai.choice"}, "assistant"),
        ({"id": ["langchain", "schema", "messages", "AIMessage"]}, "assistant"),
        ({"type": "HumanMessage", "content": "Hi"}, "user"),
        ({"type": "function", "content": "18"}, "tool"),
        ({"type": "function", "function": {"name": "t"}}, None),
        ({"type": "reasoning"}, None),
        ({"role": None}, None),
        ({"role": {}}, None),
        ({"type": []}, None),
    ],
)
def test_a_message_names_its_role_in_one_of_several_places(message: dict[str, Any], role: str | None) -> None:
    assert role_of(message) == role


def test_an_event_has_the_role_of_its_author() -> None:
    assert [role_of_event(f"gen_ai.{name}.message") for name in ("user", "tool", "system")] == [
        "user",
        "tool",
        "system",
    ]
    assert role_of_event("gen_ai.client.token") is None
