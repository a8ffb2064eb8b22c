"""Measures the gate on drafts of all recordings: `python -m tests.gate.measure` prints the rates of wrong verdicts.

The operators of `app/audit` make the drafts, on answers and on structured arguments, with no list per domain. The
judge is right, absent, or wrong at random.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from itertools import count
from typing import Any

from app.audit.draw import Draw
from app.audit.playing import play_probe
from app.audit.probes import HARMLESS_OPERATORS, PLANTED_OPERATORS, Probe, probed_steps_of
from app.chat import Answer, Message, ToolDefinition
from app.experiments.statistics import DETECT
from app.replay.judge import ModelJudge
from app.replay.ports import Ports, RenderedDraft
from tests.fakes.judging import parts_of
from tests.gate.heldout import Source, sources
from tests.unit.experiments.simulation import design, simulate
from tests.unit.replay.fakes import FakeDraft

SEED = "measure"


@dataclass
class SourceDraft(FakeDraft):
    """The draft that plays a recording, with the instruction that it was recorded with."""

    instruction: str = ""

    def render(self, placeholders: Mapping[str, str]) -> RenderedDraft:
        return RenderedDraft(self.instruction)


@dataclass
class ErringModel:
    """A judge's model that knows the right verdict, and gives the other one with the chance `wrong`.

    Each question gets another draw, so that the second look may contradict the first.
    """

    verdict: str
    wrong: float
    name: str
    asked: Iterator[int] = field(default_factory=count)

    def structured(self, instruction: str, question: str, schema: dict[str, Any]) -> Answer:
        return self.answer(instruction, [Message("user", question)], ())

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        parts = parts_of(messages[-1].text)
        steps = sorted(int(name.split()[1]) for name in parts if name.startswith("produced "))
        given = self._given()
        finding = {"kind": "other", "recorded": "", "produced": "", "matters": True, "why": "It differs."}
        found = [finding] if given == "failed" else []
        return Answer(json.dumps({"steps": [{"step": step, "findings": found, "verdict": given} for step in steps]}))

    def _given(self) -> str:
        drawn = int.from_bytes(sha256(f"{self.name}/{next(self.asked)}".encode()).digest()[:4]) / 2**32
        other = {"passed": "failed", "failed": "passed"}[self.verdict]
        return other if drawn < self.wrong else self.verdict


@dataclass
class Rates:
    """Verdicts on harmful and on harmless drafts."""

    verdicts: dict[bool, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, planted: bool, verdict: str) -> None:
        self.verdicts[planted][verdict] += 1

    @property
    def false_passes(self) -> tuple[int, int]:
        return self.verdicts[True]["passed"], self.verdicts[True].total()

    @property
    def false_alarms(self) -> tuple[int, int]:
        return self.verdicts[False]["failed"], self.verdicts[False].total()

    @property
    def opened(self) -> tuple[int, int]:
        """The drafts that need review: harmful ones, harmless ones."""
        return self.verdicts[True]["needs_review"], self.verdicts[False]["needs_review"]


@cache
def drafts() -> tuple[tuple[Source, Probe], ...]:
    """Return a draft of each operator on each recorded step, and the answers that persons wrote."""
    return tuple(drafts_of(sources()))


def drafts_of(recorded_sessions: Sequence[Source]) -> Iterator[tuple[Source, Probe]]:
    probed = [source.probed(number) for number, source in enumerate(recorded_sessions)]
    for place in probed_steps_of(probed):
        source = recorded_sessions[place.case.test_case_id]
        for operators in (PLANTED_OPERATORS, HARMLESS_OPERATORS):
            for kind in operators.kinds:
                probe = operators.apply(kind, place, Draw(SEED).of(kind, *place.key))
                if probe is not None:
                    yield source, probe
        recorded = place.recorded
        for label in source.labelled:
            if (label.turn, label.step) == (place.turn, place.step) and recorded.kind == "answer":
                kind = "accepted_by_person" if label.accepted else "refused_by_person"
                yield source, Probe(*place.key, kind, not label.accepted, recorded.text, label.text)


def played(source: Source, probe: Probe, wrong: float | None, repeat: int = 0) -> str:
    """Return the gate's verdict on a draft; `wrong` is the chance that the judge errs, None without a judge."""
    name = f"{source.name}/{probe.turn}/{probe.step}/{probe.kind}/{repeat}"
    model = None if wrong is None else ErringModel("failed" if probe.planted else "passed", wrong, name)
    judge = ModelJudge(model, lambda: "0" * 16, "scripted") if model else None
    versions: dict[str | None, frozenset[str]] = {None: frozenset(tool.name for tool in source.tools)}
    draft = SourceDraft(source.tools, {}, versions, source.instruction)
    return play_probe(source.case, probe, lambda played: Ports(played, draft, judge, proposed=source.proposed)).verdict


def measured(wrong: float | None) -> dict[str, Rates]:
    """Return the rates by the set of recordings."""
    rates: dict[str, Rates] = defaultdict(Rates)
    for source, probe in drafts():
        rates[source.of].add(probe.planted, played(source, probe, wrong))
    return rates


def wrong_kinds(wrong: float | None) -> Counter[tuple[str, str, bool, str]]:
    """Return how often each kind of draft got a wrong verdict, by the set of recordings."""
    found: Counter[tuple[str, str, bool, str]] = Counter()
    for source, probe in drafts():
        verdict = played(source, probe, wrong)
        if verdict == ("passed" if probe.planted else "failed"):
            found[source.of, probe.kind, probe.planted, verdict] += 1
    return found


def rendered() -> str:
    """Return the table of rates as Markdown."""
    lines = ["| judge | recordings | false passes | false alarms | left to a person |", "|---|---|---|---|---|"]
    for title, wrong in (("right", 0.0), ("none", None), ("errs 5 %", 0.05), ("errs 10 %", 0.1), ("errs 20 %", 0.2)):
        for of, rates in measured(wrong).items():
            passes, alarms = rates.false_passes, rates.false_alarms
            lines.append(
                f"| {title} | {of} | {passes[0]} of {passes[1]} | {alarms[0]} of {alarms[1]} "
                f"| {rates.opened[0]} + {rates.opened[1]} |"
            )
    return "\n".join(lines)


def _counts(sets: Iterable[Rates]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    listed = list(sets)
    return [rates.false_passes for rates in listed], [rates.false_alarms for rates in listed]


def of_experiments(misses: float, alarms: float, experiments: int = 1_000) -> tuple[float, float]:
    """Return the shares of harmful experiments that pass and of harmless ones that fail, with the default repeats.

    Each has five test cases. A harmful candidate breaks one of them in each replay, which passes with the chance
    `misses`. Any other replay fails with the chance `alarms`. Errors of the judge do not depend on each other.
    """
    plan = design(DETECT)
    harmful = simulate(plan, [(1 - misses, alarms), *[(alarms, alarms)] * 4], experiments)
    harmless = simulate(plan, [(alarms, alarms)] * 5, experiments)
    return harmful.chances["passed"], harmless.chances["failed"]


if __name__ == "__main__":
    print(rendered())
    for share in (0.05, 0.1, 0.2):
        sets = measured(share).values()
        passes, alarms = ([sum(pair) for pair in zip(*counts, strict=True)] for counts in _counts(sets))
        print(f"errs {share:.0%}:", of_experiments(passes[0] / passes[1], alarms[0] / alarms[1]))
    for key, times in wrong_kinds(0.0).most_common():
        print(times, *key)
