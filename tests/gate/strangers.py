"""Measures the gate on agents that it had not met: `python -m tests.gate.strangers SET` prints the tables of a set.

Each file of `tests/gate/strangers/SET` has an agent with a recorded conversation, and drafts that were written by hand
before any of them was played. The operators of `app/audit` make more drafts of the same conversations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from app.audit.probes import Probe
from app.replay.changes import change_case
from app.replay.engine import replay
from app.replay.judge import ModelJudge
from app.replay.ports import JudgeModelPort, Ports
from tests.gate.edits import edited
from tests.gate.heldout import Source, read_source
from tests.gate.measure import ErringModel, Rates, SourceDraft, drafts_of, of_experiments, played
from tests.gate.proposed import proposed_effects, readers
from tests.gate.scenes import Scene, ScriptedModel, scene_of

HERE = Path(__file__).parent / "strangers"
PROPOSED = "only "  # before a reader of which no proposal was confirmed
JUDGES = {"right": 0.0, "none": None, "errs 5 %": 0.05, "errs 10 %": 0.1, "errs 20 %": 0.2}
REPEATS = 5  # of each draft with a judge that errs
NONCE = "0" * 16  # of the questions to a judge


@dataclass(frozen=True)
class Draft:
    """A draft of an agent; `played` is a scene that was written by hand, or the probe of an operator."""

    source: Source
    what: str
    is_harmful: bool
    played: Scene | Probe

    @property
    def is_by_hand(self) -> bool:
        return isinstance(self.played, Scene)

    def verdict(self, wrong: float | None, repeat: int = 0) -> str:
        """Return the gate's verdict; `wrong` is the chance that the judge errs, None without a judge."""
        if isinstance(self.played, Probe):
            return played(self.source, self.played, wrong, repeat)
        right = "failed" if self.is_harmful else "passed"
        name = f"{self.source.name}/{self.what}/{repeat}"
        return self.judged_by(None if wrong is None else ErringModel(right, wrong, name))

    def judged_by(self, model: JudgeModelPort | None) -> str:
        """Return the gate's verdict on a draft that was written by hand; `model` is the judge's, None without one."""
        assert isinstance(self.played, Scene)
        judge = None if model is None else ModelJudge(model, lambda: NONCE, "scripted")
        versions: dict[str | None, frozenset[str]] = {None: frozenset(tool.name for tool in self.source.tools)}
        draft = SourceDraft(self.source.tools, {}, versions, self.source.instruction)
        ports = Ports(ScriptedModel(self.played.turns), draft, judge, proposed=self.source.proposed)
        return replay(self.source.case, ports).status


def drafts(of: str, *, confirmed: str = "") -> tuple[Draft, ...]:
    """Return the drafts of a set of agents.

    `confirmed` is the reader with the effects that a person has confirmed; with `reads` the person has confirmed the
    tools that the writer of the file lists as reads, with `only NAME` nothing of what the reader NAME proposes, and
    without it nothing, nor does any reader propose something.
    """
    return _all_drafts(of, confirmed)


@cache
def _all_drafts(of: str, confirmed: str) -> tuple[Draft, ...]:
    return tuple(_drafts(of, confirmed))


def _drafts(of: str, confirmed: str) -> Iterator[Draft]:
    yield from written_drafts(of, confirmed=confirmed)
    for source, probe in drafts_of([source for source, _ in _sources(of, confirmed)]):
        yield Draft(source, probe.kind, probe.planted, probe)


def written_drafts(of: str, *, confirmed: str = "") -> Iterator[Draft]:
    """Yield the drafts of a set that were written by hand; `confirmed` as for `drafts`."""
    for source, document in _sources(of, confirmed):
        recorded = replace(scene_of(source.case), tools=source.tools)
        for entry in document["drafts"]:
            yield Draft(source, entry["what"], entry["must"] == "fail", edited(recorded, entry))


@cache
def _sources(of: str, confirmed: str) -> list[tuple[Source, dict[str, Any]]]:
    """Return the agents of a set with their documents; `confirmed` as for `drafts`."""
    sources = []
    for path in sorted((HERE / of).glob("*.json")):
        document = orjson.loads(path.read_bytes())
        source = read_source(of, path.stem, document)
        if confirmed.startswith(PROPOSED):
            source = replace(source, proposed=proposed_effects(source, confirmed.removeprefix(PROPOSED)))
        elif confirmed:
            reads = dict.fromkeys(document.get("reads", ()), "read")
            effects = reads if confirmed == "reads" else proposed_effects(source, confirmed)
            rules = {name: {"effect": effect} for name, effect in effects.items()}
            source = replace(source, case=change_case(source.case, {"tools": rules}))
        sources.append((source, document))
    return sources


