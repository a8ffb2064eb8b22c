"""Writes questions for a reader that is no script: `python -m tests.gate.readers FOLDER`.

The folder gets the questions, without the labels, and a file with the labels. Each question is the text that
a judge gets. The replies of a reader are kept in tests/gate/replies.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from app.audit.probes import Probe, draw_probes
from app.replay.case_types import CheckedCall
from app.replay.checks import Checker
from app.replay.conversation import recorded_past, result_text
from app.replay.effects import tools_of
from app.replay.judge_question import enclosed, parts, task
from app.replay.judge_types import JudgedCall, JudgedTurn, OpenStep, StepEvidence
from app.replay.result_types import ProducedCall
from app.replay.rubric import RUBRIC_ID, instruction
from app.replay.texts.facts import compare_facts
from app.replay.texts.sources import Sources
from tests.gate.heldout import Source, sources

SEED = "readers"
NONCE = "7d1f0a93c2e84b65"
OF_A_SIDE = 110


def main(folder: Path) -> None:
    """Write the questions in an order that does not depend on their labels."""
    used = _used()
    probes = draw_probes([source.probed(number) for number, source in enumerate(used)], SEED, OF_A_SIDE)
    (folder / "probes").mkdir(parents=True)
    (folder / "instruction.txt").write_text(instruction(NONCE))
    labels = {}
    for place, probe in enumerate(sorted(probes, key=_hash), 1):
        source = used[probe.test_case_id]
        turn = judged_turn(source, probe)
        shown = enclosed(parts(turn, turn.steps), lambda: NONCE)
        assert shown
        document = {"id": place, "rubric": RUBRIC_ID, "question": f"{shown[1]}\n\n{task(turn.steps)}"}
        (folder / "probes" / f"{place:03}.json").write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")
        labels[place] = {
            "planted": probe.planted,
            "kind": probe.kind,
            "source": f"{source.of}/{source.name}",
            "turn": probe.turn,
            "step": probe.step,
            "half": "improved on" if place % 2 else "measured on",
            "was": probe.was,
            "now": probe.now,
        }
    (folder / "labels.json").write_text(json.dumps(labels, ensure_ascii=False, indent=1) + "\n")


def judged_turn(source: Source, probe: Probe) -> JudgedTurn:
    """Return all that the judge reads of the turn of a probe, in which nothing else differs from the recording."""
    turn = source.case.turns[probe.turn]
    before = turn.steps[: probe.step]
    calls = tuple(
        JudgedCall(step.name, step.arguments, result_text(step)) for step in before if isinstance(step, CheckedCall)
    )
    past = recorded_past(source.case.turns[: probe.turn])
    step = turn.steps[probe.step]
    recorded, produced = _text(probe.recorded), _text(probe.produced)
    known = Sources(
        instruction=source.instruction,
        user=turn.user or "",
        messages=[message.text for message in past if message.role != "tool"],
        results=[step.result for step in before if isinstance(step, CheckedCall)],
    )
    facts = compare_facts(recorded, produced, known)
    name, evidence, result = None, StepEvidence(facts.kept, facts.lost, facts.invented), ""
    if isinstance(step, CheckedCall):
        name, checker = step.name, Checker(tools_of(source.case, source.tools), lambda: known)
        compared = checker.compare(step, ProducedCall(name, probe.produced, "", "read", "none"))
        is_excusable = compared.result == "failed" and compared.is_excusable
        evidence = replace(evidence, differences=(compared.differs,) if is_excusable else compared.form)
        result = result_text(step) if is_excusable else ""
    kind: Literal["answer", "arguments"] = "answer" if step.kind == "answer" else "arguments"
    open_step = OpenStep(probe.step, kind, name, recorded, produced, evidence, result=result)
    return JudgedTurn(source.instruction, past, turn.user or "", calls, (open_step,))


def _used() -> Sequence[Source]:
    """Return the unseen conversations and one recording of each conversation of the table."""
    chosen = {source.name.partition(".")[0]: source for source in sources() if source.of in ("unseen", "table")}
    return list(chosen.values())


def _hash(probe: Probe) -> str:
    name = f"{SEED}/{probe.test_case_id}/{probe.turn}/{probe.step}/{probe.produced}"
    return sha256(name.encode()).hexdigest()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
