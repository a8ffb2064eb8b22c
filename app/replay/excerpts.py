"""One turn of a test case as a test case, with what came before it as its history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from app.errors import Invalid
from app.replay.case_types import CaseTurn, Fidelity, Missing, TestCase
from app.replay.cases import require_playable
from app.replay.conversation import result_text
from app.sessions.types import EARLIER_MAX, EarlierMessage


def only_turn(case: TestCase, index: int) -> TestCase:
    """Return the test case of the turn at `index`, counted from 0: a replay sends the turns before it as recorded.

    It has the rules of the case, but no variants, which may break calls of other turns. Raises `Invalid` without such
    a turn, or if the turn can't be played or checks nothing.
    """
    if not 0 <= index < len(case.turns):
        raise Invalid(f"turn: there are {len(case.turns)}, counted from 0")
    before, turn = case.turns[:index], case.turns[index]
    earlier = (*_messages(before), *(turn.earlier or ()))
    missing = tuple(_missing(case, index, before, len(earlier)))
    excerpt = replace(
        case,
        turns=(replace(turn, earlier=earlier[-EARLIER_MAX:] or UNSET),),
        included_turns=None,
        variants=UNSET,
        fidelity=Fidelity(missing=missing) if missing else UNSET,
    )
    require_playable(excerpt, "", "steps")
    return excerpt


def _messages(turns: Sequence[CaseTurn]) -> Iterator[EarlierMessage]:
    for turn in turns:
        yield from turn.earlier or ()
        if turn.user:
            yield EarlierMessage(role="user", text=turn.user)
        for step in turn.steps:
            if step.kind == "tool_call" and not step.hosted:
                yield EarlierMessage(role="tool", text=result_text(step), name=step.name, arguments=step.arguments)
            elif step.kind == "answer" and step.text:
                yield EarlierMessage(role="assistant", text=step.text)


def _missing(case: TestCase, index: int, before: Sequence[CaseTurn], messages: int) -> Iterator[Missing]:
    """Yield what a replay of the turn can't show: the gaps until this turn, and what the history leaves out."""
    recorded = case.fidelity.missing if case.fidelity else ()
    yield from (replace(gap, turn=0) for gap in recorded if gap.turn <= index)
    if any(turn.files for turn in before):
        yield Missing(kind="history", turn=0, message="an earlier message of the user has content that is no text")
    if messages > EARLIER_MAX:
        yield Missing(kind="history", turn=0, message=f"only the last {EARLIER_MAX:,} of the earlier messages are kept")
