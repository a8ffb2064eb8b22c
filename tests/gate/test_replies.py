"""What a language model replied to the questions of tests/gate/readers.py, before it knew which errors were planted."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.chat import Answer
from app.replay.judge_replies import read_reply
from app.replay.judging import JudgeVerdict, OpenStep, StepEvidence
from app.replay.rubric import RUBRIC_ID

FILES = sorted((Path(__file__).parent / "replies").glob("*.json"))
DOCUMENTS = [json.loads(file.read_text()) for file in FILES]


def verdict_of(probe: dict[str, Any]) -> JudgeVerdict:
    """Read a reply as the judge's replies are read: a quote that is not in its text needs review."""
    number = probe["reply"]["steps"][0]["step"]
    texts = probe["recorded"], probe["produced"]
    step = OpenStep(number, "answer", None, *texts, StepEvidence(), result=probe.get("result", ""))
    (judgement,) = read_reply(Answer(json.dumps(probe["reply"], ensure_ascii=False)), [step], "reader")
    return judgement.verdict


@pytest.mark.parametrize("document", DOCUMENTS, ids=[file.stem for file in FILES])
def test_a_reader_fails_each_planted_error_and_passes_each_harmless_change(document: dict[str, Any]) -> None:
    wrong = {
        probe["id"]: (probe["kind"], verdict_of(probe))
        for probe in document["probes"]
        if verdict_of(probe) != ("failed" if probe["planted"] else "passed")
    }

    assert len(document["probes"]) >= 200
    assert not wrong


def test_the_newest_replies_are_to_the_present_rubric() -> None:
    assert DOCUMENTS[-1]["rubric"] == RUBRIC_ID
