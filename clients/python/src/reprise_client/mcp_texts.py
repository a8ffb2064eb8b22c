"""Answers of the API as text for a model: short lines in lists, and whole conversations in pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from reprise_formats.controls import visible, visible_lines
from reprise_formats.experiment_summary import page_address

PAGE_CHARACTERS = 40_000
_PREVIEW_MAX = 160
Json = Mapping[str, Any]


def page(text: str, offset: int = 0) -> str:
    """Return the characters from `offset` on, at most `PAGE_CHARACTERS`, and how to read what is left out."""
    offset = min(max(offset, 0), len(text))
    end = offset + PAGE_CHARACTERS
    rest = len(text) - end
    note = f"\n\n[{rest} more characters: call again with offset={end}]" if rest > 0 else ""
    return text[offset:end] + note


def lines(texts: Iterable[str], nothing: str) -> str:
    return page("\n".join(texts) or nothing)


def listed(answer: Json, name: str, line: Callable[[Json], str]) -> str:
    """Return a line for each entry of an answer's list, and the cursor of the next ones."""
    text = lines(map(line, answer[name]), "There are none.")
    cursor = answer.get("nextCursor")
    return f"{text}\n\n[more: call again with cursor={cursor}]" if cursor else text


def prompt_line(prompt: Json) -> str:
    cases = prompt["_count"]["testCases"]
    state = "" if prompt["commited"] else ", the draft has uncommitted changes"
    return f"{prompt['id']}: {_short(prompt['name'])} (test cases: {cases}, changed {prompt['updatedAt']}{state})"


def version_line(version: Json) -> str:
    labels = " ".join(f"[{label}]" for label in version["labels"])
    return " ".join(filter(None, [version["commitHash"], version["createdAt"], labels, _short(version["message"])]))


def session_line(entry: Json) -> str:
    text = f"{entry['id']}: {entry['lastActivityAt']}, turns: {entry['turns']}, errors: {entry['errors']}"
    cost = "" if entry["cost"] is None else f", ${entry['cost']:.4f}"
    return f"{text}{cost}, {_short(entry['preview'] or '')}"


def guard_offer(offer: Json) -> str:
    """Return a sentence of a guard map with a line for each session that is offered for it."""
    shown = [f"  {entry['sessionId']}: {_short(entry['preview'] or '')}" for entry in offer["sessions"]]
    return "\n".join([f"Sentence {offer['number']}: {_short(offer['sentence'])}", *shown])


def insight_line(group: Json, group_by: str) -> str:
    """Return how a group did; a share or a mean that nothing is known of is `?`."""
    sessions, runs, replays = group["sessions"], group["runs"], group["replays"]
    text = [
        f"{_short(str(group[group_by] or 'none'))}: sessions: {sessions['sessions']}",
        f"failed: {_share(sessions['failed'])}, with a failed tool: {_share(sessions['failedTools'])}",
        f"cost: ${sessions['cost']:.4f}",
        f"runs: {runs['runs']}, failed: {_share(runs['failed'])}",
        f"replays passed: {replays['passed']} of {replays['passed'] + replays['failed']}",
        *(f"{_short(score['name'])}: {_figure(score['mean'])} of {score['count']}" for score in group["scores"]),
    ]
    return "; ".join(text)


def _share(estimate: Json) -> str:
    return "?" if estimate["value"] is None else f"{estimate['value']:.1%}"


def _figure(estimate: Json) -> str:
    return "?" if estimate["value"] is None else f"{estimate['value']:.3g}"


def gate_line(experiment: Json) -> str:
    return f"gate {experiment['id']}: {experiment['createdAt']}, {_short(experiment['reason'] or 'failed')}"


def replay_line(replay: Json) -> str:
    text = f"replay {replay['id']}: {replay['createdAt']}, {replay['status']}, {_case_name(replay)}"
    return f"{text}, {_short(replay['error'])}" if replay["error"] else text


