"""Experiments for their pages, and the form that starts one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from reprise_formats.experiment_report import advice, markdown, sentence
from reprise_formats.experiment_summary import (
    Json,
    Total,
    baseline_of,
    candidate_of,
    candidates_of,
    compares_nothing,
    ranked,
    reused,
    shown_of,
    total_of,
)
from reprise_formats.formats import percent, plural, short

from app.errors import Invalid
from app.experiments.statistics import DETECT, default_repeats
from app.models.prompt_versions import VersionHead
from app.web.forms import Form

DRAFT, LATEST, NONE = "draft", "latest", "none"
# Test cases on a page. The page is rendered again each second while the experiment runs.
CASES_MAX, CASES_MAX_RUNNING = 300, 50
VERSIONS_MAX = 50
FREQUENCIES = {
    "0.5": "every second time",
    "0.33": "one time in three",
    "0.25": "one time in four",
    "0.1": "one time in ten",
}
DETECTS = [
    (share, f"A step that fails {often} ({plural(default_repeats(float(share))[0], 'replay')} of a test, at least)")
    for share, often in FREQUENCIES.items()
]


MESSAGE_MAX = 60
"""Characters of a version's message in the title of an experiment."""


def hashes_of(found: Json) -> set[str]:
    """Return the commit hashes of the sides of an experiment."""
    sides = (found["candidate"], found["baseline"])
    return {side["commitHash"] for side in sides if side and side["commitHash"]}


@dataclass(frozen=True, slots=True)
class ShownModel:
    """A compared model with sums over its test cases."""

    name: str
    total: Total


@dataclass(frozen=True, slots=True)
class ShownExperiment:
    """An experiment on its page or in a list. `found` is its JSON; `messages` are those of versions, by commit hash."""

    found: Json
    messages: Mapping[str, str] = field(default_factory=dict)

    @property
    def candidate(self) -> str:
        return candidate_of(self.found)

    @property
    def against(self) -> str:
        """The name of the baseline, "" without one."""
        return baseline_of(self.found)

    @property
    def title(self) -> str:
        title = self._with_message(self.candidate, "candidate")
        if self.against:
            title = f"{title} against {self._with_message(self.against, 'baseline')}"
        return title[:1].upper() + title[1:]

    def _with_message(self, name: str, side: str) -> str:
        message = self.messages.get((self.found[side] or {}).get("commitHash") or "", "")
        return f"{name} ({message[:MESSAGE_MAX]})" if message else name

    @property
    def outcome(self) -> str:
        """The verdict, or the status without a verdict; "same" for a verdict on two equal sides."""
        if compares_nothing(self.found):
            return "same"
        outcome: str = self.found["verdict"] or self.found["status"]
        return outcome

    @property
    def running(self) -> bool:
        return self.found["status"] in ("queued", "running")

    @property
    def sentence(self) -> str:
        return sentence(self.found)

    @property
    def advice(self) -> str:
        return advice(self.found)

    def markdown(self, results: Mapping[int, Mapping[str, Any]]) -> str:
        """Return the comment on a pull request, with what went wrong in the replays with these results."""
        return markdown(self.found, results)

    @property
    def reused(self) -> int:
        return reused(self.found)

    @property
    def least(self) -> int:
        """The smallest number of replays of any test case with one side."""
        least: int = self.found["repeats"]["min"]
        return least

    @property
    def broken(self) -> set[tuple[int, str | None]]:
        """The test cases, with their variants, in which the candidate broke a rule."""
        return {(violation["testCaseId"], violation.get("variant")) for violation in self.found["violations"]}

    @property
    def telling(self) -> list[Json]:
        """The test cases worth a look, newly failing ones first. While the experiment runs, all of its test cases."""
        return [case for case in ranked(self.found) if self.running or case["class"] != "stable_pass"]

    @property
    def steady(self) -> list[Json]:
        """The test cases that always passed; empty until the experiment has ended."""
        return [case for case in ranked(self.found) if not self.running and case["class"] == "stable_pass"]

    @property
    def shown_max(self) -> int:
        """The number of test cases shown of each list."""
        return CASES_MAX_RUNNING if self.running else CASES_MAX

    @property
    def started(self) -> datetime:
        return datetime.fromisoformat(self.found["startedAt"] or self.found["createdAt"])

    @property
    def took_ms(self) -> float | None:
        """The duration in milliseconds; None until the experiment has ended."""
        if not self.found["finishedAt"]:
            return None
        return (datetime.fromisoformat(self.found["finishedAt"]) - self.started).total_seconds() * 1000

    @property
    def models(self) -> list[ShownModel]:
        """The candidates, or the candidate's model and the additionally compared models; empty for one of both."""
        return [ShownModel(name, total_of(case["candidate"] for case in cases)) for name, cases in self._arms]

    @property
    def _arms(self) -> list[tuple[str, list[Json]]]:
        if candidates := candidates_of(self.found):
            return [(candidate["name"], candidate["testCases"]) for candidate in candidates]
        models = [(model["languageModelName"], model["testCases"]) for model in self.found["models"]]
        return [("Candidate’s model", self.found["testCases"]), *models] if models else []

    @property
    def candidates(self) -> list[tuple[Json, str]]:
        """Several candidates by their ranks, with what is shown of each; else empty."""
        return [(candidate, shown_of(candidate)) for candidate in candidates_of(self.found)]

    @property
    def by_model(self) -> list[tuple[str, list[Json]]]:
        """(name, sides) of each test case. The sides are in the order of `models`."""
        arms = [cases for _, cases in self._arms]
        return [(cases[0]["name"], [case["candidate"] for case in cases]) for cases in zip(*arms, strict=True)]

    @property
    def again(self) -> str:
        """The query that fills the form with the same experiment; "" if the form can't: it has no candidate's texts."""
        if self.found["candidate"]["kind"] == "overlay" or self.candidates:
            return ""
        baseline = self.found["baseline"]
        values = {
            "candidate": self.found["candidate"]["commitHash"] or DRAFT,
            "baseline": baseline["commitHash"] if baseline else NONE,
            "detect": self.found["detect"],
            "maxCost": self.found["maxCost"],
        }
        return urlencode({name: value for name, value in values.items() if value is not None})


