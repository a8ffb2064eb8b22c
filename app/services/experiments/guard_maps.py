"""Guard maps as callers see them: which sentences of a prompt's text are guarded by tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import NamedTuple

from msgspec import to_builtins
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Conflict, Invalid, require
from app.experiments.statistics import default_most, default_repeats
from app.guard.decision import FIRST_CASES, State
from app.guard.mutants import Operator, mutants
from app.guard.proposals import PROPOSED_MAX, askable
from app.guard.relevance import CaseWords, by_relevance
from app.guard.sentences import Sentence, sentences
from app.models import experiment_replays, experiments, prompt_versions
from app.models.experiments import ExperimentRow
from app.models.language_models import LanguageModel
from app.models.queries import insert_row
from app.pagination import ListPage, json_size, page_by_size
from app.replay.case_types import Judging
from app.search.words import word_set
from app.services.experiments.advance import ExperimentAdvancer
from app.services.experiments.guard_plan import (
    ALPHA,
    DETECT,
    REPLAYS_DEFAULT,
    Decided,
    DecidedSentence,
    MapParameters,
    MapPlan,
    MutantQuestion,
    PlannedMutant,
)
from app.services.experiments.map_steps import replayed_map
from app.services.experiments.plan import Repeats
from app.services.prompts.reader import PromptReader
from app.services.replays.candidates import DRAFT, Candidate, CandidateContent, CandidateReader
from app.services.replays.frozen import case_entries, freeze_cases, freeze_content, played_faults
from app.services.replays.judge_choice import JudgeChoice, why_not
from app.services.replays.service import ReplayService
from app.services.suites.case_features import CaseReader
from app.services.suites.service import chosen_cases
from app.suites.fingerprints import Fingerprint
from app.timestamps import Now
from app.values.structs import convert

SENTENCES_MAX, CASES_MAX = 300, 100
"""Sentences and test cases of one map."""
TEXT_MAX = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMap:
    """A guard map to start; None means a default.

    `test_case_ids` None means the test cases of the suite with the name `suite`, or all of the prompt without one.
    `first_line` and `last_line`, counted from 1, choose a part of the text. A mutant that fails less often than
    `detect` above the text may pass. With `model_mutants` a model is asked for more mutants before the first replay.
    """

    candidate: Candidate = DRAFT
    test_case_ids: Sequence[int] | None = None
    suite: str | None = None
    first_line: int = 1
    last_line: int | None = None
    detect: float = DETECT
    max_replays: int = REPLAYS_DEFAULT
    max_cost: float | None = None
    reuse: bool = True
    judge_model: str | None = None
    judging: Judging = "auto"
    model_mutants: bool = False


class FailedMutant(NamedTuple):
    """The mutant that a test failed: what was replaced, and by what."""

    operator: Operator
    replaced: str
    by: str


class MappedCase(NamedTuple):
    """A test case, or a variant of one."""

    test_case_id: int
    name: str


@dataclass(frozen=True, slots=True)
class MappedSentence:
    """A sentence with what is known about it; `state` is None until it is decided.

    `begin` and `end` are its place in the text, in characters. `test_cases` failed its `mutant`, or
    an answer of them changed without the sentence.
    """

    number: int
    line: int
    begin: int
    end: int
    text: str
    state: State | None
    mutant: FailedMutant | None
    test_cases: Sequence[MappedCase]
    p_value: float | None


@dataclass(frozen=True, slots=True)
class MapHead:
    """A guard map with the {state: sentences} of its decided sentences."""

    row: ExperimentRow
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MapView:
    """A guard map with its text and its sentences. `counts` are {state: sentences} of the decided ones.

    `question` is what a model was asked for mutants, None if it was not to be asked; `proposed` counts these.
    """

    row: ExperimentRow
    question: MutantQuestion | None
    proposed: int
    text: str
    sentences: Sequence[MappedSentence]
    counts: Mapping[str, int]
    cost_usd: float


@dataclass(frozen=True, slots=True)
class MapForecast:
    """What a map would play. `replays` are the fewest, if each first mutant fails at once, and the most.

    `mutants` include the most that a model proposes if it is asked.
    `cost` is in USD by what the last replays of the test cases cost; None if none of them was replayed.
    """

    sentences: int
    mutants: int
    test_cases: int
    replays: tuple[int, int]
    cost: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardMapService:
    database: Database
    now: Now
    reader: PromptReader
    candidates: CandidateReader
    replays: ReplayService
    cases: CaseReader
    advancer: ExperimentAdvancer

    def start(self, *, project_id: int, prompt_id: int, new: NewMap) -> ExperimentRow:
        """Freeze the text, its mutants and the test cases, and write the map's row; the caller then advances it.

        Raises `NotFound` for an unknown prompt, version, suite or test case, and `Invalid` for a text without
        sentences, for too many sentences or test cases, and for a text that can't be played.
        """
        words = self._words(project_id, prompt_id, new)
        work = partial(self._add, project_id=project_id, prompt_id=prompt_id, new=new, words=words)
        return self.row(project_id=project_id, map_id=self.database.retrying(work))

    def forecast(self, *, project_id: int, prompt_id: int, new: NewMap) -> MapForecast:
        """Return what the map would play and cost. Raises like `start`. Nothing is stored."""
        words = self._words(project_id, prompt_id, new)
        with self.database.read() as connection:
            content = self._content(connection, project_id, prompt_id, new)
            planned = _planned(content.content.value, new, list(words.values()))
            costs = experiment_replays.mean_costs(connection, test_case_ids=list(words))
        least = default_repeats(new.detect)[0]
        by_sentence = Counter(mutant.sentence for mutant in planned)
        asked = askable(_chosen(content.content.value, new)) if new.model_mutants else ()
        mutants = len(planned) + PROPOSED_MAX * len(asked)
        first = min(FIRST_CASES, len(words))
        text = len(words) * least
        bounds = (
            min(new.max_replays, least * first + len(by_sentence) * least * first),
            min(new.max_replays, text + mutants * least * len(words)),
        )
        mean = fmean(costs.values()) if costs else None
        most = new.max_cost if new.max_cost is not None else float("inf")
        cost = None if mean is None else (min(most, mean * bounds[0]), min(most, mean * bounds[1]))
        return MapForecast(len(by_sentence), mutants, len(words), bounds, cost)

    def row(self, *, project_id: int, map_id: int) -> ExperimentRow:
        with self.database.read() as connection:
            return _find(connection, project_id, map_id)

    def get(self, *, project_id: int, map_id: int) -> MapView:
        """Return the map with what is known so far."""
        with self.database.read() as connection:
            return self._view(connection, _find(connection, project_id, map_id))

    def newest(self, *, project_id: int, prompt_id: int) -> MapHead | None:
        """Return the newest map of a prompt with its counts; None without one."""
        with self.database.read() as connection:
            self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            row = experiments.newest_map(connection, prompt_id=prompt_id)
        return None if row is None else MapHead(row, _counts(row))

    def list(
        self, *, project_id: int, prompt_id: int, limit: int = 50, cursor: str | None = None
    ) -> ListPage[ExperimentRow]:
        """List the maps of a prompt, newest first."""
        with self.database.read() as connection:
            self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            read = partial(
                experiments.list_experiments, connection, prompt_id=prompt_id, verdict=None, kind="guard_map"
            )
            return page_by_size(read, size=lambda row: json_size(row.summary), limit=limit, cursor=cursor)

    def cancel(self, *, project_id: int, map_id: int) -> MapView:
        """End the map with what is known so far. Raises `Conflict` if it has already ended."""
        self.row(project_id=project_id, map_id=map_id)
        cancelled = self.advancer.cancel(map_id)
        view = self.get(project_id=project_id, map_id=map_id)
        if not cancelled:
            raise Conflict(f"The guard map has ended: {view.row.status}.")
        return view

    def _words(self, project_id: int, prompt_id: int, new: NewMap) -> dict[int, set[str]]:
        """Return the words of the chosen test cases, by id; raises `Invalid` for too many of them."""
        with self.database.read() as connection:
            head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            owner = {"project_id": project_id, "prompt_id": prompt_id}
            ids = chosen_cases(connection, **owner, suite=new.suite, test_case_ids=new.test_case_ids)
            entries = case_entries(connection, head, ids)
        if not entries:
            raise Invalid("testCaseIds: The prompt has no test cases.")
        if (number := sum(len(played_faults(entry)) for entry in entries)) > CASES_MAX:
            raise Invalid(
                f"testCaseIds: {number} test cases with their variants; a map has at most {CASES_MAX}: "
                "name a suite or test cases."
            )
        words: dict[int, set[str]] = {entry.id: set() for entry in entries}
        for case in self.cases.read(project_id=project_id, test_case_ids=list(words)):
            words[case.id] = words_of_fingerprint(case.stored.fingerprint)
        return words

    def _add(
        self, connection: Connection, *, project_id: int, prompt_id: int, new: NewMap, words: Mapping[int, set[str]]
    ) -> int:
        content = self._content(connection, project_id, prompt_id, new)
        cases = freeze_cases(connection, content.head, list(words), now=self.now())
        planned = _planned(content.content.value, new, [words[case.test_case_id] for case in cases])
        judge = self.replays.choose_judge(connection, content, cases, JudgeChoice(new.judge_model, new.judging))
        least = default_repeats(new.detect)[0]
        parameters = MapParameters(
            repeats=Repeats(least, default_most(least)),
            detect=new.detect,
            alpha=ALPHA,
            max_cost=new.max_cost,
            reuse=new.reuse,
            min_sighted=0.0,
            max_replays=new.max_replays,
            suite=new.suite,
            question=MutantQuestion(self._asked_model(content, judge)) if new.model_mutants else None,
        )
        return insert_row(
            connection,
            experiments.experiments,
            kind="guard_map",
            project_id=project_id,
            prompt_id=prompt_id,
            status="queued",
            candidate_kind=content.kind,
            candidate_commit=content.commit_hash,
            candidate_snapshot_id=freeze_content(connection, content),
            judge_model_id=judge and judge.id,
            design=to_builtins(parameters),
            cases=cases,
            models=planned,
            summary=to_builtins(Decided()),
            created_at=self.now(),
        )

    def _content(self, connection: Connection, project_id: int, prompt_id: int, new: NewMap) -> CandidateContent:
        """Return the content with the text to map; raises `Invalid` for a program, which has no text."""
        content = self.candidates.read(
            connection, project_id=project_id, prompt_id=prompt_id, candidate=new.candidate, field="candidate"
        )
        if content.external:
            raise Invalid("candidate: A program has no text to map.")
        return content

    def _asked_model(self, content: CandidateContent, judge: LanguageModel | None) -> int:
        """Return the id of the model to ask for mutants: the judge, else the text's own; `Invalid` if it may not."""
        model = judge or content.content.model
        if problem := why_not(self.replays.credentials, content.head.organization_id, model):
            raise Invalid(f"modelMutants: {problem}")
        return model.id

    def _view(self, connection: Connection, row: ExperimentRow) -> MapView:
        experiment = replayed_map(connection, row)
        plan = experiment.plan
        text = prompt_versions.get_snapshot(connection, snapshot_id=row.candidate_snapshot_id).value
        decided = convert(row.summary, Decided).sentences
        mapped = [
            _mapped(plan, text, sentence, decided.get(str(sentence.number)))
            for sentence in sentences(text)
            if sentence.number in plan.sentences
        ]
        proposed = sum(mutant.operator == "model" for mutant in plan.mutants)
        return MapView(row, plan.parameters.question, proposed, text, mapped, _counts(row), experiment.own_cost_usd)


