"""What is done with test cases, replays and audits is linear in each function, or ends with the budget of a replay."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from app.audit.figures import ProbeOutcome, figures_of
from app.audit.playing import play_probe
from app.audit.probes import Probe, ProbedCase, draw_probes
from app.audit.staleness import changed_cases
from app.chat import Answer, Message, ToolCall, ToolDefinition
from app.replay.call_effects import call_reads
from app.replay.case_types import Fidelity, Missing, TestCase, ToolRules
from app.replay.cases import WrittenTurn, case_by_hand, case_from_turns, load_case
from app.replay.changes import change_case
from app.replay.derived_tools import derived_definitions
from app.replay.documents import dump
from app.replay.effect_proposals import UnknownTool, propose_effects, proposed_effects
from app.replay.engine import PlayedConversation, replay
from app.replay.excerpts import only_turn
from app.replay.excuses import UserWords
from app.replay.fault_types import Fault, Variant
from app.replay.faults import require_variants, with_faults
from app.replay.find_forms import find_form
from app.replay.judge import ModelJudge
from app.replay.judge_types import JudgedCall, JudgedTurn, OpenStep, StepEvidence
from app.replay.ports import Ports
from app.replay.program_transcript import ModelCall, ProgramAnswer, RecordedProgram, Transcript, earlier_transcript
from app.replay.session_pieces import is_piece
from app.replay.shell_commands import acting_part, command_reads
from app.replay.sql_statements import sql_reads
from app.replay.stored_replies import StoredReplies
from app.replay.verdict_digests import MessageDigests, TurnDigests
from app.sessions.build import build_session
from app.sessions.types import Step, Turn
from app.values.budget import WorkBudget
from tests.support.cores import Core, Make
from tests.support.growth import Work
from tests.unit.costs import replays
from tests.unit.costs.comparisons import comparisons
from tests.unit.costs.conftest import cost_tests
from tests.unit.costs.conversations import conversations
from tests.unit.costs.test_audits import SHAPES
from tests.unit.costs.test_traces import spans_of
from tests.unit.replay.fakes import FakeDraft, FakeJudge, FakeModel, answer, call, ports, says, turn

pytestmark = pytest.mark.slow

# The budgets of drawing probes, which both sizes use up.
DRAWN = 4_000


def judge(size: int) -> Work:
    """Ask a judge about as many steps, with as many values, calls and messages, and read its reply."""
    values = tuple(f"{n}.5" for n in range(size))
    evidence, little = StepEvidence(kept=values, lost=values, differences=values), StepEvidence(kept=("1",))
    steps = tuple(
        OpenStep(n, "answer", None, f"It is {n}.", f"It was {n}.", little if n else evidence) for n in range(size)
    )
    messages = tuple(Message("assistant", "a", tool_calls=(ToolCall("1", "t", {"n": n}),)) for n in range(size))
    calls = tuple(JudgedCall("t", {"n": n}, "ok") for n in range(size))
    asked = JudgedTurn("Be kind.", messages, "?", calls, steps)
    finding = {"kind": "other", "recorded": "It", "produced": "It", "matters": True, "why": "w"}
    reply = [{"step": n, "verdict": "failed", "findings": [finding] * 9, "reason": "r"} for n in range(size)]

    def work() -> None:
        model = FakeModel(lambda n, messages: says(json.dumps({"steps": reply})))
        ModelJudge(model, lambda: "n" * 20, "j").judge_turn(asked)
        digests = TurnDigests(0, asked, MessageDigests())
        for step in asked.steps:
            digests.of_person(step)

    return work


def effects(size: int) -> Work:
    tools = [UnknownTool(f"t{n}", "d", "{}") for n in range(size)]
    reply = {"tools": [{"name": f"t{n}", "reason": "r", "effect": "read"} for n in range(size)]}
    model = FakeModel(lambda n, messages: says(json.dumps(reply)))
    case = TestCase(turns=(turn("?", *(call(tool.name) for tool in tools)),))
    stored = propose_effects(model, "m", lambda: "n" * 20, tools)
    return lambda: (propose_effects(model, "m", lambda: "n" * 20, tools), proposed_effects(stored, case, ()))


def program(size: int) -> Work:
    asked = Answer("", (ToolCall("1", "t", {}),))
    events: list[Any] = []
    for number in range(size):
        tools = (ToolDefinition(f"t{number}", "d", {}),)
        events += [ModelCall(number, asked, "", tools), ModelCall(number, says("a")), ProgramAnswer(number, "b")]

    written = msgspec.json.encode([*events, {"type": "begun", "turn": 0, "id": "1"}])

    def work() -> None:
        transcript = Transcript(tuple(events))
        assert not transcript.instruction
        assert len(transcript.tools) == size
        transcript.calls_in(0)
        recorded = RecordedProgram(transcript)
        for _ in range(2 * size):
            recorded.answer("", (), ())
        assert len(earlier_transcript(written).events) == len(events)

    return work


def replies(size: int) -> Work:
    """Call a tool as often as it was recorded, with other arguments, and play these calls again with their replies."""
    case = TestCase(turns=(turn("?", *[call("get", {"n": n}, n) for n in range(size)]),))
    calls = Answer("", tuple(ToolCall(f"c{n}", "get", {"n": n, "more": n}) for n in range(size)))

    def work() -> None:
        made = StoredReplies()
        for known in (made, StoredReplies(made.new)):
            ports = dataclasses.replace(replays.ports(replays.Scripted([calls])), replies=known)
            PlayedConversation(case, ports, budget=WorkBudget(1_000)).play(0)

    return work


def changed(size: int) -> Work:
    """Change each step, each tool and the corrections of a test case."""
    case = replays.of_turns("replayed")(size)
    bare = load_case({"turns": dump(case)["turns"]})
    steps = [
        {"turn": n, "step": 0, "check": {"enabled": True, "arguments": {"/n": "number", "/note": "text"}}}
        for n in range(size)
    ]
    tools = {
        f"put_{n}": {"effect": "read", "arguments": {"/n": "number"}, "kinds": {"/k": "prose"}} for n in range(size)
    }
    corrections = [
        *({"turn": n, "step": 1, "remove": True} for n in range(size)),
        *({"turn": n, "step": 0, "arguments": {"n": 1}} for n in range(size)),
        *({"turn": n, "after": 0, "add": {"text": "a"}} for n in range(size)),
        *({"turn": n, "user": "a"} for n in range(size)),
    ]

    lacking = replace(bare, fidelity=Fidelity(missing=(Missing(kind="cut", turn=0, message=""),) * size))

    def work() -> None:
        change_case(bare, {"steps": steps, "tools": tools, "assertionType": "AI"})
        change_case(bare, {"corrections": corrections, "steps": steps})
        only_turn(lacking, size - 1)

    return work


def faults(size: int) -> Work:
    """Let calls of a turn with as many calls fail, in as many variants as there may be."""
    steps = [call("get", {"n": n}) for n in range(size)]
    turns = [turn("?", *steps, *[answer("a")] * size), *[turn("?", *steps[:2], answer("a"))] * size]
    case = TestCase(turns=tuple(turns))
    failing = [Fault(tool="get", call=place, kind="error") for place in (0, 1, 3 * size - 1)]
    variants = tuple(Variant(name=f"v{n}", faults=tuple(failing)) for n in range(3))
    varied = TestCase(turns=tuple(turns), variants=variants)

    def work() -> None:
        with_faults(case, failing)
        require_variants(varied, "")
        model = replays.Scripted(replays.repeated(case))
        replays.replay(case, replays.ports(model, judge=FakeJudge()), budget=WorkBudget(2_000), faults=failing)

    return work


def recorded_session(size: int) -> Work:
    turns = build_session([[span] for span in spans_of(size)])
    written = [WrittenTurn("?", "!")] * size
    lists = [Step("tool_call", "s", "put", {"lines": [{"n": n, f"k{n % 9}": [n]}]}) for n in range(20 * size)]
    wide = [Step("tool_call", "s", f"tool_{n}", {str(k): k for k in range(10)}) for n in range(10 * size)]
    called = [Turn("t", 0, 1, "?", tuple(lists)), Turn("t", 0, 1, "?", tuple(wide[:150]))]

    def work() -> None:
        case_from_turns(turns, "STRICT")
        derived_definitions(called)
        case_by_hand("?", "!", "STRICT", {"tone": "kind"}, written)
        is_piece(turns, turns[-1])

    return work


def commands(size: int) -> Work:
    command = "ls -la 'a b' | " * size + "wc"
    listed = ["ls", *["-la"] * size]
    others = [
        "LC_ALL=C " * size + "ls",
        "git " + "-C a " * size + "log",
        "curl -s " + "http://a " * size,
        "dmesg -" + "T" * size,
        "xargs " + "-r " * size + "ls",
        "ssh a " + "ls " * size,
        "df\n" * size,
    ]
    named = {f"a{n}": n for n in range(size)}
    return lambda: (
        command_reads(command),
        command_reads(listed),
        [command_reads(other) for other in others],
        call_reads("run_git" + "_run" * size, {"args": ["log"] * size, **named}, runs_only=False),
        call_reads("a", {"commands": ["ls"] * size}, runs_only=True),
        call_reads("a", {"sql": "select 1", **named}, runs_only=False),
        call_reads(
            "http", {"method": "GET", "url": f"/{'a/' * size}?{'a=b&' * size}", "params": named}, runs_only=True
        ),
        call_reads("graphql", {"query": "{ a " * size + "}" * size}, runs_only=False),
        call_reads("call_tool", {"tool": "get_a", "arguments": named, **named}, runs_only=False),
        call_reads("calendar", {"action": "list", **named}, runs_only=False),
        call_reads("call_tool", {"tool": "a" * size, "arguments": {"tool": "get_a"}}, runs_only=False),
        acting_part(f"{command} | rm x"),
        sql_reads("select lower(a) from b where c = 'd'; " * size),
    )


def drawn(make: Any) -> Make:
    def prepare(size: int) -> Work:
        case = load_case({"turns": [{"user": "What is it about?", "steps": make(size)}]})
        return lambda: draw_probes([ProbedCase(1, case, "Be kind.")] * 2, "1", budget=WorkBudget(DRAWN))

    return prepare


def figures(size: int) -> Work:
    verdicts = ("passed", "failed", "needs_review")
    outcomes = [
        ProbeOutcome(Probe(1, 0, 0, "number_changed", n % 2 == 0, "a", "b"), verdicts[n % 3])  # type: ignore[arg-type]
        for n in range(size)
    ]
    hashes = {f"{n}": "a" for n in range(size)}
    return lambda: (figures_of(outcomes), changed_cases(hashes, {**hashes, "x": "b"}))


def probe(size: int) -> Work:
    """Play a probe in a turn of as many steps."""
    steps = [*(call("get_note", {"n": n}) for n in range(size)), answer("It costs 5 EUR.", answer="meaning")]
    case = TestCase(turns=(turn("?", *steps),), tools={"get_note": ToolRules(effect="read")})
    probed = Probe(1, 0, size, "number_changed", True, "", "It costs 6 EUR.")
    return lambda: play_probe(case, probed, lambda model: Ports(model, FakeDraft(), FakeJudge()))


def excused(size: int) -> Work:
    """Play as many reads, and one with as many other values; a judge excuses each."""
    others = [(f"get_{n}", {"n": n}) for n in range(size)] + [("get_all", dict.fromkeys(map(str, range(size)), 1))]
    case = TestCase(turns=(turn("?", *(call(name, given, "ok") for name, given in others), answer("Done")),))
    asked = tuple(ToolCall("", name, dict.fromkeys(given, -1)) for name, given in others)
    script = [Answer("", asked), Answer("", asked), says("Done")]
    judge = FakeJudge(lambda recorded, produced: "passed")
    return lambda: replay(case, ports(replays.Scripted(script), judge=judge))


def named_values(size: int) -> Work:
    return lambda: UserWords(lambda: ["Where is order 4711?"] * size, WorkBudget()).have_written("order 4712")


def found_files(size: int) -> Work:
    arguments = ["a", "-type", "f", "-exec", "rm", *["-f"] * size, "{}"]
    return lambda: find_form(arguments, [], is_ended=True)


WORKS: dict[str, Make] = {
    **replays.lives(),
    **comparisons(),
    **conversations(),
    "a judge": judge,
    "effects of tools": effects,
    "a program": program,
    "replies": replies,
    "changes": changed,
    "faults": faults,
    "a recorded session": recorded_session,
    "commands": commands,
    **{f"probes of {name}": drawn(make) for name, make in SHAPES.items()},
    "figures": figures,
    "a probe": probe,
    "excused reads": excused,
    "values that a user has named": named_values,
    "commands of find": found_files,
}
# Each turn of a recorded history is sent all messages before it.
JUMPS = {"replay/engine:_played"}
CORE = Core(("replay", "audit"), WORKS, size=12, jumps=JUMPS)
NOT_GROWING: dict[str, set[str]] = {
    "loop over a table of the module, or over two or three things": {
        "audit/languages:LanguageWords.form_by_negation",
        "audit/languages:LanguageWords.forms",
        "audit/languages:LanguageWords.negative_words",
        "audit/languages:LanguageWords.unit_forms",
        "audit/probes:in_words",
        "replay/answers:Answers._facts",
        "replay/argument_notes:ArgumentNotes._start",
        "replay/answers:Answers._json_subset",
        "replay/call_effects:_is_command",
        "replay/call_effects:_is_for_windows",
        "replay/tool_names:_reads_unspaced",
        "replay/code_forms:_note",
        "replay/command_forms:_script_form",
        "replay/command_forms:_options_by_spelling",
        "replay/conditions:_Expression._is",
        "replay/documents:_choices",
        "replay/documents:_explain",
        "replay/judge_question:_doubt",
        "replay/measures:seconds_of_job",
        "replay/shell_options:_name_distance",
        "replay/statement_forms:is_narrower",
        "replay/texts/value_forms:FormSet.__contains__",
        "replay/texts/value_forms:FormSet._holds",
        "replay/texts/value_forms:FormSet.has_exact_detail",
        "replay/texts/words:_table",
        "replay/texts/words:_words",
    },
    "looks up the digest of each earlier message, in one line of C": {"replay/verdict_digests:MessageDigests.of"},
    "passes over the differences that other functions find, in C": {"replay/answers:Answers._structure_failure"},
    "loop over the pieces of code in an answer, and their lines, each once": {
        "replay/answers:_code_of",
        "replay/answers:_lines_of",
        "replay/answers:has_same_code",
    },
    "sort a set, which C does": {"replay/condition_algebra:one_of"},
    "loop over the probes of an audit, the gaps that are shown, or the tries of a calibration": {
        "audit/figures:noticed_sentence",
        "audit/playing:play_probe",
        "audit/probes:_balanced",
        "audit/probes:_labelled",
        "audit/probes:_round_robin",
        "audit/probes:draw_probes",
        "replay/fidelity:void_reason",
        "replay/judge:ModelJudge.simulate",
        "replay/loosening:Loosening._accepts",
        "replay/loosening:Loosening._matcher",
        "replay/loosening:Loosening._may_accept",
        "replay/loosening:Loosening._of_answer",
        "replay/loosening:Loosening._of_arguments",
    },
    # Drawing probes spends from a budget, which `test_audits` compares with its work.
    "spend from the budget of drawing probes, which ends before the input is all read": {
        "audit/arguments:_at",
        "audit/arguments:_in_prose",
        "audit/arguments:_lists_of_objects",
        "audit/arguments:code_turned",
        "audit/arguments:default_sent",
        "audit/arguments:entries_exchanged",
        "audit/arguments:field_dropped",
        "audit/arguments:flag_turned",
        "audit/arguments:instant_rewritten",
        "audit/arguments:name_exchanged",
        "audit/arguments:number_as_float",
        "audit/arguments:number_changed",
        "audit/arguments:read_limited",
        "audit/arguments:unit_changed",
        "audit/arguments:value_exchanged",
        "audit/changes:_values_in_text",
        "audit/changes:capitalized",
        "audit/changes:exchangeable",
        "audit/changes:other_name",
        "audit/harmless:_as_iso",
        "audit/harmless:date_rewritten",
        "audit/harmless:list_joined",
        "audit/harmless:marks_added",
        "audit/harmless:number_rewritten",
        "audit/probed_text:Conversation.instruction_sentences",
        "audit/planted:instruction_leaked",
        "audit/planted:name_exchanged",
        "audit/planted:negation_turned",
        "audit/tokens:_digits",
    },
}

(
    test_twice_the_input_is_at_most_about_twice_the_work_of_each_function,
    test_each_function_that_loops_is_counted_or_has_a_reason,
    test_each_reason_is_about_a_function_that_loops,
) = cost_tests(CORE, NOT_GROWING, may_grow=True)


def test_a_function_that_no_work_makes_loop_is_seen() -> None:
    assert "replay/engine:replay" not in CORE.unseen()
    assert "replay/recording:_bits" in Core(("replay",), {}, size=12).unseen()