@dataclass(frozen=True, slots=True)
class ExperimentFields:
    """The texts of the form's fields."""

    candidate: str
    baseline: str
    detect: str
    max_cost: str
    min: str
    max: str
    min_pass_rate: str
    max_slowdown: str
    cases: Sequence[str]
    models: Sequence[str]
    fresh: bool
    judge: str
    others: Sequence[str] = ()
    min_judge_caught: str = ""

    @property
    def more(self) -> bool:
        """Whether a rarely used field is filled in."""
        filled = (self.min, self.max, self.min_pass_rate, self.max_slowdown, self.min_judge_caught, self.fresh)
        return any(filled) or self.judge != "auto"

    def body(self) -> dict[str, Any]:
        """Return the API's body for the experiment. Raises `Invalid` for a field that is not a number."""
        numbers = {
            "detect": _number("detect", self.detect),
            "maxCost": _number("maxCost", self.max_cost),
            "minPassRate": _number("minPassRate", self.min_pass_rate, of=100),
            "maxSlowdown": _number("maxSlowdown", self.max_slowdown),
            "minJudgeCaught": _number("minJudgeCaught", self.min_judge_caught, of=100),
        }
        repeats = {name: _integer(f"repeats.{name}", text) for name, text in (("min", self.min), ("max", self.max))}
        return {
            **self._candidates(),
            "baseline": self._baseline(),
            **({"testCaseIds": [_integer("testCaseIds", each) for each in self.cases]} if self.cases else {}),
            **{name: value for name, value in numbers.items() if value is not None},
            "repeats": {name: value for name, value in repeats.items() if value is not None},
            "reuse": not self.fresh,
            "judge": self.judge,
            "languageModelNames": [*self.models],
        }

    def _candidates(self) -> dict[str, Any]:
        chosen = list(dict.fromkeys([self.candidate, *self.others]))
        if len(chosen) == 1:
            return {"candidate": DRAFT if self.candidate == DRAFT else {"commitHash": self.candidate}}
        versions = [{"name": f"version {short(each)}", "commitHash": each} for each in chosen if each != DRAFT]
        return {"candidates": [*([{"name": "the draft"}] if DRAFT in chosen else []), *versions]}

    def _baseline(self) -> Any:
        return {LATEST: LATEST, NONE: None}.get(self.baseline, {"commitHash": self.baseline})


def fields_of(form: Form) -> ExperimentFields:
    """Return the fields of a sent form, or of the query that fills in a form."""
    return ExperimentFields(
        candidate=form.text("candidate", DRAFT),
        baseline=form.text("baseline", LATEST),
        detect=form.text("detect", f"{DETECT:g}"),
        max_cost=form.text("maxCost").strip(),
        min=form.text("min").strip(),
        max=form.text("max").strip(),
        min_pass_rate=form.text("minPassRate").strip(),
        max_slowdown=form.text("maxSlowdown").strip(),
        cases=form.texts("case"),
        models=form.texts("model"),
        fresh=form.flag("fresh"),
        judge=form.text("judge", "auto"),
        others=form.texts("other"),
        min_judge_caught=form.text("minJudgeCaught").strip(),
    )


def fields_asked(query: Mapping[str, str]) -> ExperimentFields:
    return fields_of(Form({name: [value] for name, value in query.items()}))


JUDGES = [
    ("auto", "Ask the model that judges, if one can"),
    ("always", "Start only if a model can judge"),
    ("never", "Ask no model: other words need a person"),
]


def detect_choices(chosen: str) -> list[tuple[str, str]]:
    """Return the choices for the share of failures, and the chosen share if it is another."""
    if chosen in FREQUENCIES or not re.fullmatch(r"0\.\d{1,6}", chosen, re.ASCII):
        return DETECTS
    return [*DETECTS, (chosen, f"A step that fails {percent(float(chosen))} of the time")]


def detected(share: float) -> str:
    """Return a share of failures in words: "one time in four", "30 % of the time"."""
    return FREQUENCIES.get(f"{share:g}", f"{percent(share)} of the time")


def version_choices(versions: Sequence[VersionHead], chosen: str) -> list[tuple[str, str]]:
    """Return the newest versions with their messages, and the chosen version if it is older."""
    return [
        (version.commit_hash, f"Version {short(version.commit_hash)}: {(version.message or 'no message')[:80]}")
        for number, version in enumerate(versions)
        if number < VERSIONS_MAX or version.commit_hash == chosen
    ]


def _number(name: str, text: str, *, of: float = 1) -> float | None:
    """Return the number in a field, None for an empty field; raises `Invalid` for anything else."""
    try:
        value = float(text) / of if text else None
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise Invalid(f"{name}: Must be a number.")
    return value


def _integer(name: str, text: str) -> int | None:
    if text and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Invalid(f"{name}: Must be a whole number.")
    return int(text) if text else None
