"""Compares the instructions that traces bring with a prompt: what the program sends, and where it varies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from typing import Any

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Conflict, Invalid, NotFound
from app.models import prompt_versions, turns
from app.models.audit_log import SYSTEM, Actor
from app.models.prompts import PromptHead
from app.models.session_log import SessionRange, list_sessions
from app.otlp.logs import events_of
from app.rendering.matching import Template, names_by_content, names_of
from app.rendering.render import Placeholder, PlaceholderValue
from app.services.prompts import drafts
from app.services.prompts.content import PromptContent, placeholders_json
from app.services.prompts.drafts import DraftChange
from app.services.prompts.editor import PromptEditor
from app.services.prompts.reader import PromptReader
from app.services.prompts.service import PromptView
from app.services.sessions.reading import SMALL_BYTES, read_spans
from app.sessions.facts import load
from app.sessions.fidelity import instruction_of
from app.sessions.placeholder_proposals import (
    VALUES_MAX,
    PlaceholderProposal,
    Proposals,
    SeenValue,
    merged,
    propose,
    unused,
)
from app.sessions.spans import read_turn
from app.sessions.types import Turn
from app.values.budget import UNLIMITED, OverBudget, WorkBudget

SESSIONS_MAX, BYTES_MAX = 60, 4 * 1024 * 1024
"""The newest sessions of a prompt that are read, and the bytes of their spans."""
SESSIONS_OF_A_GLANCE = 10
"""The sessions that the editor reads."""
VERSIONS_MAX = 20
"""The newest versions that are compared with recorded instructions."""
COMPARED_MAX = 1_000_000
"""Steps in which a request compares instructions with contents: a second of a processor."""
DRAFT = "draft"
NAME_MAX = 60
IS_XML = "The format of this prompt is XML, which no program sends as it writes it: a RAW prompt adopts instructions."


@dataclass(frozen=True, slots=True)
class RecordedInstruction:
    """The instruction that a session recorded; `start_ns` is the start of the session."""

    session_id: str
    start_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class InstructionReport:
    """The instruction of the newest session that recorded one, compared with the prompt.

    `matches` is "draft" or the commit hash of the version that renders it. If it is None, the program sends another
    text: `since_ns` is the start of the earliest of the newest sessions that no version renders. `sessions` counts the
    sessions that were read.
    """

    head: PromptHead
    draft: PromptContent
    sessions: int
    newest: RecordedInstruction | None = None
    matches: str | None = None
    since_ns: int | None = None
    proposals: Proposals = Proposals()

    @property
    def differs(self) -> bool:
        return self.newest is not None and self.matches is None

    @property
    def proposed(self) -> list[PlaceholderProposal]:
        return [proposal for _, proposal in self.proposals.by_piece]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionService:
    """`checked_change` returns a change of a draft as the API accepts it, or raises `Invalid`."""

    database: Database
    reader: PromptReader
    editor: PromptEditor
    checked_change: Callable[[dict[str, Any]], DraftChange]

    def report(self, *, project_id: int, prompt_id: int, sessions_max: int | None = None) -> InstructionReport:
        """Compare the draft with the instructions of its last `sessions_max` sessions, at most `SESSIONS_MAX`.

        Without a recorded instruction the report has only the draft and the sessions. `NotFound`: no such prompt.
        """
        with self.database.read() as connection:
            head, draft = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id)
            sessions, instructions = self._recorded(connection, head, sessions_max or SESSIONS_MAX)
            report = InstructionReport(head, draft, sessions)
            return self._compared(connection, report, instructions) if instructions else report

    def newest_differs(self, *, project_id: int, prompt_id: int) -> bool:
        """Return whether the program sends another text now; most prompts need only their newest session for it."""
        with self.database.read() as connection:
            head, draft = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id)
            _, instructions = self._recorded(connection, head, 1)
        if not instructions or _template(draft, UNLIMITED).values(instructions[0].text) is not None:
            return False
        return self.report(project_id=project_id, prompt_id=prompt_id, sessions_max=SESSIONS_OF_A_GLANCE).differs

    def adopt(
        self, *, project_id: int, prompt_id: int, if_match: Collection[str] | None = None, actor: Actor = SYSTEM
    ) -> PromptView:
        """Make the newest instruction the draft; it keeps the draft's placeholders where their text is in both."""
        report = self.report(project_id=project_id, prompt_id=prompt_id)
        if report.newest is None:
            raise NotFound("No session of this prompt has recorded an instruction.")
        _require_raw(report)
        keys = {placeholder.key: placeholder for placeholder in report.draft.placeholders}
        change = self.checked_change({"value": merged(report.draft.value, report.newest.text, keys)})
        return self._change(report, change, if_match, actor)

    def accept(
        self,
        *,
        project_id: int,
        prompt_id: int,
        accepted: Sequence[Mapping[str, str]],
        if_match: Collection[str] | None = None,
        actor: Actor = SYSTEM,
    ) -> PromptView:
        """Put placeholders in place of the parts that accepted proposals name by `id`, each with another `key` if sent.

        The values that sessions had become named values; the draft's text is the default. Raises `Conflict` if a
        proposal is no longer made.
        """
        report = self.report(project_id=project_id, prompt_id=prompt_id)
        _require_raw(report)
        proposals = {proposal.id: proposal for proposal in report.proposed}
        keys: dict[str, str] = {}
        for choice in accepted:
            proposal = proposals.get(choice["id"])
            if proposal is None:
                raise Conflict(f"There is no proposal {choice['id']!r} any more: read the proposals again.")
            keys[proposal.id] = proposal.key if proposal.is_known else choice.get("key") or proposal.key
        placeholders = _with_values(report.draft.placeholders, [proposals[id_] for id_ in keys], keys)
        body = {
            "value": report.proposals.rewritten(keys),
            "placeholders": placeholders_json(placeholders),
        }
        return self._change(report, self.checked_change(body), if_match, actor)

    def _change(
        self, report: InstructionReport, change: DraftChange, if_match: Collection[str] | None, actor: Actor
    ) -> PromptView:
        """Change the draft that the report has read; raises `StaleDraft` for another one."""
        head = report.head
        drafts.check_unchanged(head, if_match)
        read = [drafts.etag(head)]
        return self.editor.change(
            project_id=head.project_id, prompt_id=head.id, change=change, if_match=read, actor=actor
        )

    def _recorded(self, connection: Connection, head: PromptHead, most: int) -> tuple[int, list[RecordedInstruction]]:
        """Return how many of the newest sessions were read, and the instructions of their last turns, newest first.

        Turns that name a version are left out, because they name what they sent.
        """
        left, count, instructions = BYTES_MAX, 0, list[RecordedInstruction]()
        for session in list_sessions(connection, SessionRange(head.id, only_active=True), limit=most):
            turn = turns.last_turn(connection, project_id=head.project_id, session_key=session.session_key)
            count += 1
            if turn is None or load(turn.facts).prompt_versions:
                continue
            read = read_spans(connection, session, [turn.trace_id], most=min(left, SMALL_BYTES))
            left -= sum(len(span.raw) for span in read.spans) + sum(len(body) for _, body in read.records)
            if text := instruction_of(read_turn(read.spans, None, events_of(read.records))):
                instructions.append(RecordedInstruction(session.session_key.hex(), turn.start_ns, text))
            if left <= 0:
                break
        return count, instructions

    def _compared(
        self, connection: Connection, report: InstructionReport, instructions: Sequence[RecordedInstruction]
    ) -> InstructionReport:
        proposals = self._proposals(report.draft, [instruction.text for instruction in instructions])
        contents = chain([report.draft], self._versions(connection, report.head))
        match = cache(Matches(report.draft, contents, proposals).name_of)
        since_ns = None
        for instruction in instructions:
            if match(instruction.text) is not None:
                break
            since_ns = instruction.start_ns
        newest = instructions[0]
        return replace(report, newest=newest, matches=match(newest.text), since_ns=since_ns, proposals=proposals)

    def _proposals(self, draft: PromptContent, instructions: Sequence[str]) -> Proposals:
        if draft.instruction_format != "RAW":
            return Proposals()
        contents = {
            placeholder.key: [value.content for value in placeholder.values] for placeholder in draft.placeholders
        }
        return propose(draft.value, instructions, contents)

    def _versions(self, connection: Connection, head: PromptHead) -> Iterator[PromptContent]:
        """Yield the newest versions; each is read when it is needed."""
        for version in prompt_versions.list_versions(connection, prompt_id=head.id, limit=VERSIONS_MAX):
            pinned = self.reader.pinned(connection, head, version.commit_hash)
            yield self.reader.content_of(connection, head, pinned)


