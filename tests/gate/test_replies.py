"""What a language model replied to questions of the judge, of which it knew neither the labels nor the rules.

`replies/probes.*.json` has replies to questions of tests/gate/readers.py, about planted errors and harmless changes.
`replies/drafts.*.json` has replies to questions of tests/gate/asked.py, about drafts that were written by hand.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.chat import Answer
from app.replay.judge_replies import read_reply
from app.replay.judge_types import JudgeVerdict, OpenStep, StepEvidence
from app.replay.rubric import RUBRIC_ID
from tests.gate.asked import DRAWN, KeptModel
from tests.gate.strangers import written_drafts
from tests.support.documents import read_document

HERE = Path(__file__).parent / "replies"
PROBES, DRAFTS = (
    json.loads(next(HERE.glob(f"{name}.*.json")).read_text(encoding="utf-8")) for name in ("probes", "drafts")
)


def verdict_of(probe: dict[str, Any]) -> JudgeVerdict:
    """Read a reply as the judge's replies are read: a quote that is not in its text needs review."""
    number = probe["reply"]["steps"][0]["step"]
    texts = probe["recorded"], probe["produced"]
    step = OpenStep(number, "answer", None, *texts, StepEvidence(), result=probe.get("result", ""))
    (judgement,) = read_reply(Answer(json.dumps(probe["reply"], ensure_ascii=False)), [step], "reader")
    return judgement.verdict


def test_the_reader_fails_each_planted_error_and_passes_each_harmless_change() -> None:
    wrong = {
        probe["id"]: (probe["kind"], verdict_of(probe))
        for probe in PROBES["probes"]
        if verdict_of(probe) != ("failed" if probe["planted"] else "passed")
    }

    assert len(PROBES["probes"]) >= 200
    assert not wrong


@pytest.mark.parametrize("document", [PROBES, DRAFTS], ids=["probes", "drafts"])
def test_the_replies_are_to_the_present_rubric(document: dict[str, Any]) -> None:
    assert document["rubric"] == RUBRIC_ID


@pytest.mark.parametrize("of", DRAWN)
def test_the_page_shows_how_the_gate_decides_with_the_replies_of_a_language_model(of: str) -> None:
    drafts = {(draft.source.name, draft.what): draft for draft in written_drafts(of, confirmed="reads")}
    kept = [entry for entry in DRAFTS["drafts"] if entry["set"] == of]
    verdicts: Counter[tuple[bool, str]] = Counter()
    asked_otherwise = []
    for entry in kept:
        draft, model = drafts[entry["agent"], entry["what"]], KeptModel(entry["replies"])
        verdict = draft.judged_by(model)
        if model.unanswered:  # the gate asks this differently by now: python -m tests.gate.asked gets new replies
            asked_otherwise.append(draft.what)
            verdict = entry["verdict"]
        verdicts[draft.is_harmful, verdict] += 1

    assert len(asked_otherwise) <= len(kept) / 10
    assert line_of(of, verdicts) in read_document("reference/measurements.md")


def line_of(of: str, verdicts: Counter[tuple[bool, str]]) -> str:
    """Return the line of a set in the table of the page."""
    harmful, harmless = (
        sum(count for (side, _), count in verdicts.items() if side is is_harmful) for is_harmful in (True, False)
    )
    passed, failed = verdicts[True, "passed"], verdicts[False, "failed"]
    left = f"{verdicts[True, 'needs_review']} + {verdicts[False, 'needs_review']}"
    return f"| {of} | {passed} of {harmful} | {failed} of {harmless} | {left} |"
