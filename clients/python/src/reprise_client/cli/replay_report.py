"""Writes the outcomes of replays for people, a line each and the findings below it, and as JUnit XML and JSON.

Turns and steps are counted from 1, as in the messages of violations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from reprise_formats.controls import visible
from reprise_formats.experiment_comment import inert
from reprise_formats.experiment_summary import page_address
from reprise_formats.replay_steps import shown, step_lines, subject_of
from reprise_formats.replay_words import ANSWERED_BY, EFFECTS, FAULTS, RESULTS, STOPS, violation_line, word

from reprise_client.cli import terminal
from reprise_client.cli.failures import BEGIN_OF_QUOTE
from reprise_client.cli.junit import JunitCase, document
from reprise_client.cli.replay_runner import ReplayOutcome
from reprise_client.differences import unified


def exit_code(outcomes: Sequence[ReplayOutcome]) -> int:
    """Return 0 when all passed, 1 when some failed or need review, and 2 when some could not run."""
    if any(outcome.could_not_run for outcome in outcomes):
        return 2
    return 0 if all(outcome.status == "passed" for outcome in outcomes) else 1


def headline(outcome: ReplayOutcome) -> str:
    """Return one line: the status, the name, the counts of violations and steps, the duration and the cost."""
    parts = [visible(outcome.name)]
    if outcome.replay:
        counts = outcome.replay["counts"]
        if violations := len(_violations(outcome)):
            parts.append(f"{violations} violation{'s' if violations > 1 else ''}")
        steps = ", ".join(f"{count} {word(RESULTS, result)}" for result, count in counts.items() if count)
        parts.append(steps or "no step")
        parts += [f"{seconds(outcome):.1f} s", f"${outcome.replay['cost']['total']:.6f}"]
    return f"{word(RESULTS, outcome.status).upper():<12} {' · '.join(parts)}"


def details(outcome: ReplayOutcome) -> Iterator[str]:
    """Yield the lines below the headline: violations, why it ended early, steps that did not pass, extra calls.

    The last one is the address of the replay's page, unless all passed. A line has no line feed: a reply of a judge or
    the name of a tool could add a line, such as one that another test case has passed. Only the last lines of a program
    are lines here, too, as the mark before each shows that it is a quote.
    """
    for finding in _findings(outcome):
        first, *quoted = (line.replace("\n", "\\n") for line in finding.split(BEGIN_OF_QUOTE))
        yield first
        yield from (f"    | {line}" for line in quoted)
    if outcome.status != "passed" and (address := _address(outcome)):
        yield f"  {address}"


def _address(outcome: ReplayOutcome) -> str:
    """Return the address of the replay's page; an instance of an older release reports none."""
    return page_address((outcome.replay or {}).get("url"), "/replays/")


def _findings(outcome: ReplayOutcome) -> Iterator[str]:
    replay = outcome.replay or {}
    for fault in replay.get("faults", ()):
        yield f"  failed on purpose: call {fault['call'] + 1} of {fault['tool']} {word(FAULTS, fault['kind'])}"
    for violation in _violations(outcome):
        yield f"  violation: {visible(violation_line(violation))}. {violation['message']}"
    yield from _endings(outcome, replay)
    for name, value in replay.get("drift", {}).get("placeholders", {}).items():
        yield f"  the draft has no value {value!r} for the placeholder {name!r} any more"
    for name in replay.get("drift", {}).get("tools", ()):
        yield f"  the {subject_of(replay)} has no tool {name!r} any more"
    for index, turn in enumerate(replay.get("turns", ()), 1):
        for number, step in enumerate(turn["steps"], 1):
            if step["result"] in ("failed", "needs_review"):
                yield from step_lines(index, number, step, subject_of(replay), _unified)
        for extra in turn["extra"]:
            yield f"  turn {index}, beyond the recording: {_extra(extra)}"


def _unified(expected: Sequence[str], actual: Sequence[str]) -> Iterator[str]:
    return unified(expected, actual, "expected", "actual", lineterm="")