class Matches:
    """Finds the content that renders an instruction. Each content is read once, and in all `COMPARED_MAX` steps."""

    def __init__(self, draft: PromptContent, contents: Iterator[PromptContent], proposals: Proposals) -> None:
        self._budget = WorkBudget(COMPARED_MAX)
        self._contents = contents
        self._known: list[tuple[str, Template]] = []
        self._varying: Template | None = None
        if keys := proposals.varying:
            known = {placeholder.key for placeholder in draft.placeholders}
            with suppress(OverBudget):
                self._varying = Template(proposals.rewritten(keys), "RAW", {*known, *keys.values()}, self._budget)

    def name_of(self, instruction: str) -> str | None:
        """Return the commit hash of the first content that renders the instruction, or "draft"; None if none does.

        The draft may differ in parts that vary between sessions. Contents for which no steps are left render nothing.
        """
        with suppress(OverBudget):
            for name, template in self._templates():
                if template.values(instruction) is not None:
                    return name
            if self._varying and self._varying.values(instruction) is not None:
                return DRAFT
        return None

    def _templates(self) -> Iterator[tuple[str, Template]]:
        yield from self._known
        for content in self._contents:
            self._known.append((content.commit_hash or DRAFT, _template(content, self._budget)))
            yield self._known[-1]


