"""Reports what an experiment found: in a sentence, what to do next, and as Markdown for a comment on a pull request.

An experiment is its JSON, as `summary.py` reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reprise_formats import experiment_comment as comment
from reprise_formats.experiment_failures import Replays, failures_markdown
from reprise_formats.experiment_summary import (
    Json,
    baseline_of,
    blind_words,
    candidate_of,
    candidates_of,
    cases_of,
    classes_of,
    compares_nothing,
    cost,
    detectable_words,
    plain,
    reused,
    sees_too_little,
    subject_of,
    undecided_replays,
)
from reprise_formats.formats import p_value, percent, plural, usd

# Makes a text of others fit for where it is shown.
Quote = Callable[[str], str]
_ADVICE = {
    "queued": "It starts by itself; there is nothing to do.",
    "running": "It goes on by itself; there is nothing to do.",
    "cancelled": "Start it again for a verdict: replays that have ended are used again for a week.",
    "error": "Fix the reason, and start it again.",
    "passed": "The candidate may go live.",
    "failed": "Do not let it go live: open the failing replays, fix the {subject}, and start the experiment again.",
    "inconclusive": "Start it again with more replays or a higher cost: what has been replayed is used again.",
}
# A failed experiment does not wait for the audit of its judge.
AUDITED = "The audit of the judge has not ended."
_UNSURE = " Calibrate the tests that fail or pass only sometimes: they guard little."
_BLIND = "Calibrate or fix the blind tests, and start it again: a change that breaks them would not be noticed."
_UNREAD = (
    "Decide what needs review on the pages of the replays, and start it again. If you fixed the judge or a void replay "
    "instead, add --no-reuse (reuse: false), because undecided results of the last week count again otherwise."
)
_JUDGE = (
    "This judge lets wrong answers pass. Choose another one, or change it and run `reprise judge audit`, and start the "
    "experiment again."
)


def sentence(experiment: Json) -> str:
    """Return what was found, how much of it was used again and what it cost, as one line of plain text."""
    return _sentence(experiment, plain)


def advice(experiment: Json) -> str:
    """Return what to do next, and with a verdict how many planted errors its judge noticed, as one line of text."""
    audit = experiment.get("judgeAudit") if experiment["verdict"] and not _blames_judge(experiment) else None
    return " ".join([_next(experiment), *([plain(audit["sentence"] or AUDITED)] if audit else [])])


def _blames_judge(experiment: Json) -> bool:
    """Return True if the audit of the judge is the reason of the verdict, which then has the audit's sentence."""
    return (experiment["reason"] or "").endswith("(minJudgeCaught)")


def _next(experiment: Json) -> str:
    subject = subject_of(experiment)
    advice = _ADVICE[experiment["verdict"] or experiment["status"]].format(subject=subject)
    if _blames_judge(experiment):
        return _JUDGE
    if experiment["verdict"] == "inconclusive":
        return _UNREAD if undecided_replays(experiment) else _BLIND if sees_too_little(experiment) else advice
    if experiment["verdict"] != "passed":
        return advice
    classes = classes_of(experiment)
    if compares_nothing(experiment):
        advice = f"Change the {subject}, and start it again: this is no result about a change."
    return advice + (_UNSURE if classes["stable_fail"] + classes["flaky"] else "")


def markdown(experiment: Json, replays: Replays | None = None) -> str:
    """Return a comment of less than 60 KB, in which texts of others are no markup.

    `replays` are some of its failing replays, which show what went wrong.
    """
    named = {**experiment, **{side: _inert(experiment[side]) for side in ("candidate", "baseline")}}
    text = comment.markdown(experiment, _sentence(named, comment.inert), advice(experiment))
    return text + "".join(f"{line}\n" for line in failures_markdown(replays or {}, experiment))


def _inert(content: Json | None) -> Json | None:
    """Return a candidate or baseline with a revision that is no markup: whoever starts a program names it."""
    if not content or not (program := content.get("external")):
        return content
    return {**content, "external": {**program, "revision": comment.inert(program["revision"], comment.NAME_MAX)}}


