"""Reports the result of a gate: as lines for people, as JUnit XML, as JSON, and as Markdown for a comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from reprise_formats import experiment_report as report
from reprise_formats.experiment_comment import inert
from reprise_formats.experiment_failures import failure_lines
from reprise_formats.experiment_summary import (
    address_of,
    candidate_words,
    candidates_of,
    cases_of,
    class_words,
    failing,
    plain,
    ranked,
    replay_address,
    violations_of,
)
from reprise_formats.replay_words import violation_line

from reprise_client.cli import terminal
from reprise_client.cli.gate_run import Result
from reprise_client.cli.junit import JunitCase, document

Case = Mapping[str, Any]
CODES = {"passed": 0, "failed": 1, "inconclusive": 3}
LINKS_MAX = 5
# The classes of test cases in which a replay of the candidate may have failed.
_SHOWN = ("regressed", "stable_fail", "flaky", "undecided")
# The name of the JUnit test case for the whole gate, which is always there.
WHOLE = "verdict"


def exit_code(result: Result) -> int:
    """Return 0 for passed, 1 for failed, 2 for no verdict, and 3 for inconclusive."""
    return 2 if result.problem or not result.experiment else CODES.get(result.experiment["verdict"], 2)


def lines(result: Result) -> Iterator[str]:
    """Yield the verdict in a sentence, what newly fails with the links of its replays, and the experiment's link."""
    if result.problem:
        yield f"COULD NOT RUN  {plain(result.problem)}"
    if not (experiment := result.experiment):
        return
    if not result.problem:
        yield f"{experiment['verdict'].upper()}  {report.sentence(experiment)}."
    for candidate in candidates_of(experiment):
        verdict = candidate["verdict"] or "undecided"
        yield f"  {candidate['rank']}. {plain(candidate['name'])}: {verdict}, {candidate_words(candidate)}"
    for violation in experiment["violations"]:
        yield f"  violation: {plain(violation_line(violation))}. {plain(violation['message'])}"
        yield from _links(experiment, [violation["replayId"]] if violation.get("replayId") else [])
    for case in ranked(experiment):
        if case["class"] in _SHOWN:
            yield f"  {class_words(case)}: {plain(case['name'])}: {_counts(case)}"
            yield from (f"  {line}" for line in failure_lines(result.failures, case))
            yield from _links(experiment, failing(case["candidate"]))
    yield report.advice(experiment)
    if address := address_of(experiment):
        yield address


def markdown(result: Result) -> str:
    """Return a comment, also when there is no verdict."""
    problem = f"**Could not run.** {inert(result.problem)}\n" if result.problem else ""
    if not result.experiment:
        return problem
    return problem + report.markdown(result.experiment, result.failures)


def as_json(result: Result) -> str:
    report = {"exitCode": exit_code(result), "problem": result.problem, "experiment": result.experiment}
    return terminal.json_document(report)


def junit(result: Result) -> str:
    """Return one test suite: a test case for each of the prompt's, and `verdict` for the whole.

    Names stay the same from run to run. A test case fails when it speaks against the candidate: it got worse, it broke
    a rule, or, without a baseline, it did not always pass.
    """
    name = "reprise prompt" + (f" {result.prompt_id}" if result.prompt_id else "")
    class_name = name.replace("prompt ", "prompt-").replace(" ", ".")
    cases = [_whole(result)]
    if experiment := result.experiment:
        cases += [_candidate_case(candidate) for candidate in candidates_of(experiment)]
        cases += [_junit_case(result, experiment, case) for case in cases_of(experiment)]
    return document(f"{name} gate", class_name, cases)


def _whole(result: Result) -> JunitCase:
    kinds: dict[int, Literal["failure", "error"]] = {1: "failure", 2: "error", 3: "failure"}
    if problem := kinds.get(exit_code(result)):
        return JunitCase(WHOLE, None, problem=problem, message=next(lines(result)), text="\n".join(lines(result)))
    return JunitCase(WHOLE, None)


def _candidate_case(candidate: Case) -> JunitCase:
    text = f"rank {candidate['rank']}, {candidate['verdict'] or 'undecided'}: {candidate_words(candidate)}"
    return JunitCase(f"candidate {candidate['name']}", candidate["rank"], text=text)


def _junit_case(result: Result, experiment: Case, case: Case) -> JunitCase:
    """Return a test case; its time is the median of a replay with the candidate."""
    side = case["candidate"]
    addresses = filter(None, (replay_address(experiment, replay_id) for replay_id in failing(side)))
    links = "\n".join([*failure_lines(result.failures, case), *addresses])
    broken = [violation["message"] for violation in violations_of(experiment, case)]
    junit_case = JunitCase(case["name"], case["testCaseId"], (side["latency"]["p50"] or 0) / 1000)
    against = case["class"] == "regressed" or broken
    if against or (not experiment["baseline"] and side["passed"] < side["runs"]):
        return replace(junit_case, problem="failure", message="; ".join([*broken, _counts(case)]), text=links)
    if case["class"] in _SHOWN:
        return replace(junit_case, text=f"{class_words(case)}: {_counts(case)}\n{links}")
    return junit_case


def _counts(case: Case) -> str:
    side, baseline = case["candidate"], case["baseline"]
    before = f", with the baseline {baseline['passed']} of {baseline['runs']}" if baseline else ""
    undecided = f", {side['undecided']} undecided" if side.get("undecided") else ""
    return f"passed {side['passed']} of {side['runs']}{undecided}{before}"


def _links(experiment: Case, replay_ids: Any) -> Iterator[str]:
    for replay_id in replay_ids[:LINKS_MAX]:
        yield f"    {replay_address(experiment, replay_id) or f'replay {replay_id}'}"
    if len(replay_ids) > LINKS_MAX:
        yield f"    and {len(replay_ids) - LINKS_MAX} more"