def words_of_fingerprint(fingerprint: Fingerprint) -> set[str]:
    """Return the words of the users' messages and of the names of the tools."""
    return set(fingerprint.words) | {word for tool in fingerprint.tools for word in word_set(tool.replace("_", " "))}


def _counts(row: ExperimentRow) -> Mapping[str, int]:
    """Return {state: sentences} of the decided sentences."""
    return Counter(sentence.state for sentence in convert(row.summary, Decided).sentences.values())


def _planned(text: str, new: NewMap, words: Sequence[set[str]]) -> list[PlannedMutant]:
    """Return the mutants of the chosen sentences; raises `Invalid` as `_chosen`."""
    chosen, cases = _chosen(text, new), CaseWords.of(words)
    first = {sentence.number: tuple(by_relevance(sentence.piece.text, cases)[:FIRST_CASES]) for sentence in chosen}
    return [
        PlannedMutant(mutant.sentence, mutant.operator, mutant.begin, mutant.end, mutant.by, first[mutant.sentence])
        for mutant in mutants(text, chosen)
    ]


def _chosen(text: str, new: NewMap) -> list[Sentence]:
    """Return the chosen sentences; raises `Invalid` without any, and beyond the limits."""
    if len(text) > TEXT_MAX:
        raise Invalid(f"candidate: The text has {len(text):,} characters; a map reads at most {TEXT_MAX:,}.")
    last = new.last_line or len(text) + 1
    chosen = [sentence for sentence in sentences(text) if new.first_line <= sentence.line <= last]
    if not chosen:
        raise Invalid("lines: No sentence begins in these lines of the text.")
    if len(chosen) > SENTENCES_MAX:
        raise Invalid(f"lines: {len(chosen)} sentences; a map has at most {SENTENCES_MAX}: choose a part of the lines.")
    return chosen


def _mapped(plan: MapPlan, text: str, sentence: Sentence, decided: DecidedSentence | None) -> MappedSentence:
    state, failed, cases, p_value = (
        (decided.state, decided.mutant, decided.cases, decided.p_value) if decided else (None, None, (), None)
    )
    mutant = None if failed is None else plan.mutants[failed]
    return MappedSentence(
        sentence.number,
        sentence.line,
        sentence.piece.begin,
        sentence.piece.end,
        sentence.piece.text,
        state,
        FailedMutant(mutant.operator, text[mutant.begin : mutant.end], mutant.by) if mutant else None,
        [MappedCase(plan.cases[case].test_case_id, plan.cases[case].shown_name) for case in cases],
        p_value,
    )


def _find(connection: Connection, project_id: int, map_id: int) -> ExperimentRow:
    row = experiments.find_experiment(connection, project_id=project_id, experiment_id=map_id, kind="guard_map")
    return require(row, "There is no such guard map.")
