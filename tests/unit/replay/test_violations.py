"""Violations of a draft, and what it may do."""

from typing import Any

import pytest

from app.chat import Answer, ToolDefinition
from app.replay.call_effects import changes_data
from app.replay.case_types import CaseStep, TestCase, ToolRules
from app.replay.engine import replay
from app.replay.result_types import ReplayResult
from app.replay.secret_reads import reads_secret
from tests.unit.replay.fakes import FakeDraft, FakeJudge, answer, call, calls, ports, says, scripted, turn

READ, WRITE = call("get_policy", {"of": "refund"}), call("refund", {"order": "A-1"})


def played(case: TestCase, *script: Answer, draft: FakeDraft | None = None) -> ReplayResult:
    return replay(case, ports(scripted(*script), draft=draft))


def one(*steps: CaseStep, **more: Any) -> TestCase:
    return TestCase(turns=(turn("?", *steps, answer("ok")),), **more)


def kinds(result: ReplayResult) -> list[tuple[str, str, int]]:
    assert result.status == ("failed" if result.violations else "passed")
    return [(each.kind, each.tool, each.turn) for each in result.violations]


def read(of: str = "refund") -> tuple[str, Any]:
    return "get_policy", {"of": of}


def write(order: str = "A-1") -> tuple[str, Any]:
    return "refund", {"order": order}


def test_repeating_the_recording_violates_nothing() -> None:
    assert kinds(played(one(READ, WRITE), calls(read()), calls(write()), says("ok"))) == []


def test_a_second_write_fails_and_is_not_answered() -> None:
    result = played(one(READ, WRITE), calls(read()), calls(write()), calls(write()), says("ok"))

    assert kinds(result) == [("extra_write", "refund", 0)]
    assert [step.result for step in result.turns[0].steps] == ["passed"] * 3
    [extra] = result.turns[0].extra
    assert extra.kind == "tool_call"
    assert extra.answered_by == "none"
    assert "allow calls of refund beyond the recording in the test case" in result.violations[0].message


def test_a_write_that_a_turn_never_had_fails_a_turn_early_and_a_turn_late() -> None:
    case = TestCase(turns=(turn("1", answer("ok")), turn("2", WRITE, answer("ok")), turn("3", answer("ok"))))

    early = played(case, calls(write()), says("ok"), calls(write()), says("ok"), says("ok"))
    late = played(case, says("ok"), calls(write()), says("ok"), calls(write()), says("ok"))

    assert kinds(early) == [("extra_write", "refund", 0)]
    assert kinds(late) == [("extra_write", "refund", 2)]


def test_a_write_of_other_arguments_is_not_answered_with_the_recorded_result() -> None:
    altered = played(one(WRITE), calls(write("B-2")), says("ok"))
    corrected = played(one(WRITE), calls(write("B-2")), calls(write()), says("ok"))

    assert [each.kind for each in altered.violations] == ["unanswered_write"]
    assert 'It differs from the recorded call: order is "B-2"' in altered.violations[0].message
    assert [step.result for step in altered.turns[0].steps] == ["failed", "passed"]
    assert kinds(corrected) == [("extra_write", "refund", 0)]


def test_a_write_before_the_read_that_preceded_it_is_out_of_order() -> None:
    early = played(one(READ, WRITE), calls(write()), calls(read()), says("ok"))
    listed_first = played(one(READ, WRITE), calls(write(), read()), says("ok"))
    listed_last = played(one(READ, WRITE), calls(read(), write()), says("ok"))

    assert kinds(early) == kinds(listed_first) == [("order", "refund", 0)]
    assert "before get_policy" in early.violations[0].message
    assert [step.result for step in early.turns[0].steps] == ["passed"] * 3
    assert kinds(listed_last) == []
    assert kinds(played(one(READ, WRITE, order="any"), calls(write()), calls(read()), says("ok"))) == []