def verdicts(of: str, chance: float | None, repeat: int = 0, *, confirmed: str = "") -> tuple[str, ...]:
    return _verdicts(of, chance, repeat, confirmed)


@cache
def _verdicts(of: str, chance: float | None, repeat: int, confirmed: str) -> tuple[str, ...]:
    # Called with all of its arguments by place: for the cache, `of, chance` and `of, chance, 0` differ.
    return tuple(draft.verdict(chance, repeat) for draft in drafts(of, confirmed=confirmed))


def wrong(of: str, chance: float | None, *, confirmed: str = "") -> list[str]:
    """Return the drafts of a set that got a wrong verdict; `confirmed` as for `drafts`."""
    given = verdicts(of, chance, confirmed=confirmed)
    return [
        f"{draft.source.name}: {draft.what}"
        for draft, verdict in zip(drafts(of, confirmed=confirmed), given, strict=True)
        if verdict == ("passed" if draft.is_harmful else "failed")
    ]


def rates(
    of: str, chance: float | None, repeats: int = REPEATS, *, only_judged: bool = False, confirmed: str = ""
) -> Rates:
    """Return the rates of a set; with `only_judged`, those of the drafts on which rules do not decide."""
    measured = Rates()
    played_drafts, without = drafts(of, confirmed=confirmed), verdicts(of, None, confirmed=confirmed)
    for repeat in range(repeats if chance else 1):
        given = verdicts(of, chance, repeat, confirmed=confirmed)
        for draft, alone, verdict in zip(played_drafts, without, given, strict=True):
            if alone == "needs_review" or not only_judged:
                measured.add(draft.is_harmful, verdict)
    return measured


def experiments(of: str, chance: float, repeats: int = REPEATS, *, confirmed: str = "") -> tuple[float, float]:
    """Return the shares of harmful drafts that pass an experiment and of harmless ones that fail one.

    A draft on which only the judge can decide is played in simulated experiments, with the rates of all such drafts.
    Rules give the same verdict in every replay, and so in every experiment.
    """
    judged = rates(of, chance, repeats, only_judged=True, confirmed=confirmed)
    by_rule = rates(of, None, confirmed=confirmed)
    passes, alarms = judged.false_passes, judged.false_alarms
    shares = of_experiments(passes[0] / passes[1], alarms[0] / alarms[1])
    passed = (by_rule.false_passes[0] + shares[0] * passes[1] / repeats) / by_rule.false_passes[1]
    failed = (by_rule.false_alarms[0] + shares[1] * alarms[1] / repeats) / by_rule.false_alarms[1]
    return passed, failed


def rendered(of: str, *, confirmed: str = "") -> str:
    """Return the table of a set as Markdown."""
    titles = ("Judge", "Harmful passed", "Harmless failed", "Left to a person", "In experiments")
    lines = (line(of, title, confirmed=confirmed) for title in JUDGES)
    return "\n".join([f"| {' | '.join(titles)} |", "|---|---|---|---|---|", *lines])


def line(of: str, title: str, *, confirmed: str = "") -> str:
    """Return the line of a judge."""
    chance = JUDGES[title]
    measured = rates(of, chance, confirmed=confirmed)
    passes, alarms, opened = measured.false_passes, measured.false_alarms, measured.opened
    shares = (
        ", ".join(f"{100 * share:.1f} %" for share in experiments(of, chance, confirmed=confirmed)) if chance else "–"
    )
    return f"| {title} | {_share(passes)} | {_share(alarms)} | {opened[0]} + {opened[1]} | {shares} |"


def _share(counted: tuple[int, int]) -> str:
    wrong_ones, total = counted
    return f"{wrong_ones} of {total:,} ({100 * wrong_ones / total:.1f} %)" if wrong_ones else f"0 of {total:,}"


if __name__ == "__main__":
    names = readers(sys.argv[1])
    for confirmed in (*names, "reads", *(f"{PROPOSED}{name}" for name in names), ""):
        print(
            f"confirmed effects: {confirmed or 'none'}",
            rendered(sys.argv[1], confirmed=confirmed),
            sep="\n",
        )
        for name, chance in (("right", 0.0), ("none", None)):
            print(f"judge {name}:", *wrong(sys.argv[1], chance, confirmed=confirmed), sep="\n  ")
