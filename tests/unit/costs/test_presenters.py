"""What pages show is prepared in work that is linear in each function."""

from __future__ import annotations

import json

import pytest

from app.replay.effects import tools_of
from app.web.forms import Form
from app.web.presenters import evidence_form
from app.web.presenters.case_corrections import corrections_sent, demands
from app.web.presenters.case_fields import fields_of, fields_sent
from app.web.presenters.case_form import case_body, cuts, tool_rows, written_body
from app.web.presenters.case_turns import shown_chunks, shown_turns
from app.web.presenters.diffs import diff_json, diff_rows
from app.web.presenters.markdown import to_html
from app.web.presenters.session import conversation, depths, in_tree_order
from app.web.presenters.texts import block, folds
from tests.support.cores import Core, Make, looping_functions
from tests.support.growth import Work
from tests.unit import test_costs
from tests.unit.costs.replays import of_turns

pytestmark = pytest.mark.slow


def texts(piece: str, other: str) -> Make:
    """Compare two texts of as many lines."""

    def prepare(size: int) -> Work:
        left, right = (form.format("\n") * 4 * size for form in (piece, other))
        numbered = ["\n".join(f"{text.strip()} {n}" for n in range(4 * size)) for text in (piece, other)]
        backwards = "\n".join(reversed(numbered[0].split("\n")))
        return lambda: (diff_rows(left, right), diff_rows(*numbered), diff_rows(numbered[0], backwards))

    return prepare


def case_page(size: int) -> Work:
    """Show a test case of as many turns and tools, and read its form."""
    case = of_turns("replayed")(size)
    tools = tools_of(case, ())
    numbers = range(size)
    form = Form(
        {
            **{f"fix.{n}.2.text": ["x"] for n in numbers},
            **{f"add.{n}.1.text": ["x"] for n in numbers},
            **{f"tool.{n}.name": [f"put_{n}"] for n in numbers},
            **{f"tool.{n}.matcher.{k}.path": ["/a"] for n in numbers for k in range(2)},
            **{f"step.{n}.0.enabled": ["on"] for n in numbers},
        }
    )

    def work() -> None:
        shown = fields_of("name", case, tools)
        sent = fields_sent(form, shown)
        case_body(sent, shown)
        tool_rows(shown, case, ())
        cuts(case)
        demands(case)
        corrections_sent(form, case)
        shown_turns(case)
        shown_chunks(case, size, ())

    return work


def session_page(size: int) -> Work:
    """Show a turn of as many spans, each within the next, of which all failed."""
    spans = test_costs.spans(size)
    return lambda: (conversation(spans), depths(spans), in_tree_order(spans))


def written_case(size: int) -> Work:
    """Read the form of a test case of as many written turns."""
    form = Form({"question": ["?"] * size, "expected": ["!"] * size})
    return lambda: written_body(form)


def label_form(size: int) -> Work:
    """Read the ids of as many test cases that a guard requires."""
    ids = {evidence_form.CASES: ", ".join(map(str, range(size)))}
    return lambda: evidence_form.EvidenceFields(ids, ids).cases