def _template(content: PromptContent, budget: WorkBudget) -> Template:
    keys = {placeholder.key for placeholder in content.placeholders}
    return Template(content.value, content.instruction_format, keys, budget)


def with_selections(recorded: Sequence[Turn], content: PromptContent) -> list[Turn]:
    """Return the turns. A turn without placeholders gets the names of the values that its instruction has.

    Instructions beyond `COMPARED_MAX` steps have no names.
    """
    if not content.placeholders:
        return list(recorded)
    named, read = names_by_content(content.placeholders), cache(partial(_template, content, WorkBudget(COMPARED_MAX)))

    @cache
    def selections(instruction: str) -> dict[str, str]:
        with suppress(OverBudget):
            return names_of(read().values(instruction) or {}, named)
        return {}

    return [
        replace(turn, placeholders=selections(turn.instruction) or None)
        if turn.placeholders is None and turn.instruction
        else turn
        for turn in recorded
    ]


def _require_raw(report: InstructionReport) -> None:
    if report.draft.instruction_format != "RAW":
        raise Invalid(IS_XML)


def _with_values(
    placeholders: Sequence[Placeholder], accepted: Sequence[PlaceholderProposal], keys: Mapping[str, str]
) -> tuple[Placeholder, ...]:
    """Return the placeholders with those of accepted proposals; known ones get the values that they lack."""
    by_key = {placeholder.key: placeholder for placeholder in placeholders}
    seen: dict[str, tuple[SeenValue, ...]] = {}
    for proposal in accepted:
        key = keys[proposal.id]
        if not proposal.is_known and key in by_key and seen.get(key) != proposal.values:
            raise Invalid(f"accept: The key {key!r} is already that of a placeholder with other values.")
        seen[key] = proposal.values
        known = by_key.get(key) or Placeholder(key, ())
        contents = [] if proposal.is_known else [proposal.current]
        contents += [value.content for value in proposal.values]
        by_key[key] = Placeholder(key, _named_values(known.values, contents), known.description)
    return tuple(by_key.values())


def _named_values(known: Sequence[PlaceholderValue], contents: Sequence[str]) -> tuple[PlaceholderValue, ...]:
    """Return the known values and the new contents, with names that differ; the first of all is the default."""
    values, names = list(known), {value.name for value in known}
    for content in dict.fromkeys(contents):
        if len(values) < VALUES_MAX and content not in {value.content for value in known}:
            name = unused(" ".join(content[:NAME_MAX].split()) or "empty", names, " ")
            names.add(name)
            values.append(PlaceholderValue(name, content, is_default=not values))
    return tuple(values)
