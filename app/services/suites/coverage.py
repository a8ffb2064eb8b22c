"""How much of the traffic of a prompt its suites represent, week by week."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate, chain, pairwise

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import require
from app.models import experiments, suites
from app.models.experiments import ExperimentRow
from app.models.suites import SuiteRow
from app.services.suites.case_features import CaseReader, ReadCase
from app.services.suites.proposing import SuiteProposer
from app.services.suites.reading import Period, SampleReader
from app.services.suites.service import NO_SUITE, case_ids
from app.suites.coverage import (
    ComparedSample,
    NewBehaviour,
    ObsoleteCase,
    SuiteCase,
    compare,
    covered_by,
    new_behaviour,
    obsolete_cases,
    removable_cases,
    share_of,
)
from app.suites.features import Effects, Vocabulary
from app.suites.samples import Weights
from app.timestamps import Now

WEEKS = 8
"""Weeks of the coverage, this one included."""
SESSIONS_OF_WEEK = 1_000
"""Sessions of a week that are read, the newest ones."""
SESSIONS_OF_ALERT = 500
"""The newest sessions that an alert reads; a rule that asks for more uses these."""
CASES_OF_ALERT = 1_000
"""The newest test cases of suites with which an alert compares."""
OBSOLETE_WEEKS = 4
"""Weeks without a session that calls a tool, after which the tests of it are obsolete."""
RECENT_MIN = 20
"""Sessions of the last day that are enough for a look at what is new; else it looks at seven days."""
EXPERIMENTS, EXPERIMENTS_MIN = 20, 5
"""Experiments that are compared for removable tests, and how many of them two tests must have in common."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CoverageWeek:
    """A week (UTC) from its Monday on: the sessions that were read, and the share of them that is represented."""

    begins: date
    sessions: int
    share: float | None


@dataclass(frozen=True, slots=True)
class RemovableCase:
    """A test case that never disagreed with another one, which is kept."""

    test_case_id: int
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class SuiteCoverage:
    """The coverage of a suite with its present test cases.

    `weeks` are the last `WEEKS`, the oldest first. `share` is the share of all their sessions that is represented, None
    without any. `new` is behaviour that no test case has, in the sessions of the time that `recent` names in words.
    `obsolete` test cases call tools that sessions no longer call, and `removable` ones always agree with another one.
    `unread` sessions have no fingerprint, or were left out. `left_out` counts test cases that needed too much memory.
    """

    suite: SuiteRow
    weeks: Sequence[CoverageWeek]
    share: float | None
    recent: str
    new: Sequence[NewBehaviour]
    obsolete: Sequence[ObsoleteCase]
    removable: Sequence[RemovableCase]
    unread: int
    left_out: int