def test_reads_have_no_order_and_count_by_their_first_call() -> None:
    other = call("get_order", {"id": 1})
    assert kinds(played(one(READ, other, WRITE), calls(("get_order", {"id": 1}), read(), write()), says("ok"))) == []
    again = one(READ, WRITE, READ)
    assert kinds(played(again, calls(read()), calls(read()), calls(write()), says("ok"))) == []
    assert kinds(played(one(WRITE, READ), calls(read()), calls(write()), says("ok"))) == []


@pytest.mark.parametrize("together", [True, False])
def test_a_read_after_the_write_does_not_hide_that_only_another_one_came_before(together: bool) -> None:
    search = call("search", {"query": "what is the refund policy"})
    other, same = ("search", {"query": "pictures of funny cats"}), ("search", {"query": "what is the refund policy"})
    first = (calls(other, write()),) if together else (calls(other), calls(write()))
    judge = FakeJudge(lambda recorded, produced: "failed")

    result = replay(one(search, WRITE), ports(scripted(*first, calls(same), says("ok")), judge=judge))

    assert [step.result for step in result.turns[0].steps] == ["failed", "passed", "passed"]
    assert [step.produced for step in judge.asked] == ['{"query": "pictures of funny cats"}']


def test_a_read_in_other_words_is_only_a_further_one_if_the_recorded_one_came_in_time_too() -> None:
    search = call("search", {"query": "what is the refund policy"})
    other, same = ("search", {"query": "pictures of funny cats"}), ("search", {"query": "what is the refund policy"})
    judge = FakeJudge(lambda recorded, produced: "failed")

    def status(case: TestCase, *script: Answer) -> str:
        return replay(case, ports(scripted(*script, says("ok")), judge=judge)).status

    assert status(one(search, WRITE), calls(other), calls(same), calls(write()), calls(same)) == "passed"
    assert status(one(WRITE, search), calls(other), calls(write()), calls(same)) == "passed"
    assert status(one(search, WRITE, order="any"), calls(other), calls(write()), calls(same)) == "passed"
    assert judge.asked == []


def test_writes_keep_their_order_unless_one_message_asked_for_them_together() -> None:
    mail = call("mail", {"to": "a"})
    script = calls(("mail", {"to": "a"})), calls(write()), says("ok")
    together = [call("refund", {"order": "A-1"}), mail]

    assert kinds(played(one(WRITE, mail), *script)) == [("order", "mail", 0)]
    case = one(*together)
    steps = tuple(
        each if each.kind == "answer" else type(each)(name=each.name, arguments=each.arguments, batch="m1")
        for each in case.turns[0].steps
    )
    assert kinds(played(TestCase(turns=(turn("?", *steps),)), *script)) == []


def test_writes_that_are_alike_keep_their_order_although_the_checked_one_is_paired_first() -> None:
    other, unchecked = call("mail", {}), call("refund", {"order": "A-1"}, enabled=False)
    script = [calls(write()), calls(("mail", {})), calls(write()), says("ok")]

    assert kinds(played(one(unchecked, other, WRITE), *script)) == []
    assert kinds(played(one(WRITE, WRITE, other), *script)) == [("order", "mail", 0)]


def test_a_read_that_never_came_breaks_no_order_but_fails_itself() -> None:
    result = played(one(READ, WRITE), calls(write()), says("ok"))

    assert result.violations == ()
    assert [step.result for step in result.turns[0].steps] == ["failed", "passed", "passed"]


@pytest.mark.parametrize("order", ["any", "in_order", "effects"])
def test_extra_writes_fail_in_every_order(order: Any) -> None:
    result = played(one(WRITE, order=order), calls(write()), calls(write()), says("ok"))

    assert [each.kind for each in result.violations] == ["extra_write"]


def test_a_tool_that_must_never_be_called_is_not_answered_either() -> None:
    case = one(READ, tools={"get_policy": ToolRules(never=True)})

    result = played(case, calls(read()), says("ok"))

    assert [each.kind for each in result.violations] == ["never"]
    assert "allow calls of get_policy in the test case" in result.violations[0].message


