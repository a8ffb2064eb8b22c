"""An instance in which everything that somebody wrote is one text."""

from __future__ import annotations

import json
from typing import Any

import httpx
from reprise_client.cli import remote
from reprise_client.cli.remote import Remote

from tests.fakes.experiments import FORECAST
from tests.support.experiments import case, experiment, side

HASH = "a" * 64
NOW = "2026-01-01T00:00:00.000Z"


def replay_of(text: str) -> dict[str, Any]:
    differences = [{"path": text, "expected": text, "actual": f"{text}\nmore"}, {"path": "", "actual": text}]
    step = {"kind": "answer", "result": "failed", "reason": text, "diff": differences}
    extra = {"kind": "tool_call", "name": text, "arguments": {text: text}, "effect": "read", "answeredBy": "none"}
    return {
        "id": 5,
        "status": "failed",
        "counts": {"failed": 1},
        "cost": {"total": 0.1},
        "startedAt": NOW,
        "finishedAt": NOW,
        "draftFingerprint": HASH,
        "violations": [{"kind": "never", "tool": text, "message": text}],
        "drift": {"placeholders": {text: text}, "tools": [text]},
        "stopReason": text,
        "turns": [{"steps": [step], "extra": [extra]}],
    }


def prompt_of(text: str) -> dict[str, Any]:
    return {
        "id": 3,
        "name": text,
        "value": text,
        "instructionFormat": "RAW",
        "placeholderDefinitions": [],
        "languageModel": {"name": "echo", "completionTokensMax": 100},
        "languageModelConfig": {},
        "fallbackModelName": None,
        "projectId": 1,
        "commited": True,
    }


def version_of(commit_hash: str, text: str) -> dict[str, Any]:
    return {"commitHash": commit_hash, "message": text, "author": {"name": text}, "createdAt": NOW, "labels": [text]}


def audit_of(text: str) -> dict[str, Any]:
    probe = {"testCaseId": 7, "kind": text, "planted": True, "recorded": text, "produced": text}
    return {
        "id": 3,
        "status": "finished",
        "sentence": text,
        "cost": 0.25,
        "error": text,
        "figures": {
            "planted": {"right": 0, "probes": 4, "undecided": 0},
            "harmless": {"right": 4, "probes": 4},
            "accuracy": 0.875,
            "constant": 0.5,
            "kappa": 0.75,
            "kinds": [{"kind": text, "share": {"right": 0, "probes": 4}}],
        },
        "outcomes": [{"verdict": "passed", "probe": probe}],
    }


def answers_of(text: str) -> dict[str, Any]:
    """The answers of an instance in which everything that somebody wrote is this text, by the end of the path."""
    session = {"id": text, "lastActivityAt": NOW, "turns": 1, "errors": 0, "cost": 0.1, "preview": text}
    label = {"label": text, "commitHash": HASH, "split": None, "guarded": False, "updatedAt": NOW}
    calibration = {
        "id": 4,
        "status": "error",
        "repeats": 2,
        "steps": [{"turn": 0, "step": 0, "passed": 1, "of": 2}],
        "proposals": [{"turn": 0, "step": 0, "check": {"contains": text}}],
        "usable": False,
        "canFail": True,
        "problems": [text],
        "error": text,
    }
    return {
        "/sessions": {"sessions": [session], "nextCursor": None},
        "/labels": {"labels": [label]},
        "/labels/live": label,
        "/versions": {"versions": [version_of(HASH, text), version_of("b" * 64, text)], "nextCursor": None},
        "/prompts/3": prompt_of(text),
        "/test-cases": {"testCases": [{"id": 12, "name": text}], "nextCursor": None},
        "/s1/test-case-proposal": {"testCase": {"turns": []}, "doubts": [{"turn": 0, "message": text}]},
        "/s1/test-cases": {"id": 12, "name": text},
        "/replays": {"id": 5},
        "/replays/1": replay_of(text),
        "/replays/5": replay_of(text),
        "/calibrations": {"id": 4},
        "/calibrations/4": calibration,
        "/insight": {"summary": text, "groups": [], "note": text},
        "/judge-audits": {"id": 3},
        "/judge-audits/3": audit_of(text),
        "/forecast": FORECAST,
        "/experiments": {"id": 7},
        "/experiments/7": experiment([case(12, text, "regressed", side(3, 9), side(9, 9))], verdict="failed"),
        "/test-cases/12/export": {"name": text},
        "/test-cases/import": {"id": 12, "name": text},
    }


def instance_of(text: str, *, refuses: bool = False) -> Remote:
    answers = answers_of(text)

    def answer(request: httpx.Request) -> httpx.Response:
        if refuses:
            return httpx.Response(400, content=json.dumps({"error": text}))
        if "/exports/" in request.url.path:
            line = json.dumps({"text": text}, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
            return httpx.Response(200, content=line, headers={"Content-Type": remote.NDJSON})
        ends = [end for end in answers if request.url.path.endswith(end)]
        # Only ASCII, as half of a surrogate pair has no UTF-8.
        return httpx.Response(200, content=json.dumps(answers[max(ends, key=len)]), headers={"ETag": '"1"'})

    return Remote("http://reprise", "rp_key", transport=httpx.MockTransport(answer), sleep=lambda _: None)