@dataclass(frozen=True, slots=True)
class RecentCoverage:
    """The share of recent sessions that test cases represent, and what sessions do that no test case does.

    `share` is None if there are too few sessions.
    """

    share: float | None
    sessions: int
    new: Sequence[NewBehaviour]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageService:
    database: Database
    now: Now
    proposer: SuiteProposer
    samples: SampleReader
    cases: CaseReader
    weights: Weights = Weights()

    def read(self, *, project_id: int, suite_id: int) -> SuiteCoverage:
        """Return the coverage of a suite; `NotFound` if there is none."""
        with self.database.read() as connection:
            suite = require(suites.find_suite(connection, project_id=project_id, suite_id=suite_id), NO_SUITE)
            effect_of = self.proposer.effects(connection, project_id, suite.prompt_id)
            members = suites.list_members(connection, project_id=project_id, suite_id=suite_id)
            ids = [member.test_case_id for member in members]
            played = experiments_of(connection, suite.prompt_id)
        owner = {"project_id": project_id, "prompt_id": suite.prompt_id}
        size, periods = self.cases.size(project_id=project_id, test_case_ids=ids), self._periods()
        with self.samples.opened(periods, **owner, features_bytes=size) as reads:
            features = [*self.cases.read(project_id=project_id, test_case_ids=ids)][::-1]
            samples = [*chain.from_iterable(read.samples for read in reads)]
            vocabulary = Vocabulary.of([sample.scored.fingerprint for sample in samples])
            cases = _cases(features, vocabulary, effect_of)
            compared = compare(samples, covered_by(cases), vocabulary, effect_of)
            ends = [*accumulate((len(read.samples) for read in reads), initial=0)]
            weeks = [
                CoverageWeek(period.since.date(), end - start, share_of(compared[start:end], self.weights, effect_of))
                for period, (start, end) in zip(periods, pairwise(ends), strict=True)
            ]
            recent, when = self._recent(compared)
            # If a session was left out, it may call any tool, so no test case is known to be obsolete.
            all_read = not any(read.left_out for read in reads[:OBSOLETE_WEEKS])
            newest = samples[: ends[OBSOLETE_WEEKS]] if all_read else []
            return SuiteCoverage(
                suite=suite,
                weeks=weeks[::-1],
                share=share_of(compared, self.weights, effect_of),
                recent=when,
                new=new_behaviour(recent, when=when),
                obsolete=obsolete_cases(newest, cases, when=f"the last {OBSOLETE_WEEKS} weeks"),
                removable=_removable(cases, [experiment.classes for experiment in played]),
                unread=sum(read.unread + read.left_out for read in reads),
                left_out=len(ids) - len(features),
            )

    def uncovered_share(self, *, project_id: int, prompt_id: int, since: datetime, least: int) -> float | None:
        """Return the share of sessions since a time that no suite of a prompt represents.

        None for fewer than `least` sessions.
        """
        owner = {"project_id": project_id, "prompt_id": prompt_id}
        share = self.recent(**owner, suite=None, since=since, least=min(least, SESSIONS_OF_ALERT)).share
        return None if share is None else 1 - share

    def recent(
        self, *, project_id: int, prompt_id: int, suite: str | None, since: datetime, least: int
    ) -> RecentCoverage:
        """Return how much of the newest sessions since a time a suite, or all suites of a prompt, represent.

        It has no share for fewer than `least` sessions. Raises `Invalid` if there is no such suite.
        """
        owner = {"project_id": project_id, "prompt_id": prompt_id}
        period = Period(since, self.now() + _DAY, SESSIONS_OF_ALERT)
        with self.database.read() as connection:
            if suite is None:
                newest = suites.members_of_prompt(connection, **owner)[-CASES_OF_ALERT:]
            else:
                newest = list(case_ids(connection, **owner, name=suite))
        size = self.cases.size(project_id=project_id, test_case_ids=newest)
        with self.samples.opened([period], **owner, features_bytes=size) as (read,):
            if len(read.samples) + read.left_out < least:
                return RecentCoverage(None, len(read.samples), ())
            vocabulary = Vocabulary.of([sample.scored.fingerprint for sample in read.samples])
            with self.database.read() as connection:
                effect_of = self.proposer.effects(connection, **owner)
            # The test cases are read one by one and not kept: the clock calls this, and has little memory.
            cases = self.cases.read(project_id=project_id, test_case_ids=newest)
            covered = frozenset(chain.from_iterable(case.features(vocabulary, effect_of) for case in cases))
            compared = compare(read.samples, covered, vocabulary, effect_of)
            share = share_of(compared, self.weights, effect_of)
            return RecentCoverage(share, len(compared), new_behaviour(compared, when="the sessions"))

    def _periods(self) -> list[Period]:
        """Return the weeks, this one first."""
        today = self.now().date()
        this_week = datetime.combine(today - _DAY * today.weekday(), time(), UTC)
        begins = [this_week - 7 * _DAY * number for number in range(WEEKS)]
        return [Period(begin, begin + 7 * _DAY, SESSIONS_OF_WEEK) for begin in begins]

    def _recent(self, compared: Sequence[ComparedSample]) -> tuple[Sequence[ComparedSample], str]:
        """Return the sessions of the last day, or of seven days if these are few, and the time in words."""
        for days, when in ((1, "the last day's sessions"), (7, "the last 7 days' sessions")):
            since_ns = int((self.now() - days * _DAY).timestamp()) * 1_000_000_000
            recent = [entry for entry in compared if entry.sample.start_ns >= since_ns]
            if len(recent) >= RECENT_MIN:
                return recent, when
        return recent, when


def _cases(read: Sequence[ReadCase], vocabulary: Vocabulary, effect_of: Effects) -> list[SuiteCase]:
    return [
        SuiteCase(
            case.id,
            case.name,
            case.features(vocabulary, effect_of),
            frozenset(case.stored.fingerprint.tools),
        )
        for case in read
    ]


@dataclass(frozen=True, slots=True)
class PlayedExperiment:
    """An experiment with the classes of the test cases that it has played, none before it has ended."""

    row: ExperimentRow
    classes: dict[int, str]


def experiments_of(connection: Connection, prompt_id: int) -> list[PlayedExperiment]:
    """Return the newest experiments of a prompt, the newest first."""
    rows = experiments.list_experiments(
        connection, prompt_id=prompt_id, verdict=None, before_id=None, limit=EXPERIMENTS
    )
    played = []
    for row in rows:
        result = experiments.result_of(connection, experiment_id=row.id) if row.status == "finished" else None
        listed = (result or {}).get("testCases", ())
        classes = {case["testCaseId"]: case["class"] for case in listed if case.get("variant") is None}
        played.append(PlayedExperiment(row, classes))
    return played


def _removable(cases: Sequence[SuiteCase], verdicts: Sequence[dict[int, str]]) -> list[RemovableCase]:
    return [
        RemovableCase(case.id, case.name, f"It has agreed with \u201c{twin.name}\u201d in all experiments.")
        for case, twin in removable_cases(cases, verdicts, least=EXPERIMENTS_MIN)
    ]
