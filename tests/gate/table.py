"""The table of false passes and false alarms: `python -m tests.gate.table` writes it into docs/reference/gate.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from app.replay.result_types import ReplayResult
from tests.gate import bad_answers, bad_calls, bad_writes, harmless_answers, harmless_calls
from tests.gate.cases import cases
from tests.gate.scenes import Scene, play, scene_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "gate.md"
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->\n"
Behaviour = Callable[[Scene], Iterable[Scene]]

MISBEHAVIOURS = (*bad_writes.MISBEHAVIOURS, *bad_calls.MISBEHAVIOURS, *bad_answers.MISBEHAVIOURS)
VARIATIONS = (*harmless_calls.VARIATIONS, *harmless_answers.VARIATIONS)
# Rows that may hold wrong verdicts, and why they do.
KNOWN: dict[str, str] = {}

LETTERS = {"failed": "F", "passed": "P", "needs_review": "R"}


@dataclass
class Row:
    """The verdicts on one behaviour: letters by conversation, with a judge and without one."""

    name: str
    is_right: bool
    judged: dict[str, str] = field(default_factory=lambda: defaultdict(str))
    alone: dict[str, str] = field(default_factory=lambda: defaultdict(str))

    @property
    def wrong(self) -> int:
        """Verdicts that are wrong: without a judge one that is left to a person is not."""
        right, wrong = ("P", "F") if self.is_right else ("F", "P")
        return sum(letter != right for letter in self._all(self.judged)) + self._all(self.alone).count(wrong)

    @property
    def open(self) -> int:
        """Replays without a judge that are left to a person."""
        return self._all(self.alone).count("R")

    @property
    def replays(self) -> int:
        return len(self._all(self.judged)) + len(self._all(self.alone))

    def cell(self, conversation: str) -> str:
        judged, alone = (_distinct(letters[conversation]) for letters in (self.judged, self.alone))
        return judged if judged == alone else f"{judged}/{alone}"

    def _all(self, letters: dict[str, str]) -> str:
        return "".join(letters.values())


def rows() -> list[Row]:
    """Replay every behaviour on every recording that it fits, with a judge and without."""
    recorded = {name: scene_of(case) for name, case in cases().items()}
    found = [_row(behaviour, recorded, is_right=False) for behaviour in MISBEHAVIOURS]
    return found + [_row(variation, recorded, is_right=True) for variation in VARIATIONS]


def _row(behaviour: Behaviour, recorded: dict[str, Scene], *, is_right: bool) -> Row:
    row = Row(behaviour.__name__.replace("_", " "), is_right)
    for name, scene in recorded.items():
        conversation = name.partition(".")[0]
        for changed in behaviour(scene):
            row.judged[conversation] += letter(play(changed, right=is_right, judge=True))
            row.alone[conversation] += letter(play(changed, right=is_right, judge=False))
    return row


def letter(result: ReplayResult) -> str:
    return LETTERS.get(result.status, "?")


def rendered(found: list[Row]) -> str:
    """The table as Markdown."""
    conversations = list(dict.fromkeys(name.partition(".")[0] for name in cases()))
    bad, good = ([row for row in found if row.is_right is right] for right in (False, True))
    lines = [
        f"{len(cases())} recordings of {len(conversations)} conversations, on which the rules were built; "
        f"{sum(row.replays for row in found)} replays: half with a judge that is always right, and half without.",
        "",
        f"- {len(bad)} misbehaviours: {sum(row.wrong for row in bad)} of {sum(row.replays for row in bad)} replays "
        f"passed by mistake; without a judge {sum(row.open for row in bad)} were left to a person.",
        f"- {len(good)} harmless variations: {sum(row.wrong for row in good)} of {sum(row.replays for row in good)} "
        f"replays failed by mistake; without a judge {sum(row.open for row in good)} were left to a person.",
        "",
    ]
    for title, part in (("Misbehaviour: must fail", bad), ("Harmless: must pass", good)):
        lines += [f"| {title} | {' | '.join(conversations)} |", f"|---|{'---|' * len(conversations)}"]
        lines += [f"| {_named(row)} | {' | '.join(map(row.cell, conversations))} |" for row in part]
        lines.append("")
    return "\n".join(lines)


def _named(row: Row) -> str:
    return f"{row.name} ({KNOWN[row.name]})" if row.name in KNOWN else row.name


def _distinct(letters: str) -> str:
    return "".join(dict.fromkeys(sorted(letters))) or "·"


def of_page() -> str:
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def write() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + BEGIN + rendered(rows()) + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    write()
