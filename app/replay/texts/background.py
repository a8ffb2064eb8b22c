"""The values of what the texts of a conversation have before them: its instructions and its earlier messages."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from app.replay.text_reader import TextReader
from app.replay.texts.value_forms import Forms, FormsBefore


class TextBackground:
    """The forms of the messages of a conversation that grows. Each message is added once, however many turns ask.

    It may be asked from many threads.
    """

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader
        self._instructions: dict[str, Forms] = {}
        self._known: list[str] = []
        self._forms = Forms()
        self._adding = Lock()

    def instruction(self, text: str) -> Forms:
        """Return the forms of an instruction. Raises `OverBudget`."""
        if text not in self._instructions:
            self._instructions[text] = Forms(self._reader.values(text))
        return self._instructions[text]

    def messages(self, texts: Sequence[str]) -> FormsBefore:
        """Return the forms of these messages. Only the ones after the longest list so far are read.

        Raises `OverBudget`.
        """
        with self._adding:
            common = min(len(texts), len(self._known))
            if list(texts[:common]) != self._known[:common]:
                self._known, self._forms = [], Forms()  # another conversation
            for text in texts[len(self._known) :]:
                for value in self._reader.values(text):
                    self._forms.add(value, len(self._known))
                self._known.append(text)
            return self._forms.before(len(texts))
