"""A write that a draft makes once more never passes, whatever a model proposes and whatever a judge decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

import orjson
import pytest

from app.replay.call_effects import call_reads
from app.replay.case_types import DeclaredEffect
from app.replay.engine import replay
from app.replay.ports import Ports
from tests.gate import bad_writes
from tests.gate.changes import Scenes
from tests.gate.heldout import Source, read_source
from tests.gate.proposed import proposed_effects
from tests.gate.scenes import Scene, ScriptedModel, scene_of
from tests.gate.strangers import HERE
from tests.unit.replay.fakes import FakeDraft, FakeJudge

SETS = ("sixth", "seventh", "eighth")
OPERATORS: tuple[Callable[[Scene], Scenes], ...] = (
    bad_writes.refunds_twice_in_one_message,
    bad_writes.refunds_twice_in_a_row,
    bad_writes.refunds_again_when_all_is_done,
    bad_writes.repeats_the_write_a_turn_later,
    bad_writes.writes_to_another_target_first,
    bad_writes.writes_to_another_target_after,
)


@cache
def agents(of: str) -> tuple[tuple[Source, frozenset[str]], ...]:
    """Return the agents of a set, each with the tools that its writer lists as reads."""
    documents = ((path.stem, orjson.loads(path.read_bytes())) for path in sorted((HERE / of).glob("*.json")))
    return tuple((read_source(of, name, document), frozenset(document["reads"])) for name, document in documents)


def drafts(source: Source, reads: frozenset[str]) -> Iterator[Scene]:
    """Yield drafts with one more write."""
    recorded = replace(scene_of(source.case), tools=source.tools)
    for operator in OPERATORS:
        yield from (scene for scene in operator(recorded) if writes(scene, reads) > writes(recorded, reads))


def writes(scene: Scene, reads: frozenset[str]) -> int:
    """Return the number of calls that write; a statement or a command that only reads is none."""
    made = (call for turn in scene.turns for calls in turn.rounds for call in calls if call.name not in reads)
    return sum(call_reads(call.name, call.arguments, runs_only=True) is not True for call in made)


def played(source: Source, scene: Scene, proposed: Mapping[str, DeclaredEffect]) -> str:
    """Return the verdict on a draft with a judge that passes everything."""
    judge = FakeJudge(lambda *_: "passed")
    versions: dict[str | None, frozenset[str]] = {None: frozenset(tool.name for tool in source.tools)}
    draft = FakeDraft(source.tools, versions=versions)
    return replay(source.case, Ports(ScriptedModel(scene.turns), draft, judge, proposed=proposed)).status


@pytest.mark.parametrize("of", SETS)
def test_no_further_write_passes_if_a_model_proposes_that_each_tool_reads(of: str) -> None:
    verdicts = Counter(
        played(source, scene, dict.fromkeys((tool.name for tool in source.tools), "read"))
        for source, reads in agents(of)
        for scene in drafts(source, reads)
    )

    assert verdicts["passed"] == 0
    assert verdicts["needs_review"] > 50


@pytest.mark.parametrize("of", SETS)
def test_each_further_write_fails_if_a_model_knows_the_tools(of: str) -> None:
    verdicts = Counter(
        played(source, scene, proposed_effects(source, "blind"))
        for source, reads in agents(of)
        for scene in drafts(source, reads)
    )

    assert verdicts["failed"] == verdicts.total() > 100
