"""Puts drafts before a reader that is no script: `python -m tests.gate.asked FOLDER` writes its questions.

It draws drafts that a person wrote and on which rules do not decide, and plays each with the replies of a reader that
are in `FOLDER/replies`. A question without a reply is written to `FOLDER/questions`; the reader, who knows neither the
labels nor the rules, writes its reply under the same name. Once all have a reply, run it again: doubted replies have a
second look. When no question is open, it writes `FOLDER/replies.json`, which is kept in tests/gate/replies.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from app.chat import Answer, Message, ToolDefinition
from app.replay.rubric import RUBRIC_ID
from tests.fakes.judging import parts_of
from tests.gate.strangers import Draft, written_drafts

# The drafts of each side of a set. The rubric was improved on the replies about the first 60 of the older sets.
DRAWN = {
    "fourteenth": slice(60, 120),
    "fifteenth": slice(60, 120),
    "sixteenth": slice(60, 120),
    "seventeenth": slice(60),
    "eighteenth": slice(60),
    "nineteenth": slice(60),
}


@dataclass
class KeptModel:
    """A judge's model that gives the replies of a reader, each by the hash of its question.

    A question that has no reply is kept in `unanswered`. Its steps pass, so that the later turns are asked, too.
    """

    replies: Mapping[str, Any]
    given: dict[str, Any] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)

    def structured(self, instruction: str, question: str, schema: dict[str, Any]) -> Answer:
        text = f"{instruction}\n\n{question}"
        name = _hash(text)
        if name in self.replies:
            reply = self.given[name] = self.replies[name]
        else:
            self.unanswered[name] = text
            steps = [int(part.split()[1]) for part in parts_of(question) if part.startswith("produced ")]
            reply = {"steps": [{"step": step, "findings": [], "verdict": "passed"} for step in steps]}
        return Answer(json.dumps(reply, ensure_ascii=False))

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        raise NotImplementedError


def judged_drafts() -> Iterator[tuple[str, Draft]]:
    """Yield the drawn drafts with the names of their sets, about equally many harmful and harmless ones."""
    for of, drawn in DRAWN.items():
        written = written_drafts(of, confirmed="reads")
        undecided = [draft for draft in written if draft.judged_by(None) == "needs_review"]
        undecided.sort(key=lambda draft: _hash(f"{draft.source.name}/{draft.what}"))
        for is_harmful in (True, False):
            of_a_side = [draft for draft in undecided if draft.is_harmful is is_harmful]
            yield from ((of, draft) for draft in of_a_side[drawn])


def main(folder: Path) -> None:
    """Write the open questions, or the document with all replies when none is open."""
    (folder / "questions").mkdir(parents=True, exist_ok=True)
    replies = {path.stem: json.loads(path.read_text()) for path in (folder / "replies").glob("*.json")}
    played = [_played(of, draft, replies) for of, draft in judged_drafts()]
    questions = {name: text for _, model in played for name, text in model.unanswered.items()}
    for name, text in questions.items():
        (folder / "questions" / f"{name}.txt").write_text(text)
    if questions:
        print(f"{len(played)} drafts, {len(replies)} replies, {len(questions)} open questions")
        return
    document = {"rubric": RUBRIC_ID, "drafts": [entry for entry, _ in played]}
    (folder / "replies.json").write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


def _played(of: str, draft: Draft, replies: Mapping[str, Any]) -> tuple[dict[str, Any], KeptModel]:
    model = KeptModel(replies)
    verdict = draft.judged_by(model)
    about = {"set": of, "agent": draft.source.name, "what": draft.what, "harmful": draft.is_harmful}
    return {**about, "verdict": verdict, "replies": model.given}, model


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
