"""Makes the fingerprint of what a replay answered, by which a watch compares replays (`app.experiments.behaviour`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from app.experiments.behaviour import EDITION, Behaviour
from app.replay.result_types import TurnResult
from app.search.words import words_of
from app.sessions.facts import cut_name
from app.suites.fingerprints import CalledTool, beginnings_of, order_of
from app.suites.language import language_of

NAME_MAX, TOOLS_MAX = 100, 16
"""Characters of the name of a tool, and tools, that are kept of a replay."""


def behaviour_of(turns: Sequence[TurnResult]) -> Behaviour:
    """Return the fingerprint of a replay with these turns; of long answers only the beginnings have a language."""
    answers = [text for turn in turns for text in _answers(turn)]
    beginnings = beginnings_of(answers)
    # Folding may make several characters of one, and so more words than a text has characters.
    words = Counter(word for text in beginnings for word in words_of(text)[: len(text)])
    calls = [
        CalledTool(cut_name(name, NAME_MAX), f"{number}:{asked}", failed=False)
        for number, turn in enumerate(turns)
        for asked, together in enumerate(turn.calls)
        for name in together
    ]
    counts = Counter(call.name for call in calls)
    return Behaviour(
        edition=EDITION,
        characters=sum(map(len, answers)),
        tools=tuple(sorted(counts.items())[:TOOLS_MAX]),
        order=order_of(calls)[:TOOLS_MAX],
        language=language_of(beginnings, words),
    )


def _answers(turn: TurnResult) -> list[str]:
    """Return the texts that were answered in a turn, those of recorded steps first."""
    paired = [step.actual for step in turn.steps if step.kind == "answer" and step.actual is not None]
    return [*map(str, paired), *(step.text for step in turn.extra if step.kind == "answer")]
