"""Experiments for their pages."""

from __future__ import annotations

from collections.abc import Mapping
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
    candidate_words,
    candidates_of,
    compares_nothing,
    ranked,
    reused,
    total_of,
)

from app.web.presenters.experiment_form import DRAFT, NONE

# Test cases on a page. The page is rendered again each second while the experiment runs.
CASES_MAX, CASES_MAX_RUNNING = 300, 50
MESSAGE_MAX = 60
"""Characters of a version's message in the title of an experiment."""


def hashes_of(experiment: Json) -> set[str]:
    """Return the commit hashes of the sides of an experiment."""
    sides = (experiment["candidate"], experiment["baseline"])
    return {side["commitHash"] for side in sides if side and side["commitHash"]}


@dataclass(frozen=True, slots=True)
class ShownModel:
    """A compared model with sums over its test cases."""

    name: str
    total: Total


@dataclass(frozen=True, slots=True)
class ShownExperiment:
    """An experiment on its page or in a list: its JSON, and the `messages` of versions by commit hash."""

    experiment: Json
    messages: Mapping[str, str] = field(default_factory=dict)

    @property
    def candidate(self) -> str:
        return candidate_of(self.experiment)

    @property
    def against(self) -> str:
        """The name of the baseline, "" without one."""
        return baseline_of(self.experiment)

    @property
    def title(self) -> str:
        """The candidate, and what it is compared with if anything, each with the message of its version."""
        title = self._with_message(self.candidate, "candidate")
        if self.against:
            title = f"{title} against {self._with_message(self.against, 'baseline')}"
        return title[:1].upper() + title[1:]

    def _with_message(self, name: str, side: str) -> str:
        message = self.messages.get((self.experiment[side] or {}).get("commitHash") or "", "")
        return f"{name} ({message[:MESSAGE_MAX]}{'…' if len(message) > MESSAGE_MAX else ''})" if message else name

    @property
    def outcome(self) -> str:
        """The verdict, or the status without a verdict; "same" for a verdict on two equal sides."""
        if compares_nothing(self.experiment):
            return "same"
        outcome: str = self.experiment["verdict"] or self.experiment["status"]
        return outcome

    @property
    def running(self) -> bool:
        return self.experiment["status"] in ("queued", "running")

    @property
    def sentence(self) -> str:
        return sentence(self.experiment)

    @property
    def advice(self) -> str:
        return advice(self.experiment)

    def markdown(self, results: Mapping[int, Mapping[str, Any]]) -> str:
        """Return the comment on a pull request, with what went wrong in the replays with these results."""
        return markdown(self.experiment, results)

    @property
    def reused(self) -> int:
        return reused(self.experiment)

    @property
    def least(self) -> int:
        """The smallest number of replays of any test case with one side."""
        least: int = self.experiment["repeats"]["min"]
        return least

    @property
    def broken(self) -> set[tuple[int, str | None]]:
        """The test cases, with their variants, in which the candidate broke a rule."""
        return {(violation["testCaseId"], violation.get("variant")) for violation in self.experiment["violations"]}

    @property
    def violations(self) -> list[tuple[Json, list[int]]]:
        """The violations, each once, with the replays that have it; those of most replays first."""
        found: dict[tuple[Any, ...], tuple[Json, list[int]]] = {}
        for violation in self.experiment["violations"]:
            key = tuple(violation.get(name) for name in ("testCaseId", "variant", "kind", "tool", "message"))
            found.setdefault(key, (violation, []))[1].append(violation["replayId"])
        return sorted(found.values(), key=lambda each: -len(each[1]))

    @property
    def to_look_at(self) -> list[Json]:
        """The test cases worth a look, newly failing ones first. While the experiment runs, all of its test cases."""
        return [case for case in ranked(self.experiment) if self.running or case["class"] != "stable_pass"]

    @property
    def steady(self) -> list[Json]:
        """The test cases that always passed; empty until the experiment has ended."""
        return [case for case in ranked(self.experiment) if not self.running and case["class"] == "stable_pass"]

    @property
    def shown_max(self) -> int:
        """The number of test cases shown of each list."""
        return CASES_MAX_RUNNING if self.running else CASES_MAX

    @property
    def started(self) -> datetime:
        return datetime.fromisoformat(self.experiment["startedAt"] or self.experiment["createdAt"])

    @property
    def took_ms(self) -> float | None:
        """The duration in milliseconds; None until the experiment has ended."""
        if not self.experiment["finishedAt"]:
            return None
        return (datetime.fromisoformat(self.experiment["finishedAt"]) - self.started).total_seconds() * 1000

    @property
    def models(self) -> list[ShownModel]:
        """The candidates, or the candidate's model and the additionally compared models; empty for one of both."""
        return [ShownModel(name, total_of(case["candidate"] for case in cases)) for name, cases in self._arms]

    @property
    def _arms(self) -> list[tuple[str, list[Json]]]:
        if candidates := candidates_of(self.experiment):
            return [(candidate["name"], candidate["testCases"]) for candidate in candidates]
        models = [(model["languageModelName"], model["testCases"]) for model in self.experiment["models"]]
        return [("Candidate’s model", self.experiment["testCases"]), *models] if models else []

    @property
    def candidates(self) -> list[tuple[Json, str]]:
        """Several candidates by their ranks, with what is shown of each; else empty."""
        return [(candidate, candidate_words(candidate)) for candidate in candidates_of(self.experiment)]

    @property
    def by_model(self) -> list[tuple[str, list[Json]]]:
        """(name, sides) of each test case. The sides are in the order of `models`."""
        arms = [cases for _, cases in self._arms]
        return [(cases[0]["name"], [case["candidate"] for case in cases]) for cases in zip(*arms, strict=True)]

    @property
    def again(self) -> str:
        """The query that fills the form with the same experiment; "" if the form can't: it has no candidate's texts."""
        if self.experiment["candidate"]["kind"] == "overlay" or self.candidates:
            return ""
        baseline = self.experiment["baseline"]
        values = {
            "candidate": self.experiment["candidate"]["commitHash"] or DRAFT,
            "baseline": baseline["commitHash"] if baseline else NONE,
            "detect": self.experiment["detect"],
            "maxCost": self.experiment["maxCost"],
        }
        return urlencode({name: value for name, value in values.items() if value is not None})