def test_calls_are_limited_over_the_whole_replay() -> None:
    turns = tuple(turn(str(n), READ, answer("ok")) for n in range(3))
    case = TestCase(turns=turns, tools={"get_policy": ToolRules(max_calls=1)})

    result = played(case, *[calls(read()), says("ok")] * 3)

    assert [(each.kind, each.turn) for each in result.violations] == [("max_calls", 1)]


def test_an_extra_read_fails_only_where_the_test_case_forbids_it() -> None:
    script = calls(read()), calls(read()), says("ok")

    assert kinds(played(one(READ), *script)) == []
    case = one(READ, tools={"get_policy": ToolRules(extra="fail")})
    assert kinds(played(case, *script)) == [("extra_read", "get_policy", 0)]


def test_an_extra_read_of_a_secret_fails_unless_the_test_case_allows_it() -> None:
    log, env = (("read_file", {"path": path}) for path in ("app.log", "app/.env"))
    plain, secret = call(*log), call(*env)
    read_again = calls(log, env), says("ok")
    allowed = {"read_file": ToolRules(extra="allow")}

    result = played(one(plain), *read_again)

    assert kinds(result) == [("extra_read", "read_file", 0)]
    assert "this is one more. The call reads a secret." in result.violations[0].message
    assert kinds(played(one(plain, tools=allowed), *read_again)) == []
    assert kinds(played(one(plain, secret), *read_again)) == []


def test_an_extra_statement_that_changes_data_fails_in_a_tool_that_a_person_has_set_to_read() -> None:
    reads, deletes = (("sql_query", {"sql": sql}) for sql in ("SELECT 1", "DELETE FROM stores WHERE is_test = 1"))
    draft = calls(reads, deletes), says("ok")
    read_only = {"sql_query": ToolRules(effect="read")}
    allowed = {"sql_query": ToolRules(effect="read", extra="allow")}

    result = played(one(call(*reads), tools=read_only), *draft)

    assert kinds(result) == [("extra_read", "sql_query", 0)]
    assert "The statement changes data, though the tool counts as one that reads." in result.violations[0].message
    assert kinds(played(one(call(*reads), tools=allowed), *draft)) == []
    assert kinds(played(one(call(*reads), call(*deletes), tools=read_only), *draft)) == []


@pytest.mark.parametrize(
    ("statement", "changes"),
    [
        ("DELETE FROM stores", True),
        ("delete from stores where id = 4", True),
        ("update a.stores set name = 'x'", True),
        ("INSERT INTO t SELECT * FROM u", True),
        ("SELECT 1; drop table stores_old", True),
        ("WITH old AS (SELECT id FROM t) DELETE FROM t USING old", True),
        ("CREATE INDEX i ON t (a)", True),
        ("TRUNCATE TABLE t", True),
        ("GRANT SELECT ON t TO analyst", True),
        ("SELECT 'x; DELETE FROM t' FROM t", False),
        ("SELECT * FROM t -- then DELETE FROM t", False),
        ("SELECT updated_at FROM deletes WHERE kind = 'drop table '", False),
        ("EXPLAIN DELETE FROM stores", False),
        ("delete from favourites", False),
        ("update address", False),
        ("Grant access to user_7", False),
        ("how to drop table legs (wood)", False),
        ("", False),
    ],
)
def test_statements_that_certainly_change_data_are_known(statement: str, changes: bool) -> None:
    assert changes_data({"q": statement}) == changes