WORKS: dict[str, Make] = {
    "equal lines": texts("a {}", "b {}"),
    "lines of words that change": texts("the word is {}", "the other word was {}"),
    "combining marks": texts("e\u0301 {}", "e\u0323 {}"),
    "Markdown": lambda size: lambda: (to_html("# a\n\n* b `c`\n\n> d\n\n" * size), to_html("|a|b" * size)),
    "JSON of many lines": lambda size: (
        lambda: (
            diff_json([[n] for n in range(size)], [[n + 1] for n in range(size)]),
            block(json.dumps([[]] * size), parse=True),
            list(folds("\n".join([*[" {"] * size, *[" }"] * size]))),
        )
    ),
    "a test case": case_page,
    "a turn of a session": session_page,
    "a test case by hand": written_case,
    "violations": lambda size: test_costs.violations(size, equal=False),
    "a preview": test_costs.preview,
    "the form of a label": label_form,
}
CORE = Core(("web/presenters",), WORKS, size=40)
NOT_GROWING: dict[str, set[str]] = {
    "loop over pages, operations or code samples of Reprise": {
        "web/presenters/api_docs:_bounds",
        "web/presenters/api_docs:_content_type",
        "web/presenters/api_docs:_members",
        "web/presenters/api_docs:_operation",
        "web/presenters/api_docs:_type",
        "web/presenters/api_docs:api_docs",
        "web/presenters/manual:_address",
        "web/presenters/manual:_linked",
        "web/presenters/manual:_name",
        "web/presenters/manual:contents",
        "web/presenters/manual:document",
        "web/presenters/manual:names",
        "web/presenters/snippets:_javascript",
        "web/presenters/snippets:_trace",
    },
    "loop over the five fields of a label's form": {
        "web/presenters/evidence_form:EvidenceFields.body",
        "web/presenters/evidence_form:EvidenceFields.changed",
        "web/presenters/evidence_form:fields_of",
        "web/presenters/evidence_form:fields_sent",
    },
    # A work that drives one of them removes it from this list.
    "no work makes the input of them larger yet": {
        "web/presenters/case_faults:faults_body",
        "web/presenters/case_faults:faults_of",
        "web/presenters/case_faults:faults_sent",
        "web/presenters/case_faults:single_faults_sent",
        "web/presenters/case_faults:variants_body",
        "web/presenters/case_fields:_matchers_of",
        "web/presenters/case_form:ToolRow.rules",
        "web/presenters/case_form:_arguments",
        "web/presenters/case_form:_matchers",
        "web/presenters/case_form:with_confirmed",
        "web/presenters/case_turns:_size",
        "web/presenters/case_turns:opened_chunks",
        "web/presenters/case_turns:shown_turns",
        "web/presenters/experiment:ShownExperiment._arms",
        "web/presenters/experiment:ShownExperiment.again",
        "web/presenters/experiment:ShownExperiment.broken",
        "web/presenters/experiment:ShownExperiment.by_model",
        "web/presenters/experiment:ShownExperiment.candidates",
        "web/presenters/experiment:ShownExperiment.models",
        "web/presenters/experiment:ShownExperiment.steady",
        "web/presenters/experiment:ShownExperiment.to_look_at",
        "web/presenters/experiment:hashes_of",
        "web/presenters/experiment_failures:_failing",
        "web/presenters/experiment_failures:_failures",
        "web/presenters/experiment_failures:failures_of",
        "web/presenters/experiment_failures:replays_to_read",
        "web/presenters/experiment_form:ExperimentFields._candidates",
        "web/presenters/experiment_form:ExperimentFields.body",
        "web/presenters/experiment_form:ExperimentFields.more",
        "web/presenters/experiment_form:fields_asked",
        "web/presenters/experiment_form:version_choices",
        "web/presenters/marks:pieces",
        "web/presenters/prompt_editor:PromptFields.with_blanks",
        "web/presenters/prompt_editor:PromptFields.with_values",
        "web/presenters/prompt_editor:_config_value",
        "web/presenters/prompt_editor:_options",
        "web/presenters/prompt_editor:_placeholder",
        "web/presenters/prompt_editor:_placeholder_body",
        "web/presenters/prompt_editor:change_body",
        "web/presenters/prompt_editor:edited",
        "web/presenters/prompt_editor:fields_of",
        "web/presenters/prompt_editor:fields_sent",
        "web/presenters/prompt_editor:model_choices",
        "web/presenters/prompt_editor:other_changes",
        "web/presenters/refusals:_numbered",
        "web/presenters/refusals:_of_placeholder",
        "web/presenters/refusals:refusals",
        "web/presenters/replay:batch_progress",
        "web/presenters/replay:shown_turns",
        "web/presenters/replay_findings:first_trouble",
        "web/presenters/replay_findings:shown_findings",
        "web/presenters/replay_parts:_parts",
        "web/presenters/replay_parts:part_of",
        "web/presenters/replay_violations:kinds_by_anchor",
        "web/presenters/session:ShownTurn.anchors",
        "web/presenters/session:_by_place",
        "web/presenters/session:low_scores",
        "web/presenters/session:next_errors",
        "web/presenters/session:shown_turns",
        "web/presenters/session:text_of",
        "web/presenters/session:timeline",
        "web/presenters/session:users_of",
        "web/presenters/session_files:_media_type",
        "web/presenters/session_files:_shown",
        "web/presenters/session_files:shown_files",
        "web/presenters/tries:columns",
        "web/presenters/tries:opponents",
        "web/presenters/tries:origin_of",
    },
}


@pytest.mark.parametrize("name", WORKS)
def test_twice_the_input_is_at_most_about_twice_the_work_of_each_function(name: str) -> None:
    assert CORE.grown(name) == {}


def test_each_function_that_loops_is_counted_or_has_a_reason() -> None:
    """A new function that loops fails here: add a work that makes its input larger, or its reason."""
    assert CORE.unseen() <= set().union(*NOT_GROWING.values())


def test_each_reason_is_about_a_function_that_loops() -> None:
    assert set().union(*NOT_GROWING.values()) <= looping_functions("web/presenters")