def _endings(outcome: ReplayOutcome, replay: dict[str, Any]) -> Iterator[str]:
    if problem := outcome.problem or replay.get("error"):
        yield f"  {problem}"
    elif replay.get("stopReason"):
        yield f"  stopped: {word(STOPS, replay['stopReason'])}"
    if void := replay.get("void"):
        yield f"  void: {void}"
    yield from _lacking(replay)


def _lacking(replay: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a replay could not show the model, if it was played nevertheless."""
    if replay.get("acceptedPartial"):
        lacking = [f"turn {gap['turn'] + 1}: {gap['message']}" for gap in replay["fidelity"]["missing"]]
        yield f"  played without all that the recorded model saw: {visible('; '.join(lacking[:5]))}"


def seconds(outcome: ReplayOutcome) -> float:
    """Return how long the replay took; 0 if it did not run to its end."""
    replay = outcome.replay or {}
    if not replay.get("startedAt") or not replay.get("finishedAt"):
        return 0.0
    # Python 3.10 does not read "Z".
    started, finished = (
        datetime.fromisoformat(replay[name].replace("Z", "+00:00")) for name in ("startedAt", "finishedAt")
    )
    return max(0.0, (finished - started).total_seconds())


def junit(prompt_id: int, outcomes: Sequence[ReplayOutcome]) -> str:
    """Return one test suite; replays that failed or need review are failures, replays that could not run are errors."""
    cases = [_junit_case(outcome) for outcome in outcomes]
    return document(f"reprise prompt {prompt_id}", f"reprise.prompt-{prompt_id}", cases)


def _junit_case(outcome: ReplayOutcome) -> JunitCase:
    case = JunitCase(outcome.name, outcome.test_case_id, seconds(outcome))
    if outcome.status == "passed":
        return replace(case, text="\n".join(_lacking(outcome.replay or {})))
    message = "; ".join([*(violation["message"] for violation in _violations(outcome)), headline(outcome)])
    problem: Literal["failure", "error"] = "error" if outcome.could_not_run else "failure"
    text = "\n".join(details(outcome))
    return replace(case, problem=problem, kind=outcome.status, message=message, text=text)


def as_json(prompt_id: int, outcomes: Sequence[ReplayOutcome]) -> str:
    """Return the report of `--json`: the exit code and each replay as the API shows it, null if it did not start."""
    report = {
        "promptId": prompt_id,
        "exitCode": exit_code(outcomes),
        "replays": [
            {
                "testCaseId": outcome.test_case_id,
                "testCaseName": outcome.name,
                "status": outcome.status,
                "problem": outcome.problem,
                "replay": outcome.replay,
            }
            for outcome in outcomes
        ],
    }
    return terminal.json_document(report)


def markdown(prompt_id: int, outcomes: Sequence[ReplayOutcome]) -> str:
    """Return a comment for a pull request: a line for each test case, and what did not pass below it."""
    lines = [f"### Replays of prompt {prompt_id}", ""]
    for outcome in outcomes:
        address = _address(outcome)
        lines.append(f"- {inert(headline(outcome))}" + (f" ([replay]({address}))" if address else ""))
        lines += (f"  - {inert(line.strip())}" for line in _findings(outcome) if line.strip())
    return "\n".join(lines) + "\n"


def _violations(outcome: ReplayOutcome) -> list[dict[str, Any]]:
    """Return the replay's violations; an instance of an older release reports none."""
    violations: list[dict[str, Any]] = (outcome.replay or {}).get("violations", [])
    return violations


def _extra(step: dict[str, Any]) -> str:
    if step["kind"] == "answer":
        return f"the answer {shown(step['text'])}"
    details = ""
    if "effect" in step:
        details = f" ({word(EFFECTS, step['effect'])}, {word(ANSWERED_BY, step['answeredBy'])})"
    return f"{step['name']} {shown(step.get('arguments'))}{details}"
