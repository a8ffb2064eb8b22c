"""Calls that were looked up before have the same replies again, without a comparison."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat import ToolCall
from app.replay.case_types import CaseTurn, ToolRules
from app.replay.checks import Checker
from app.replay.effects import resolve
from app.replay.recording import RecordedCalls, Recording, Reply
from app.replay.stored_replies import StoredReplies, StoredReply
from app.replay.text_reader import TextReader
from app.replay.texts.sources import Sources
from app.values.budget import WorkBudget
from tests.unit.replay.fakes import call, turn

arguments = st.dictionaries(st.sampled_from("abc"), st.sampled_from([0, 1, 7, "one", "One", "2024-01-02"]), max_size=2)
steps = st.tuples(st.sampled_from(["get", "put"]), arguments, st.sampled_from(["exact", "meaning", "ignore"]))
# Calls that a model makes at once, some of which a rule forbids.
batches = st.lists(
    st.lists(st.tuples(st.sampled_from(["get", "put"]), arguments, st.booleans()), min_size=1, max_size=4), max_size=5
)
TOOLS = {
    name: resolve(name, ToolRules(effect=effect), None, None) for name, effect in (("get", "read"), ("put", "write"))
}  # type: ignore[arg-type]


def recording(recorded: CaseTurn, replies: StoredReplies, budget: WorkBudget) -> Recording:
    checker = Checker(TOOLS, Sources, TextReader(budget))
    return Recording(RecordedCalls([recorded]), recorded.steps, 0, checker, replies)


def looked_up(made: Recording, asked: list[list[tuple[str, dict[str, object], bool]]]) -> list[list[Reply]]:
    found = []
    for batch in asked:
        calls = [ToolCall("c", name, values) for name, values, _ in batch]
        pairs = [(call, TOOLS[call.name]) for call in calls]
        found.append(made.answer_calls(pairs, [may for *_, may in batch], made.keys_of(calls)))
    return found


def stored(replies: StoredReplies) -> list[StoredReply | None]:
    """Return the replies as the database has them."""
    return msgspec.json.decode(msgspec.json.encode(replies.new), type=list[StoredReply | None])


@given(st.lists(steps, max_size=8), batches, batches, st.sampled_from([5, 40, 200, 10**6]))
def test_a_request_goes_on_where_the_one_before_ended(
    recorded: list[tuple[str, dict[str, object], str]],
    before: list[list[tuple[str, dict[str, object], bool]]],
    after: list[list[tuple[str, dict[str, object], bool]]],
    limit: int,
) -> None:
    case = turn("?", *[call(name, values, n, arguments=check) for n, (name, values, check) in enumerate(recorded)])
    first, budget = StoredReplies(), WorkBudget(limit)
    whole = recording(case, first, budget)
    replies = looked_up(whole, before)
    known, spent = stored(first), budget.spent

    rest = WorkBudget(max(0, limit - spent))
    second = StoredReplies(known)
    resumed = recording(case, second, rest)

    assert looked_up(resumed, before) == replies
    assert (rest.spent, second.new) == (0, [])
    assert resumed.accepted == whole.accepted
    assert (resumed.matching.owners, resumed.matching.free) == (whole.matching.owners, whole.matching.free)
    if spent < limit:
        looked_up(resumed, after)
        assert len(second.new) == sum(map(len, after))


@pytest.mark.slow
@pytest.mark.parametrize("calls", [10, 20, 40])
def test_the_next_call_needs_as_many_steps_after_many_calls_as_after_few(calls: int) -> None:
    case = turn("?", *[call("get", {"n": n, "text": f"the order {n}"}, n) for n in range(50)])
    asked = [[("get", {"n": n, "text": f"an order {n}"}, True)] for n in range(100, 101 + calls)]
    first = StoredReplies()
    looked_up(recording(case, first, WorkBudget()), asked[:-1])
    budget = WorkBudget()

    looked_up(recording(case, StoredReplies(stored(first)), budget), asked)

    alone = WorkBudget()
    looked_up(recording(case, StoredReplies(), alone), asked[-1:])
    assert 0 < budget.spent < 2 * alone.spent