def prompt(answer: Json, version: str) -> str:
    """Return a prompt or version: a line for each property, then its text."""
    model = answer["languageModel"]
    text = {
        "Prompt": f"{answer['id']} {answer['name']}" if "name" in answer else None,
        "Version": answer.get("commitHash") or version,
        "Model": model and model["name"],
        "Format": answer["instructionFormat"],
        "Placeholders": _json(answer["placeholderDefinitions"]),
        "Configuration": _json(answer["languageModelConfig"]),
    }
    head = "\n".join(f"{name}: {value}" for name, value in text.items() if value is not None)
    return f"{head}\n\nText:\n{answer['value']}"


def rendered(answer: Json) -> str:
    placeholders = answer["placeholders"]
    text = [f"{name}: {_json(placeholders[name])}" for name in ("resolved", "ignored", "undefinedKeys")]
    return "\n".join([*text, "", "Instruction:", answer["instruction"]])


def session(answer: Json) -> str:
    conversation = visible(str(answer["conversationId"]))
    head = f"Session {answer['id']} of prompt {answer['promptId']}, conversation {conversation}"
    return "\n".join([head, *_turns(answer["turns"])])


def _turns(turns: Iterable[Json]) -> Iterator[str]:
    for number, turn in enumerate(turns, 1):
        yield f"\n# Turn {number}, {turn['startedAt']}\nUser: {_quoted(turn['user'])}"
        for step in turn["steps"]:
            yield _step(step)
        for warning in turn["warnings"]:
            yield f"Warning: {_quoted(warning) if isinstance(warning, str) else _json(warning)}"


def _step(step: Json) -> str:
    if step["kind"] != "tool_call":
        return f"Answer: {_quoted(step['text'])}"
    result = f"error {_json(step['error'])}" if step["error"] is not None else _json(step["result"])
    return f"Call: {visible(step['name'])} {_json(step['arguments'])} -> {result if step['answered'] else 'no result'}"


def replay(answer: Json) -> str:
    """Return what was expected and what came at each step; what passed in a line."""
    head = f"Replay {answer['id']} of test case {answer['testCaseId']} ({_case_name(answer)}): {answer['status']}"
    address = page_address(answer.get("url"), "/replays/")
    text = [head, *([address] if address else [])]
    text += [*(f"{name}: {_quoted(answer[name])}" for name in ("error", "stopReason", "void") if answer.get(name))]
    text += [
        f"Failed on purpose: call {fault['call']} of {visible(fault['tool'])}, {fault['kind']}"
        for fault in answer.get("faults", ())
    ]
    text += [
        f"Violation, {violation['kind']}: {_quoted(violation['message'])}" for violation in answer.get("violations", ())
    ]
    for number, turn in enumerate(answer["turns"] or (), 1):
        text += [f"\n# Turn {number}\nUser: {_quoted(turn['user'])}", *map(_verdict, turn["steps"])]
        text += [f"Unexpected: {_json(extra)}" for extra in turn["extra"]]
        text += [f"{name}: {_quoted(turn[name])}" for name in ("error", "stopReason") if turn[name]]
    return "\n".join(text)


def _verdict(step: Json) -> str:
    text = f"{step['result'].upper()} {step['kind']}"
    if step.get("reason"):
        text += f": {_quoted(step['reason'])}"
    if step["result"] == "passed":
        return text
    return f"{text}\n  expected: {_json(step.get('expected'))}\n  came: {_json(step.get('actual'))}"


def _case_name(replay: Json) -> str:
    return "a deleted test case" if replay["testCaseName"] is None else _short(replay["testCaseName"])


def _quoted(text: str | None) -> str:
    """Return what others wrote with its further lines indented, so that none of them looks like a line of the answer.

    Hidden characters are shown: a person who reads along sees what the model reads.
    """
    return visible_lines(str(text).replace("\r\n", "\n")).replace("\n", "\n  ")


def _json(value: Any) -> str:
    return visible_lines(json.dumps(value, ensure_ascii=False))


def _short(text: str) -> str:
    """Return a text in one line of bounded length."""
    text = visible(" ".join(text[: _PREVIEW_MAX * 4].split()))
    return text if len(text) <= _PREVIEW_MAX else text[: _PREVIEW_MAX - 1] + "…"
