"""Tells the result of a gate: as lines for people, as JUnit XML, as JSON, and as Markdown for a comment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from reprise_formats import experiment_report as report
from reprise_formats.experiment_comment import inert
from reprise_formats.experiment_summary import (
    address_of,
    candidates_of,
    cases_of,
    class_words,
    failing,
    plain,
    ranked,
    replay_address,
    shown_of,
    violations_of,
)

from reprise_client.cli.gate_failures import failure_lines, failures_markdown
from reprise_client.cli.gate_run import Result
from reprise_client.cli.replay_report import distinct_names, legal

Case = Mapping[str, Any]
CODES = {"passed": 0, "failed": 1, "inconclusive": 3}
LINKS_MAX = 5
# The classes of test cases in which a replay of the candidate may have failed.
_SHOWN = ("regressed", "stable_fail", "flaky", "undecided")
# The name of the JUnit test case that stands for the whole, and is there whatever happens.
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
        yield f"  {candidate['rank']}. {plain(candidate['name'])}: {verdict}, {shown_of(candidate)}"
    for violation in experiment["violations"]:
        yield f"  violation, {violation['kind']}: {plain(violation['message'])}"
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
    failures = "\n".join(failures_markdown(result.failures, result.experiment))
    return problem + report.markdown(result.experiment) + (f"{failures}\n" if failures else "")


def as_json(result: Result) -> str:
    told = {"exitCode": exit_code(result), "problem": result.problem, "experiment": result.experiment}
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def junit(result: Result) -> str:
    """Return one test suite: a test case for each of the prompt's, and `verdict` for the whole.

    Names stay the same from run to run. A test case fails when it speaks against the candidate: it got worse, it broke
    a rule, or, without a baseline, it did not always pass.
    """
    name = "reprise prompt" + (f" {result.prompt_id}" if result.prompt_id else "")
    suite = ElementTree.Element("testsuite", name=f"{name} gate")
    package = name.replace("prompt ", "prompt-").replace(" ", ".")
    whole = ElementTree.SubElement(suite, "testcase", classname=package, name=WHOLE)
    if kind := {1: "failure", 2: "error", 3: "failure"}.get(exit_code(result)):
        _trouble(whole, kind, next(lines(result)), "\n".join(lines(result)))
    if experiment := result.experiment:
        for candidate in candidates_of(experiment):
            name = legal(f"candidate {candidate['name']}")
            element = ElementTree.SubElement(suite, "testcase", classname=package, name=name)
            text = f"rank {candidate['rank']}, {candidate['verdict'] or 'undecided'}: {shown_of(candidate)}"
            ElementTree.SubElement(element, "system-out").text = legal(text)
        for case, unique in _named(experiment):
            element = ElementTree.SubElement(suite, "testcase", classname=package, name=unique)
            _junit_case(element, result, experiment, case)
    for attribute, tag in (("tests", "testcase"), ("failures", ".//failure"), ("errors", ".//error")):
        suite.set(attribute, str(len(suite.findall(tag))))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _named(experiment: Case) -> list[tuple[Case, str]]:
    """Return each test case with a name that no other has."""
    cases = cases_of(experiment)
    names = distinct_names([(case["name"], case["testCaseId"]) for case in cases], taken=[WHOLE])
    return list(zip(cases, names, strict=True))


def _junit_case(element: ElementTree.Element, result: Result, experiment: Case, case: Case) -> None:
    side = case["candidate"]
    addresses = filter(None, (replay_address(experiment, each) for each in failing(side)))
    links = "\n".join([*failure_lines(result.failures, case), *addresses])
    broken = [each["message"] for each in violations_of(experiment, case)]
    against = case["class"] == "regressed" or broken
    if against or (not experiment["baseline"] and side["passed"] < side["runs"]):
        _trouble(element, "failure", "; ".join([*broken, _counts(case)]), links)
    elif case["class"] in _SHOWN:
        ElementTree.SubElement(element, "system-out").text = legal(f"{class_words(case)}: {_counts(case)}\n{links}")


def _trouble(element: ElementTree.Element, kind: str, message: str, text: str) -> None:
    ElementTree.SubElement(element, kind, message=legal(message)).text = legal(text)


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
