from __future__ import annotations

import pytest

from app.values.lazy import Lazy


class Turn:
    """Counts how often its text is computed."""

    computed = 0

    @Lazy
    def text(self) -> str:
        """The words of the turn."""
        self.computed += 1
        return "Hello"

    @Lazy
    def broken(self) -> str:
        self.computed += 1
        raise ValueError("it can't be read")


def test_an_attribute_is_computed_once_for_each_object() -> None:
    turn, other = Turn(), Turn()

    assert [turn.text, turn.text, other.text] == ["Hello"] * 3
    assert (turn.computed, other.computed) == (1, 1)


def test_an_attribute_can_be_replaced_before_and_after_it_was_read() -> None:
    turn, unread = Turn(), Turn()
    assert turn.text == "Hello"

    turn.text = unread.text = "Bye"

    assert (turn.text, unread.text, unread.computed) == ("Bye", "Bye", 0)


def test_an_attribute_that_could_not_be_computed_is_computed_again() -> None:
    turn = Turn()

    for _ in range(2):
        with pytest.raises(ValueError, match="it can't be read"):
            turn.broken  # noqa: B018 - the access computes

    assert turn.computed == 2


def test_the_class_shows_the_docstring_of_the_method() -> None:
    assert Turn.text.__doc__ == "The words of the turn."
