"""The form that starts an experiment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise_formats.formats import percent, plural, short

from app.experiments.statistics import DETECT, default_repeats
from app.models.prompt_versions import VersionHead
from app.web.forms import Form, integer_in, number_in

DRAFT, LATEST, NONE = "draft", "latest", "none"
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
    suite: str = ""

    @property
    def more(self) -> bool:
        """Whether a rarely used field is filled in."""
        filled = (self.min, self.max, self.min_pass_rate, self.max_slowdown, self.min_judge_caught, self.fresh)
        return any(filled) or self.judge != "auto"

    def compares_nothing(self, newest: str | None, *, draft_is_newest: bool) -> bool:
        """Whether the candidate is what it is compared with. `newest` is the hash of the newest version."""
        candidate = newest if self.candidate == DRAFT and draft_is_newest else self.candidate
        baseline = newest if self.baseline == LATEST else self.baseline
        return candidate == baseline and not self.others and not self.models

    def body(self) -> dict[str, Any]:
        """Return the API's body for the experiment. Raises `Invalid` for a field that is not a number."""
        numbers = {
            "detect": number_in("detect", self.detect),
            "maxCost": number_in("maxCost", self.max_cost),
            "minPassRate": number_in("minPassRate", self.min_pass_rate, of=100),
            "maxSlowdown": number_in("maxSlowdown", self.max_slowdown),
            "minJudgeCaught": number_in("minJudgeCaught", self.min_judge_caught, of=100),
        }
        repeats = {name: integer_in(f"repeats.{name}", text) for name, text in (("min", self.min), ("max", self.max))}
        return {
            **self._candidates(),
            "baseline": self._baseline(),
            **({"suite": self.suite} if self.suite and not self.cases else {}),
            **({"testCaseIds": [integer_in("testCaseIds", case_id) for case_id in self.cases]} if self.cases else {}),
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
        versions = [
            {"name": f"version {short(version)}", "commitHash": version} for version in chosen if version != DRAFT
        ]
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
        suite=form.text("suite"),
    )


def fields_asked(query: Mapping[str, str]) -> ExperimentFields:
    """Return the fields of an address, in which several test cases have commas between them."""
    return fields_of(Form({name: value.split(",") if name == "case" else [value] for name, value in query.items()}))


JUDGES = [
    ("auto", "Judge by a model, if possible"),
    ("always", "Only if a model can judge"),
    ("never", "No model: a person decides"),
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
