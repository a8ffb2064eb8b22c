"""Proposes suites from the sessions of a prompt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain

from sqlalchemy import Connection

from app.concurrency import deadline
from app.concurrency.caches import BoundedCache
from app.database.transactions import Database
from app.errors import Invalid
from app.experiments.statistics import DETECT, default_most, default_repeats
from app.models import cases as test_cases
from app.models import session_list, sessions, suites
from app.models.suites import MemberCase
from app.replay.cases import load_case
from app.services.prompts.content import parse_config
from app.services.prompts.reader import PromptReader
from app.services.suites.reading import Period, SampleReader, effects_of
from app.services.suites.service import NO_SUITE
from app.suites.cases import of_case
from app.suites.features import Effects, Feature, ScoredFingerprint, Vocabulary, given_by
from app.suites.fingerprints import Fingerprint, dump
from app.suites.proposals import SIZE, ProposedSession, SuiteProposal, propose
from app.suites.samples import Weights
from app.timestamps import Now

DAYS = timedelta(days=30)
"""The time before now that is read by default."""
SIDES = 2
"""Contents that a gate plays: the candidate and its baseline."""
CACHED_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteQuestion:
    """What to propose. Without `since`, from the last 30 days. The test cases of the suite `suite` count as chosen."""

    since: datetime | None = None
    until: datetime | None = None
    size: int = SIZE
    weights: Weights = field(default_factory=Weights)
    suite: str | None = None


@dataclass(frozen=True, slots=True)
class CaseFeatures:
    """A test case with its fingerprint; `is_corrected` if a person changed what was recorded."""

    case: MemberCase
    fingerprint: Fingerprint
    is_corrected: bool

    def features(self, vocabulary: Vocabulary, effect_of: Effects) -> frozenset[Feature]:
        scored = ScoredFingerprint(self.fingerprint)
        return given_by(scored, vocabulary, effect_of, corrected=self.is_corrected)


@dataclass(frozen=True, slots=True)
class ShownPick:
    """A proposed session with the first words of the user, None without any."""

    pick: ProposedSession
    preview: str | None


@dataclass(frozen=True, slots=True)
class ProposalView:
    """A proposal with the first words of its sessions by their ids.

    `unread` sessions have no fingerprint yet; `is_cut` if there are older ones than were read.
    `gate_cost` is about what one gate with all picks costs in USD, at least and at most, by what the sessions cost.
    """

    proposal: SuiteProposal
    unread: int
    is_cut: bool
    previews: dict[str, str]
    gate_cost: tuple[float, float]
    since: datetime
    until: datetime

    @property
    def shown(self) -> list[ShownPick]:
        return [ShownPick(pick, self.previews.get(pick.sample.id)) for pick in self.proposal.picks]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteProposer:
    database: Database
    now: Now
    reader: PromptReader
    samples: SampleReader
    _cases: BoundedCache[tuple[Fingerprint, bool]] = field(
        default_factory=lambda: BoundedCache(CACHED_BYTES), init=False
    )

    def propose(self, *, project_id: int, prompt_id: int, question: SuiteQuestion) -> ProposalView:
        """Return a proposal. Raises `NotFound` for an unknown prompt, `Invalid` for an unknown suite."""
        until = question.until or self.now()
        since = question.since or until - DAYS
        if since >= until:
            raise Invalid("since: Must be before until.")
        with self.database.read() as connection:
            effect_of = self.effects(connection, project_id, prompt_id)
            cases: Sequence[CaseFeatures] = ()
            if question.suite is not None:
                cases = [*self._of_suite(connection, project_id, prompt_id, question.suite)]
        period = Period(since, until)
        opened = self.samples.opened([period], project_id=project_id, prompt_id=prompt_id)
        # The deadline is for waiting; thousands of wide sessions need seconds of computing.
        with opened as (read,), deadline.paused():
            vocabulary = Vocabulary.of([sample.scored.fingerprint for sample in read.samples])
            covered = frozenset(chain.from_iterable(case.features(vocabulary, effect_of) for case in cases))
            proposal = propose(
                read.samples,
                size=question.size,
                weights=question.weights,
                effect_of=effect_of,
                covered=covered,
                vocabulary=vocabulary,
            )
        with self.database.read() as connection:
            previews = _previews(connection, project_id, [pick.sample.id for pick in proposal.picks])
        return ProposalView(proposal, read.unread, read.is_cut, previews, _gate_cost(proposal), since, until)

    def effects(self, connection: Connection, project_id: int, prompt_id: int) -> Effects:
        """Return the effects of tools by the prompt's draft."""
        _, draft = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id)
        return effects_of(parse_config(draft.config, draft.model).tools)

    def _of_suite(self, connection: Connection, project_id: int, prompt_id: int, name: str) -> Iterator[CaseFeatures]:
        row = suites.find_named(connection, project_id=project_id, prompt_id=prompt_id, name=name)
        if row is None:
            raise Invalid(f"suite: {NO_SUITE}")
        members = suites.list_members(connection, project_id=project_id, suite_id=row.id)
        return self.case_features(connection, project_id, [member.test_case_id for member in members])

    def case_features(
        self, connection: Connection, project_id: int, test_case_ids: Collection[int]
    ) -> Iterator[CaseFeatures]:
        """Yield the test cases with their fingerprints, which are kept by the digests of their documents."""
        for case in suites.cases_of(connection, project_id=project_id, test_case_ids=test_case_ids):
            key = (project_id, case.id, case.fingerprint)
            known = self._cases.get(key) if case.fingerprint else None
            if known is None:
                row = test_cases.find_test_case(connection, project_id=project_id, test_case_id=case.id)
                if row is None:  # deleted meanwhile
                    continue
                document = load_case(row.document)
                known = of_case(document), document.basis == "corrected"
                self._cases.put(key, known, weight=len(dump(known[0])))
            yield CaseFeatures(case, *known)


def _previews(connection: Connection, project_id: int, session_ids: Sequence[str]) -> dict[str, str]:
    keys = [bytes.fromhex(id_) for id_ in session_ids]
    rows = sessions.find_sessions(connection, project_id=project_id, session_keys=keys)
    return {key.hex(): preview for key, preview in session_list.previews(connection, rows).items()}


def _gate_cost(proposal: SuiteProposal) -> tuple[float, float]:
    cost = SIDES * sum(pick.sample.cost_usd for pick in proposal.picks)
    least, _ = default_repeats(DETECT, 1)
    return cost * least, cost * default_most(least)
