"""The names by which spans name their conversation and their user."""

from __future__ import annotations

from typing import Any

import pytest

from app.otlp.decode import decode
from app.otlp.names import conversation_of, user_of
from app.sessions.build import build_session
from tests.support.exports import export, span


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        ("s1", "s1"),
        ('"s1"', "s1"),
        ('"7"', "7"),
        (7, "7"),
        ('"', '"'),
        ('"s1', '"s1'),
        ('""', '""'),
        ('"[1]"', "[1]"),
        ("[1]", "[1]"),
    ],
)
def test_an_id_that_is_json_has_no_quotes(recorded: Any, name: str) -> None:
    assert conversation_of({"session.id": recorded})[1] == name
    assert user_of({"user.id": recorded}) == (0, name)


def test_the_session_and_its_turns_have_the_same_id() -> None:
    (stored,) = decode(export(span({"session.id": '"s1"', "user.id": '"ada"'}))).spans

    (turn,) = build_session([[stored]])

    assert (stored.conversation_id, turn.conversation_id, turn.user_id) == ("s1", "s1", "ada")


@pytest.mark.parametrize("value", ["", None, [], {}, True, 1.5])
def test_other_values_are_no_ids(value: Any) -> None:
    assert conversation_of({"session.id": value}) == (0, None)
    assert user_of({"user.id": value}) is None
