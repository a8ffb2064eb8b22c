"""Proposes suites from the sessions of a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain

from sqlalchemy import Connection

from app.concurrency import deadline
from app.database.transactions import Database
from app.errors import Invalid
from app.experiments.statistics import DETECT, default_most, default_repeats
from app.models import session_list, sessions, suites
from app.services.prompts.content import parse_config
from app.services.prompts.reader import PromptReader
from app.services.suites.case_features import CaseReader
from app.services.suites.reading import Period, SampleReader, effects_of
from app.services.suites.service import NO_SUITE
from app.suites.features import Effects, Vocabulary
from app.suites.proposals import SIZE, ProposedSession, SuiteProposal, propose
from app.suites.samples import Weights
from app.timestamps import Now

DAYS = timedelta(days=30)
"""The time before now that is read by default."""
SIDES = 2
"""Contents that a gate plays: the candidate and its baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteQuestion:
    """What to propose. Without `since`, from the last 30 days. The test cases of the suite `suite` count as chosen."""

    since: datetime | None = None
    until: datetime | None = None
    size: int = SIZE
    weights: Weights = field(default_factory=Weights)
    suite: str | None = None


@dataclass(frozen=True, slots=True)
class ShownPick:
    """A proposed session with the first words of the user, None without any."""

    pick: ProposedSession
    preview: str | None


@dataclass(frozen=True, slots=True)
class ProposalView:
    """A proposal with the first words of its sessions by their ids.

    `unread` sessions have no fingerprint yet; `is_cut` if there are older ones than were read. `left_out` is the
    number of the suite's test cases for which there was no room. `gate_cost` estimates, from the sessions' costs,
    the least and the most that one gate with all picks costs in USD.
    """

    proposal: SuiteProposal
    unread: int
    is_cut: bool
    left_out: int
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
    cases: CaseReader

    def propose(self, *, project_id: int, prompt_id: int, question: SuiteQuestion) -> ProposalView:
        """Return a proposal. Raises `NotFound` for an unknown prompt, `Invalid` for an unknown suite."""
        until = question.until or self.now()
        since = question.since or until - DAYS
        if since >= until:
            raise Invalid("since: Must be before until.")
        with self.database.read() as connection:
            effect_of = self.effects(connection, project_id, prompt_id)
        members = [] if question.suite is None else self._members(project_id, prompt_id, question.suite)
        size, period = self.cases.size(project_id=project_id, test_case_ids=members), Period(since, until)
        opened = self.samples.opened([period], project_id=project_id, prompt_id=prompt_id, features_bytes=size)
        # The deadline is for waiting; thousands of wide sessions need seconds of computing.
        with opened as (read,), deadline.paused():
            cases = [*self.cases.read(project_id=project_id, test_case_ids=members)]
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
            previews = previews_of(connection, project_id, [pick.sample.id for pick in proposal.picks])
        left_out = len(members) - len(cases)
        return ProposalView(proposal, read.unread, read.is_cut, left_out, previews, _gate_cost(proposal), since, until)

    def effects(self, connection: Connection, project_id: int, prompt_id: int) -> Effects:
        """Return the effects of tools by the prompt's draft."""
        _, draft = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id)
        return effects_of(parse_config(draft.config, draft.model).tools)

    def _members(self, project_id: int, prompt_id: int, name: str) -> list[int]:
        with self.database.read() as connection:
            row = suites.find_named(connection, project_id=project_id, prompt_id=prompt_id, name=name)
            if row is None:
                raise Invalid(f"suite: {NO_SUITE}")
            members = suites.list_members(connection, project_id=project_id, suite_id=row.id)
        return [member.test_case_id for member in members]


def previews_of(connection: Connection, project_id: int, session_ids: Sequence[str]) -> dict[str, str]:
    """Return the first words of the user by the ids of sessions, where there are some."""
    keys = [bytes.fromhex(id_) for id_ in session_ids]
    rows = sessions.find_sessions(connection, project_id=project_id, session_keys=keys)
    return {key.hex(): preview for key, preview in session_list.previews(connection, rows).items()}


def _gate_cost(proposal: SuiteProposal) -> tuple[float, float]:
    """Return what a gate with the proposed suite costs in USD, with the fewest and with the most repeats."""
    cost = SIDES * sum(pick.sample.cost_usd for pick in proposal.picks)
    least, _ = default_repeats(DETECT, 1)
    return cost * least, cost * default_most(least)
