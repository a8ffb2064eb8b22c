"""Values of fields that the OpenAPI document cannot give: of what is stored, and of formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def values(ids: Mapping[str, Any], size: int, name: int) -> dict[str, Any]:
    """Return the values by the names of fields. Lists have `size` entries; names have the number `name` in them."""
    step = {"kind": "answer", "text": "It is so.", "check": {"answer": "meaning"}}
    return {
        "apiKey": "k" * size,
        "baseUrl": f"http://127.0.0.1:9/{'x' * min(size, 200)}",
        "commitHash": ids["commit_hash"],
        "corrections": [],
        "cron": "0 3 * * *",
        "email": f"member{name}@example.org",
        "events": ["label.moved"],
        "faults": [],
        "files": [{"fileName": "a.txt", "contentType": "text/plain", "base64": "YQ=="}],
        "filters": {"q": "what " * min(size, 40)},
        "format": "reprise.test-case/2",
        "history": [{"role": role, "text": "What is it?"} for role in ("user", "assistant")] * (size // 2),
        "id": ids["prompt_id"],
        "judgeModelName": None,
        "languageModelConfig": {"tools": [{"name": f"t{n}", "parameters": SCHEMA} for n in range(min(size, 128))]},
        "languageModelName": "echo",
        "languageModelNames": [],
        "masking": [{"kind": "pattern", "value": f"{n:04}[a-z]x"} for n in range(min(size, 100))],
        "picks": [{"sessionId": ids["session_id"]}],
        "placeholderDefinitions": ...,
        "placeholders": {},
        "proposals": [],
        "question": f"What is {name}? " * size,
        "steps": [],
        "suite": None,
        "target": {"sessionId": ids["session_id"]},
        "testCaseIds": [ids["test_case_small"]],
        "testCase": {"turns": [{"user": f"What is {n}?", "steps": [step]} for n in range(size)]},
        "threshold": 0.5,
        "timezone": "Europe/Berlin",
        "tools": {},
        "value": f"version {name}\n" * size,
        "variants": [],
        "url": f"https://hook.invalid/{'x' * size}",
    }
