"""The findings of a prompt as they are shown: what went wrong, with what people have decided about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from app.models.experiments import ExperimentRow
from app.models.findings import FindingRow, FindingState
from app.models.organizations import Member
from app.suites.findings import FoundGroup, Subject, Trend, came_back
from app.suites.samples import Sample
from app.timestamps import ns_of

SESSIONS_SHOWN = 100
"""Sessions that are listed of one finding, the newest ones."""
_DAY_NS = 86_400 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class PromptFinding:
    """What went wrong in some sessions.

    `sessions` are the newest first. `share` is their share of all sessions that were read, and `daily` has the number
    of each day (UTC), the oldest first. `reopened` is true if the finding was solved and has come back: it is open.
    `row` is None for a finding that was not seen before. `place` counts the findings that were found before this one.
    """

    subject: Subject
    row: FindingRow | None
    state: FindingState
    reopened: bool
    assignee: Member | None
    sessions: Sequence[Sample]
    share: float
    trend: Trend
    daily: Sequence[int]
    place: int

    @property
    def id(self) -> str:
        return self.subject.digest.hex()

    @property
    def title(self) -> str:
        return self.subject.title

    @property
    def solved_version(self) -> str | None:
        return self.row.solved_version if self.row else None

    @property
    def solved_at(self) -> datetime | None:
        return self.row.solved_at if self.row else None

    @property
    def cost_usd(self) -> float:
        return sum(sample.cost_usd for sample in self.sessions)

    @property
    def session_ids(self) -> list[str]:
        return [sample.id for sample in self.sessions[:SESSIONS_SHOWN]]

    @property
    def example(self) -> str | None:
        """The id of the newest session, None without any."""
        return self.sessions[0].id if self.sessions else None


@dataclass(frozen=True, slots=True)
class FindingList:
    """The findings of a prompt, those with the most sessions first.

    `more` findings are left out. `read` sessions were read; `unread` ones have no fingerprint yet or had no room.
    `previews` has the first words of the examples by their ids.
    """

    entries: Sequence[PromptFinding]
    more: int
    read: int
    unread: int
    days: int
    previews: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding with the first words of its newest sessions, and what was made of it.

    `test_cases` has the names of the test cases that were made of its sessions, by id. `experiment` is the newest one
    that has played one of them, and `classes` what it has found.
    """

    finding: PromptFinding
    previews: Mapping[str, str]
    test_cases: Mapping[int, str]
    experiment: ExperimentRow | None
    classes: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class DecidedFindings:
    """The rows of a prompt's findings by their digests, with the people and the versions that these name.

    `members` are by their ids; `versions` has the ids of versions by their hashes, which grow with time.
    """

    rows: Mapping[bytes, FindingRow]
    members: Mapping[int, Member]
    versions: Mapping[str, int]


def finding_of(
    group: FoundGroup, samples: Sequence[Sample], decided: DecidedFindings, now: datetime, days: int
) -> PromptFinding:
    """Return the finding of a group of the samples, which were read of the `days` before `now`."""
    row = decided.rows.get(group.subject.digest)
    # Sessions that began at the same time have an order that a queue can go on in.
    members = sorted((samples[index] for index in group.members), key=lambda sample: (-sample.start_ns, sample.id))
    reopened = (
        row is not None
        and row.solved_at is not None
        and (row.state == "open" or _came_back(members, row, row.solved_at, decided))
    )
    daily = _daily(members, now.date(), days)
    return PromptFinding(
        subject=group.subject,
        row=row,
        state="open" if row is None or reopened else row.state,
        reopened=reopened,
        assignee=decided.members.get(row.assignee_id or 0) if row else None,
        sessions=members,
        share=len(members) / len(samples) if samples else 0.0,
        trend=Trend(sum(daily[-7:]), sum(daily[-14:-7])),
        daily=daily,
        place=group.place,
    )


def _came_back(members: Sequence[Sample], row: FindingRow, solved_at: datetime, decided: DecidedFindings) -> bool:
    return came_back(members, solved_ns=ns_of(solved_at), solved_by=row.solved_version, versions=decided.versions)


def _daily(members: Sequence[Sample], today: date, days: int) -> list[int]:
    """Return the number of sessions of each day, the last one today; what is after it counts as today."""
    counts = [0] * days
    last = today.toordinal() - date(1970, 1, 1).toordinal()
    for sample in members:
        age = max(0, last - sample.start_ns // _DAY_NS)
        if age < days:
            counts[days - 1 - age] += 1
    return counts