@pytest.mark.parametrize(
    ("arguments", "is_secret"),
    [
        ({"resourceType": "secrets", "output": "yaml"}, True),
        ({"resource_type": "Secret", "name": "db"}, True),
        ({"kind": "secret/db"}, True),
        ({"types": ["pods", "secrets"]}, True),
        ({"resource": "pods,secrets"}, True),
        ({"table": "api_keys"}, True),
        ({"fields": ["id", "password_hash"]}, True),
        ({"columns": "id, passwd"}, True),
        ({"resourceType": "secrets", "output": "name"}, False),
        ({"resourceType": "pods", "name": "secrets"}, False),
        ({"text": "how to reset a password"}, False),
        ({"category": "password"}, False),
        ({"type": "token"}, False),
        ({"fields": ["id", "name"]}, False),
    ],
)
def test_a_structured_call_reads_a_secret_by_the_kind_or_the_columns_that_it_names(
    arguments: dict[str, Any], is_secret: bool
) -> None:
    assert reads_secret(arguments) == is_secret


def test_an_extra_write_that_is_allowed_is_answered_again_or_not_at_all() -> None:
    case = one(WRITE, tools={"refund": ToolRules(extra="allow")})
    static = one(WRITE, tools={"refund": ToolRules(extra="allow", on_missing="static", result={"ok": 1})})

    assert kinds(played(case, calls(write()), calls(write()), says("ok"))) == []
    assert kinds(played(case, calls(write()), calls(write("B")), says("ok"))) == [("unanswered_write", "refund", 0)]
    assert kinds(played(static, calls(write()), calls(write("B")), says("ok"))) == []


def test_a_disabled_step_answers_equal_arguments_and_is_no_extra() -> None:
    case = one(call("refund", {"order": "A-1"}, enabled=False))

    assert kinds(played(case, calls(write()), says("ok"))) == []
    assert [each.kind for each in played(case, calls(write("B")), says("ok")).violations] == ["unanswered_write"]


DEFINED = {None: frozenset(["get_policy", "refund"])}


def test_a_tool_that_the_recording_calls_and_the_draft_lost_is_named_once() -> None:
    turns = tuple(turn(str(n), WRITE, answer("ok"), offered_tools=("refund", "get_policy")) for n in range(2))
    draft = FakeDraft(tools=[ToolDefinition("get_policy")], versions=DEFINED)

    result = played(TestCase(turns=turns), says("ok"), says("ok"), draft=draft)
    allowed = TestCase(turns=turns, tools={"refund": ToolRules(lost="allow")})

    assert [(each.kind, each.tool, each.turn, each.arguments) for each in result.violations] == [
        ("lost_tool", "refund", 0, None)
    ]
    assert result.drift.tools == ("refund",)
    assert played(allowed, says("ok"), says("ok"), draft=draft).violations == ()


def test_a_tool_that_was_only_offered_is_drift_and_no_violation() -> None:
    case = TestCase(turns=(turn("?", answer("ok"), offered_tools=("refund", "get_policy")),))

    result = played(case, says("ok"), draft=FakeDraft(tools=[ToolDefinition("get_policy")], versions=DEFINED))

    assert (result.status, result.violations, result.drift.tools) == ("passed", (), ("refund",))


def test_a_draft_of_an_agent_that_owns_its_tools_can_lose_none() -> None:
    assert kinds(played(one(WRITE), calls(write()), says("ok"))) == []


@pytest.mark.parametrize(
    ("offered", "origin", "none"),
    [(None, "prompt", True), (("refund",), "prompt", True), (({"name": "refund"},), "recording", False)],
)
def test_recorded_tools_are_reported_as_offered_only_where_one_was(offered: Any, origin: str, none: bool) -> None:
    case = TestCase(turns=(turn("?", WRITE, answer("ok"), offered_tools=offered),))

    result = played(case, calls(write()), says("ok"))

    assert (result.offered_from, result.no_tools_defined) == (origin, none)
    defined = played(case, calls(write()), says("ok"), draft=FakeDraft(tools=[ToolDefinition("refund")]))
    assert (defined.offered_from, defined.no_tools_defined) == ("prompt", False)


def test_a_call_with_huge_arguments_has_a_message_of_bounded_length() -> None:
    result = played(one(WRITE), calls(("refund", {"order": "é\x00🙂" * 100_000})), says("ok"))

    assert len(result.violations[0].message) < 1_000
