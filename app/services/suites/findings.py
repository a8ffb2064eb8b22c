"""The findings of a prompt: what went wrong in its sessions, who works on it, and whether it has come back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection

from app.concurrency import deadline
from app.concurrency.caches import TimedCache
from app.database.transactions import Database, retried
from app.errors import Invalid, require
from app.metrics import Metrics
from app.metrics.registry import FINDINGS
from app.models import (
    audit_log,
    cases,
    findings,
    organizations,
    prompt_versions,
    session_list,
    session_samples,
    sessions,
)
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.experiments import ExperimentRow
from app.models.findings import FindingState
from app.models.organizations import Member
from app.models.prompts import require_head
from app.models.queries import insert_row, update_rows
from app.services.replays.mistake_signs import LOW_SCORE
from app.services.suites.coverage import experiments_of
from app.services.suites.known_findings import KNOWN_MAX, FindingKeeper, SeenFinding, make_room
from app.services.suites.prompt_findings import DecidedFindings, FindingList, FindingView, PromptFinding, finding_of
from app.services.suites.proposing import SuiteProposer
from app.services.suites.reading import SESSIONS_MAX, Period, SampleReader
from app.suites.features import Effects, Vocabulary
from app.suites.findings import (
    FINDINGS_MAX,
    FoundGroup,
    LowScores,
    Subject,
    group_into_findings,
    problems_of,
)
from app.suites.samples import Sample
from app.timestamps import Now

DAYS, DAYS_MAX = 30, 90
"""Days before now of which sessions are read: by default, and at most."""
SESSIONS_OF_WATCH = 1_000
"""The newest sessions that are read for webhooks."""
VERSIONS_MAX = 1_000
"""Versions, the newest ones, with which the versions of sessions are compared."""
QUEUE_S, QUEUE_MAX, QUEUES = 300.0, 1_000, 20
"""Seconds for which a process keeps the sessions of a finding, so many of each, and of so many findings."""
NO_FINDING = "There is no such finding. Its sessions may have joined another one, or be too old."
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingService:
    database: Database
    now: Now
    proposer: SuiteProposer
    samples: SampleReader
    metrics: Metrics
    keeper: FindingKeeper
    # The sessions of the findings that are annotated now.
    _queues: TimedCache[Sequence[tuple[int, str]]] = field(
        default_factory=partial(TimedCache, QUEUE_S, most=QUEUES), init=False
    )

    def list(
        self, *, project_id: int, prompt_id: int, days: int = DAYS, states: Sequence[FindingState] = ()
    ) -> FindingList:
        """Return the findings of a prompt in these states, by default in all; they keep their ids from then on."""
        listed = self._read(project_id, prompt_id, days)
        self._note(project_id, prompt_id, listed)
        present = [
            finding for finding in listed.entries if finding.sessions or (finding.row and finding.row.is_decided)
        ]
        entries = [finding for finding in present if not states or finding.state in states]
        shown = entries[:FINDINGS_MAX]
        previews = self._previews(project_id, [finding.example for finding in shown if finding.example])
        return FindingList(shown, len(entries) - len(shown), listed.read, listed.unread, days, previews)

    def watch(self, *, project_id: int, prompt_id: int) -> None:
        """Note the findings of the newest sessions of a prompt; webhooks get an event of new ones."""
        self._note(project_id, prompt_id, self._read(project_id, prompt_id, DAYS, SESSIONS_OF_WATCH))

    def get(self, *, project_id: int, prompt_id: int, finding_id: str, days: int = DAYS) -> FindingView:
        """Return a finding; `NotFound` if there is none."""
        finding = self._find(project_id, prompt_id, finding_id, days)
        with self.database.read() as connection:
            made = cases.of_sessions(connection, prompt_id=prompt_id, session_ids=finding.session_ids)
            played = experiments_of(connection, prompt_id) if made else []
        for experiment in played:
            if classes := {id_: experiment.classes[id_] for id_ in made if id_ in experiment.classes}:
                row: ExperimentRow | None = experiment.row
                break
        else:
            row, classes = None, {}
        return FindingView(finding, self._previews(project_id, finding.session_ids), made, row, classes)

    def after(
        self, *, project_id: int, prompt_id: int, finding_id: str, session: tuple[int, str], step: int
    ) -> str | None:
        """Return the id of the finding's session after one (`step` 1) or before it (-1), the newest first.

        `session` is the beginning and the id of a session, which need not be in the finding any more. The sessions are
        those of `QUEUE_S` ago, at most.
        """

        def read() -> Sequence[tuple[int, str]]:
            return [(-sample.start_ns, sample.id) for sample in self._find(project_id, prompt_id, finding_id).sessions]

        here = (-session[0], session[1])
        places = self._queues.get_or_read((project_id, prompt_id, finding_id), lambda: read()[:QUEUE_MAX])
        if step < 0:
            return max((place for place in places if place < here), default=(0, None))[1]
        if len(places) == QUEUE_MAX and places[-1] <= here:
            places = read()
        return min((place for place in places if place > here), default=(0, None))[1]

    def change(
        self, *, project_id: int, prompt_id: int, finding_id: str, changes: Mapping[str, Any], actor: Actor = SYSTEM
    ) -> None:
        """Change the `state` of a finding, with its `solved_version`, or the e-mail address of its `assignee`.

        Raises `NotFound` if there is no such finding, `Invalid` for an unknown version or member, or if too many
        findings are not solved.
        """
        subject = self._find(project_id, prompt_id, finding_id).subject
        if state := self._change(project_id, prompt_id, subject, changes, actor):
            self.metrics.count(FINDINGS, state)

    @retried
    def _change(
        self, project_id: int, prompt_id: int, subject: Subject, changes: Mapping[str, Any], actor: Actor
    ) -> FindingState | None:
        """Store a change and return the new state, None if it stays."""
        with self.database.write() as connection:
            organizations.lock_owner(connection, project_id)
            require_head(connection, project_id=project_id, prompt_id=prompt_id)
            owner = {"project_id": project_id, "prompt_id": prompt_id}
            rows = findings.list_findings(connection, **owner)
            is_known = any(row.digest == subject.digest for row in rows)
            if not is_known and not make_room(connection, rows):
                raise Invalid(f"state: A prompt has at most {KNOWN_MAX} findings that are worked on.")
            values = self._values(connection, project_id, prompt_id, changes)
            values["changed_at"] = self.now()
            key = owner | {"digest": subject.digest}
            if is_known:
                update_rows(connection, findings.findings, key, **values)
            else:
                insert_row(connection, findings.findings, **key, subject=subject, **({"state": "open"} | values))
            details = {"promptId": prompt_id, "changed": ", ".join(sorted(changes))}
            name = subject.digest.hex()
            audit_log.note(connection, self.now(), actor, Action.FINDING_CHANGED, name, details, project_id=project_id)
        return values.get("state")

    def members(self, *, project_id: int) -> Sequence[Member]:
        """Return the people who may work on a finding."""
        with self.database.read() as connection:
            return _members(connection, project_id)

    def _values(
        self, connection: Connection, project_id: int, prompt_id: int, changes: Mapping[str, Any]
    ) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if state := changes.get("state"):
            values = {"state": state, "solved_version": None, "solved_at": None}
        if state == "solved":
            version = changes.get("solved_version")
            if version is None:
                newest = prompt_versions.list_versions(connection, prompt_id=prompt_id, limit=1)
                version = newest[0].commit_hash if newest else None
            elif prompt_versions.find_version(connection, prompt_id=prompt_id, commit_hash=version) is None:
                raise Invalid("solvedVersion: The prompt has no such version.")
            values |= {"solved_version": version, "solved_at": self.now()}
        if "assignee" in changes:
            by_email = {member.email: member.user_id for member in _members(connection, project_id)}
            email = (changes["assignee"] or "").lower()
            if email and email not in by_email:
                raise Invalid("assignee: The organization has no member with this e-mail address.")
            values["assignee_id"] = by_email.get(email)
        return values

    def _find(self, project_id: int, prompt_id: int, finding_id: str, days: int = DAYS) -> PromptFinding:
        listed = self._read(project_id, prompt_id, days)
        return require(next((entry for entry in listed.entries if entry.id == finding_id), None), NO_FINDING)

    def _note(self, project_id: int, prompt_id: int, listed: FindingList) -> None:
        entries = [finding for finding in listed.entries if finding.sessions][:FINDINGS_MAX]
        # The next grouping goes through the stored findings in this order; in another one sessions would move.
        entries.sort(key=lambda finding: finding.place)
        seen = [SeenFinding(finding.subject, finding.row, finding.reopened) for finding in entries]
        self.keeper.note(project_id=project_id, prompt_id=prompt_id, seen=seen)

    def _read(self, project_id: int, prompt_id: int, days: int, limit: int = SESSIONS_MAX) -> FindingList:
        now = self.now()
        owner = {"project_id": project_id, "prompt_id": prompt_id}
        with self.database.read() as connection:
            effect_of = self.proposer.effects(connection, project_id, prompt_id)
            decided = _decided(connection, **owner)
        # Clocks of senders may be ahead.
        period = Period(now - days * _DAY, now + _DAY, limit)
        with self.samples.opened([period], **owner, features_bytes=0) as (read,), deadline.paused():
            low = self._low_scores(project_id, read.samples)
            groups = _findings_of(read.samples, low, decided, effect_of)
            entries = [finding_of(group, read.samples, decided, now, days) for group in groups]
            present = {entry.subject.digest for entry in entries}
            gone = [FoundGroup(row.subject, ()) for digest, row in decided.rows.items() if digest not in present]
            entries += [finding_of(group, read.samples, decided, now, days) for group in reversed(gone)]
        return FindingList(entries, 0, len(read.samples), read.unread + read.left_out, days)

    def _low_scores(self, project_id: int, samples: Sequence[Sample]) -> dict[str, LowScores]:
        keys = [bytes.fromhex(sample.id) for sample in samples if sample.scored.has_low_score]
        names: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
        with self.database.read() as connection:
            for key, source, name in session_samples.low_scores(
                connection, project_id=project_id, session_keys=keys, below=LOW_SCORE
            ):
                names[key.hex()][source != "check"].append(name)
        return {id_: LowScores(*(min(of_source, default=None) for of_source in both)) for id_, both in names.items()}

    def _previews(self, project_id: int, session_ids: Sequence[str]) -> dict[str, str]:
        keys = [bytes.fromhex(id_) for id_ in session_ids]
        with self.database.read() as connection:
            rows = sessions.find_sessions(connection, project_id=project_id, session_keys=keys)
            return {key.hex(): preview for key, preview in session_list.previews(connection, rows).items()}


def _members(connection: Connection, project_id: int) -> Sequence[Member]:
    organization_id = organizations.require_project(connection, project_id).organization_id
    return organizations.list_members(connection, organization_id=organization_id)


def _decided(connection: Connection, project_id: int, prompt_id: int) -> DecidedFindings:
    rows = findings.list_findings(connection, project_id=project_id, prompt_id=prompt_id)
    members, versions = {}, {}
    if any(row.assignee_id for row in rows):
        members = {member.user_id: member for member in _members(connection, project_id)}
    if any(row.solved_version for row in rows):
        listed = prompt_versions.list_versions(connection, prompt_id=prompt_id, limit=VERSIONS_MAX)
        versions = {version.commit_hash: version.id for version in listed}
    return DecidedFindings({row.digest: row for row in rows}, members, versions)


def _findings_of(
    samples: Sequence[Sample], low: Mapping[str, LowScores], decided: DecidedFindings, effect_of: Effects
) -> Sequence[FoundGroup]:
    vocabulary = Vocabulary.of([sample.scored.fingerprint for sample in samples])
    known = [row.subject for row in decided.rows.values()]
    return group_into_findings(samples, problems_of(samples, low), known, vocabulary, effect_of)