def _sentence(experiment: Json, quote: Quote) -> str:
    finding = _finding(experiment, quote)
    if candidates := candidates_of(experiment):
        passed = sum(candidate["verdict"] == "passed" for candidate in candidates)
        finding = f"{passed} of {len(candidates)} candidates passed; first is {quote(candidates[0]['name'])}: {finding}"
    return "; ".join([finding, *_spent(experiment)])


def _finding(experiment: Json, quote: Quote) -> str:
    reason = quote(experiment["reason"] or "").removesuffix(".")
    if experiment["verdict"]:
        return _FINDINGS[experiment["verdict"]](experiment, reason)
    done = "{done} of {total} replays".format_map(experiment["progress"])
    if experiment["status"] == "error":
        return f"It could not run: {reason or 'no replay could be played'}"
    if experiment["status"] == "cancelled":
        return f"Cancelled after {done}, without a verdict"
    return f"Waiting to start: {done}" if experiment["status"] == "queued" else "; ".join([done, *_worse(experiment)])


def _passed(experiment: Json, reason: str) -> str:
    classes, baseline = classes_of(experiment), baseline_of(experiment)
    if compares_nothing(experiment):
        return f"Nothing was compared: {candidate_of(experiment)} is the same as {baseline}"
    if not classes:
        return reason or "The candidate passed"
    outcome = f"{_tests(classes.total())} {'passes' if classes.total() == 1 else 'pass'} as often as "
    outcome += f"with {baseline}" if baseline else "asked"
    if improved := classes["improved"]:
        outcome = f"{improved} of {_tests(classes.total())} got better than with {baseline}, and none got worse"
    if failing := classes["stable_fail"]:
        outcome += f", though {failing} always {'fails' if failing == 1 else 'fail'}"
    return "; ".join(filter(None, [outcome, detectable_words(experiment), blind_words(experiment)]))


def _failed(experiment: Json, reason: str) -> str:
    return "; ".join(_worse(experiment)) or _too_rarely(experiment) or reason or "The candidate failed"


def _inconclusive(experiment: Json, reason: str) -> str:
    return f"Undecided: {reason[:1].lower() + reason[1:] or 'the replays do not show whether it is worse'}"


_FINDINGS: dict[str, Callable[[Json, str], str]] = {
    "passed": _passed,
    "failed": _failed,
    "inconclusive": _inconclusive,
}


def _worse(experiment: Json) -> list[str]:
    """Return what speaks against the candidate so far."""
    classes, violations = classes_of(experiment), experiment["violations"]
    causes = []
    if worse := classes["regressed"]:
        than, p = baseline_of(experiment) or "the baseline", experiment.get("pValue")
        sure = f" ({p_value(p)})" if p is not None and p < experiment["alpha"] else ""
        causes.append(f"{worse} of {_tests(classes.total())} got worse than {than}{sure}")
    if violations:
        places = len({violation.get("testCaseId") for violation in violations})
        causes.append(f"{plural(len(violations), 'violation')} in {_tests(places)}")
    return causes


def _too_rarely(experiment: Json) -> str:
    """Return how many test cases failed where nothing is compared, "" where that is not known."""
    sides = [case["candidate"] for case in cases_of(experiment)]
    failing = sum(side["passed"] < side["runs"] for side in sides)
    if experiment["baseline"] or not failing:
        return ""
    asked: Any = experiment["minPassRate"]
    needed = "every replay has to pass" if asked in (None, 1) else f"{percent(asked)} of the replays have to pass"
    return f"{failing} of {_tests(len(sides))} did not pass every time, and {needed}"


def _spent(experiment: Json) -> list[str]:
    again = reused(experiment)
    return [", ".join([f"{plural(again, 'replay')} reused"] * bool(again) + [usd(cost(experiment))])]


def _tests(count: int) -> str:
    return plural(count, "test")
