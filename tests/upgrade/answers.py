"""What an installation answers to all reads of its API, and what two releases answer differently."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any
from urllib.parse import quote

from tests.support.remote_project import RemoteProject
from tests.upgrade.kinds import Used

Answers = dict[str, Any]
"""The answers by path: JSON, or the lines of an export."""

# Answers about this moment, and streams.
NOT_STORED = ("/api/docs", "/api/openapi.json", "/health/", "/metrics", "/events")
# Fields that change without a request, by a part of the path.
VOLATILE = {
    "/deliveries": {"attempts", "dueAt", "latencyMs", "status", "responseStatus", "error"},
    "/api-keys": {"lastUsedAt"},
    "/alert-rules": {"value", "state", "evaluatedAt", "updatedAt"},
    # A release brings its catalogue of models.
    "/models": {"models"},
    "/prompts": {"languageModel"},
}
# What has more than in an earlier release: spans with an `error.type` count as errors.
GROWS = {"errors", "toolErrors", "failedTools"}


def read_all(project: RemoteProject, paths: list[str]) -> Answers:
    """Read all pages of each path."""
    return {path: _read(project, path) for path in paths}


def _read(project: RemoteProject, path: str) -> Any:
    answer = project.get(path)
    assert answer.status_code in (200, 404), (path, answer.status_code, answer.text[:500])
    if answer.status_code == 404:
        return None
    content = _content(answer.text)
    while isinstance(content, dict) and (cursor := content.get("nextCursor")):
        page = project.get(f"{path}?cursor={quote(cursor)}").json
        content = {key: value + page[key] if isinstance(value, list) else page[key] for key, value in content.items()}
    return content


def _content(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return [_line(line) for line in text.split("\n") if line]


def _line(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def paths_of(project: RemoteProject, used: Used) -> list[str]:
    """Return the paths of all reads that the server documents, for each object of `used`."""
    templates = [
        path
        for path, operations in project.get("/api/openapi.json").json["paths"].items()
        if "get" in operations and not any(part in path for part in NOT_STORED)
    ]
    many = {"prompt_id": used.prompts, "session_id": used.sessions, "kind": ["sessions", "runs"]}
    return [path for template in templates for path in _filled(template, used, many)]


def _filled(template: str, used: Used, many: dict[str, list[Any]]) -> Iterator[str]:
    names = re.findall(r"\{(\w+)\}", template)
    values = [many.get(name) or [used.values[name]] for name in names]
    for chosen in product(*values):
        yield template.format(**dict(zip(names, chosen, strict=True)))


def differences(before: Answers, after: Answers) -> Iterator[str]:
    """Yield where an answer lacks something of an earlier one; what it has in addition is no difference."""
    for path, answer in before.items():
        volatile = set().union(*(fields for part, fields in VOLATILE.items() if part in path))
        for place, old, new in _unlike(answer, after[path], ""):
            if volatile & set(place.split("/")) or (place.rpartition("/")[2] in GROWS and _has_more(old, new)):
                continue
            yield f"{path} {place}: {_shown(old)} became {_shown(new)}"


def _has_more(old: Any, new: Any) -> bool:
    if isinstance(old, list) and isinstance(new, list):
        return set(old) < set(new)
    return isinstance(old, int) and isinstance(new, int) and old < new


def _unlike(old: Any, new: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in new:
                yield f"{place}/{key}", value, None
            else:
                yield from _unlike(value, new[key], f"{place}/{key}")
    elif isinstance(old, list) and isinstance(new, list):
        # An installation that is used has further objects.
        known = {_id_of(item) for item in old} - {None}
        same = [item for item in new if _id_of(item) in known] if known else new
        if len(same) != len(old):
            yield place, old, new
            return
        for index, (left, right) in enumerate(zip(old, same, strict=True)):
            yield from _unlike(left, right, f"{place}/{index}")
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield place, old, new


def _id_of(item: Any) -> Any:
    return item.get("id") if isinstance(item, dict) else None


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 200 else f"{text[:200]}…"
