"""Reads the facts that people are shown from an experiment's JSON.

That is an answer of `GET /api/v1/experiments/{id}`, or an entry of a prompt's list, which has no `testCases`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise_formats.controls import HIDDEN
from reprise_formats.formats import percent, plural, short, usd

Json = Mapping[str, Any]
# Classes of test cases in the order in which people should look at them.
CLASSES = {
    "regressed": "worse",
    "stable_fail": "always fails",
    "flaky": "passes sometimes",
    "undecided": "undecided",
    "improved": "better",
    "stable_pass": "passes",
}
PARTIAL = "played without all that the recorded model saw"
TEXT_MAX = 400
# $BASE_URL is replaced by the address of the instance, which a browser fills in.
_URL = re.compile(r"(?:https?://|\$BASE_URL/)[A-Za-z0-9._~:/?#@!$&'*+,;=%\[\]-]+")
_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
# Control characters, line ends of all kinds, marks that turn the direction of text, and halves of surrogate pairs.
_UNSEEN = re.compile(f"[\t\n{HIDDEN}]+")


def plain(text: str, most: int = TEXT_MAX) -> str:
    """Return a text of others in one line, without characters that can't be seen, cut to so many characters."""
    line = " ".join(_UNSEEN.sub(" ", text[: most * 4]).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def cases_of(experiment: Json) -> Sequence[Json]:
    """Return the test cases; none for an entry of a list."""
    return experiment.get("testCases") or ()


def classes_of(experiment: Json) -> Counter[str]:
    """Return the number of test cases of each class."""
    counted = experiment.get("classes")
    return Counter([case["class"] for case in cases_of(experiment)] if counted is None else dict(counted))


def ranked(experiment: Json) -> list[Json]:
    """Return the test cases: first those with new failures or broken rules, otherwise in their order."""
    ranks = {name: rank for rank, name in enumerate(CLASSES, 1)}
    broken = set(map(_played, experiment.get("violations") or ()))
    return sorted(cases_of(experiment), key=lambda case: 0 if _played(case) in broken else ranks.get(case["class"], 0))


def violations_of(experiment: Json, case: Json) -> list[Json]:
    """Return the violations in replays of a test case, or of the variant of one that `case` is about."""
    return [violation for violation in experiment.get("violations") or () if _played(violation) == _played(case)]


def _played(entry: Json) -> tuple[object, object]:
    """Return the test case and the variant of an entry; an instance of an older release knows no variants."""
    return entry.get("testCaseId"), entry.get("variant")


def reused(experiment: Json) -> int:
    """Return the number of replays that an earlier experiment has paid for."""
    count: int | None = experiment.get("reused")
    if count is not None:
        return count
    sides = (side for case in cases_of(experiment) for side in (case["candidate"], case["baseline"]))
    return sum(side["reused"] for side in sides if side)


def cost(summed: Json) -> float:
    """Return the cost in USD of an experiment, or of a side of a test case."""
    value: Json | float | None = summed.get("cost")
    return value["total"] if isinstance(value, Mapping) else value or 0.0


def failing(side: Json) -> Sequence[int]:
    """Return the replays of a side that did not pass."""
    listed: Sequence[int] | None = side.get("failedReplayIds")
    return (side["replayIds"] if side["passed"] < side["runs"] else ()) if listed is None else listed


@dataclass(frozen=True, slots=True)
class Total:
    """The replays of several test cases; `cost` is in USD.

    `rate` is the mean of the pass rates of test cases, so that each counts once, however often it was replayed.
    """

    runs: int
    passed: int
    cost: float
    rate: float


def total_of(sides: Iterable[Json]) -> Total:
    """Return the sums over sides of test cases."""
    listed = [*sides]
    rates = [side["passed"] / side["runs"] for side in listed if side["runs"]]
    return Total(
        runs=sum(side["runs"] for side in listed),
        passed=sum(side["passed"] for side in listed),
        cost=sum(map(cost, listed)),
        rate=sum(rates) / len(rates) if rates else 0.0,
    )


def name_of(content: Json) -> str:
    """Return the name of a candidate or baseline; a version is named by the first characters of its hash."""
    if program := content.get("external"):
        revision = plain(program["revision"])
        revision = short(revision) if _COMMIT.fullmatch(revision) else revision
        return f"revision {revision} with changes" if program["dirty"] else f"revision {revision}"
    commit = short(plain(content["commitHash"] or ""))
    if content["kind"] == "version":
        return f"version {commit}"
    if content["kind"] == "overlay":
        return f"version {commit} with changes" if commit else "the prompt as sent"
    return "the draft"


def subject_of(experiment: Json) -> str:
    """Return the noun for what an experiment tests: "program", or "prompt" for a text."""
    return "program" if (experiment["candidate"] or {}).get("external") else "prompt"


def candidates_of(experiment: Json) -> Sequence[Json]:
    """Return several candidates in the order of their ranks; none for an experiment with one."""
    return experiment.get("candidates") or ()


def candidate_of(experiment: Json) -> str:
    """Return the name of the candidate, of several the one that is ranked first."""
    candidates = candidates_of(experiment)
    return plain(candidates[0]["name"]) if candidates else name_of(experiment["candidate"])


def candidate_words(candidate: Json) -> str:
    """Return what is shown of one of several candidates: "2 tests better, 1 worse"."""
    classes = Counter(dict(candidate["classes"]))
    words = {"improved": "better", "regressed": "worse", "undecided": "undecided"}
    parts = [f"{plural(classes[name], 'test')} {word}" for name, word in words.items() if classes[name]]
    if candidate["violated"]:
        parts.append(f"{plural(candidate['violated'], 'replay')} with a violation")
    return ", ".join(parts) or "no difference"


def baseline_of(experiment: Json) -> str:
    """Return the name of the baseline, "" without one."""
    baseline = experiment["baseline"]
    return name_of(baseline) if baseline else ""


def compares_nothing(experiment: Json) -> bool:
    """Return True if it passed because both sides are the same."""
    baseline = experiment["baseline"]
    same = bool(baseline) and baseline["fingerprint"] == experiment["candidate"]["fingerprint"]
    return same and experiment["verdict"] == "passed"


def detectable_words(experiment: Json) -> str:
    """Return in words how large a drop each test case would have shown, "" where one was never played."""
    share = experiment["detectable"]
    if not share:
        return ""
    runs = {case["candidate"]["runs"] for case in cases_of(experiment) if not case.get("blind")}
    replays = ""
    if runs:
        replays = f" ({'at least ' if len(runs) > 1 else ''}{plural(min(runs), 'replay')} each)"
    return f"a step that fails more than {percent(share)} of the time would have shown{replays}"


def blind_words(experiment: Json) -> str:
    """Return how many test cases cannot show a drop, "" where each can."""
    count: int = experiment.get("blind") or 0
    if not count:
        return ""
    noun, which = ("test is", "it") if count == 1 else ("tests are", "them")
    return f"{count} {noun} blind, as {baseline_of(experiment) or 'the baseline'} passes {which} too rarely"


def sees_too_little(experiment: Json) -> bool:
    """Return True if too few test cases can show a drop for the experiment to pass."""
    sighted: int | None = experiment.get("sighted")
    if sighted is None:
        return False
    return not sighted or sighted < experiment["minSighted"] * classes_of(experiment).total()


def undecided_replays(experiment: Json) -> int:
    """Return the number of the candidate's replays that need review or are void."""
    return sum(case["candidate"].get("undecided", 0) for case in cases_of(experiment))


def class_words(case: Json) -> str:
    """Return the class of a test case in words, that it is blind, and that its replays can't show all."""
    marks = [*["blind"] * bool(case.get("blind")), *[PARTIAL] * bool(case.get("acceptedPartial"))]
    return ", ".join([CLASSES[case["class"]], *marks])


def forecast_words(forecast: Json) -> str:
    """Return a forecast in words: "180 to 1,800 replays (90 reused), about 360 to 6,840 calls of models, $0.4 to $8".

    Without any replay so far, the cost is not known. A second sentence warns of a candidate that equals its baseline.
    """
    warning = ". The candidate equals what it is compared with: no difference can be found"
    return _quantities(forecast) + (warning if forecast.get("comparesNothing") else "")


def _quantities(forecast: Json) -> str:
    words = f"{_between(forecast['replays'])} replays"
    if forecast["reused"]:
        words += f" ({forecast['reused']:,} reused)"
    words += f", about {_between(forecast['calls'])} calls of models"
    cost = forecast["cost"]
    if cost is None:
        return f"{words}; the cost is not known before the first replay"
    return f"{words}, {usd(cost['min'])} to {usd(cost['max'])}"


def _between(bounds: Json) -> str:
    least, most = round(bounds["min"]), round(bounds["max"])
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def address_of(experiment: Json) -> str:
    """Return the address of the experiment's page, "" where it is none that a comment can lead to."""
    return page_address(experiment["url"], "/experiments/")


def page_address(url: str | None, part: str) -> str:
    """Return the address of a page that has this part, "" for one that a report can't lead to, such as a path."""
    return url if url and _URL.fullmatch(url) and part in url else ""


def replay_address(experiment: Json, replay_id: int) -> str:
    """Return the address of a replay's page, "" where the experiment's own is not known."""
    address = address_of(experiment)
    return f"{address.rpartition('/experiments/')[0]}/replays/{replay_id}" if address else ""
