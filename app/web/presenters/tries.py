"""The conversations next to the editor: with the draft, and with its opponent in a second column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprise_formats.formats import short

from app.chat import Message
from app.models.runs import RunRow
from app.replay.cases import case_from_turns
from app.replay.conversation import recorded_past
from app.services.prompts.editor import ListedVersion
from app.services.runs.request import history_of
from app.services.sessions.service import Session
from app.web import labels

# Only the last messages of a long conversation are shown.
MESSAGES_MAX = 40
VERSIONS_MAX = 50
ALONE = ("", "Ask only the draft")


@dataclass(frozen=True, slots=True)
class Column:
    """A conversation. `messages` precede the question of `run`; `more` counts earlier messages that are not shown."""

    title: str
    messages: Sequence[Message]
    more: int = 0
    run: RunRow | None = None


@dataclass(frozen=True, slots=True)
class ConversationOrigin:
    """The part of a recorded session that a conversation continues, with the values that its form sends again.

    `turn` is the number of the turn to ask again; None if the conversation continues after the last turn.
    """

    session_id: str = ""
    turn: int | None = None
    past: tuple[Message, ...] = ()
    question: str = ""
    selections: Mapping[str, str] | None = None


def origin_of(session: Session, turn: int | None) -> ConversationOrigin:
    """Return the origin of a conversation that continues the session, or asks its `turn`, counted from 1, again."""
    before = session.turns if turn is None else session.turns[: turn - 1]
    chosen = session.turns[turn - 1 : turn] if turn else session.turns[-1:]
    question = next((candidate.user or "" for candidate in chosen), "") if turn else ""
    selections = next((candidate.placeholders for candidate in chosen), None)
    return ConversationOrigin(
        session.id, turn, recorded_past(case_from_turns(before, "STRICT").turns), question, selections
    )


def columns(runs: Sequence[RunRow], origin: ConversationOrigin) -> list[Column]:
    """Return a column for each run, or one with the origin's messages if nothing has been asked yet."""
    if runs:
        return [_column(_title(run, first=not index), history_of(run.request), run) for index, run in enumerate(runs)]
    return [_column("", origin.past, None)] if origin.past else []


def opponents(versions: Sequence[ListedVersion], models: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the opponents to choose from: the newest versions, and the draft with each other model."""
    of_versions = [(f"version:{version.head.commit_hash}", _version(version)) for version in versions[:VERSIONS_MAX]]
    return [ALONE, *of_versions, *((f"model:{name}", f"The draft with {label}") for name, label in models if name)]


def opponent_of(run: RunRow | None) -> str:
    """Return the opponent that made the run of the second column."""
    if run is None:
        return ""
    return f"version:{run.commit_hash}" if run.commit_hash else f"model:{run.model_name}"


def _version(version: ListedVersion) -> str:
    return f"Version {short(version.head.commit_hash)} {version.head.message[:60]}".rstrip()


def _column(title: str, past: Sequence[Message], run: RunRow | None) -> Column:
    shown = past[-MESSAGES_MAX:]
    return Column(title, shown, len(past) - len(shown), run)


def _title(run: RunRow, *, first: bool) -> str:
    if run.commit_hash:
        return f"Version {short(run.commit_hash)}"
    return "Draft" if first else f"Draft with {labels.model(run.model_name, run.vendor)}"
