"""Tools that act on the world are found, and the rules for them follow."""

from typing import Any

import pytest

from app.chat import ToolDefinition
from app.errors import Invalid
from app.replay.case_types import TestCase, ToolRules
from app.replay.effects import defined_tools, require_usable, resolve, tools_of
from app.replay.tool_names import effect_of_name
from tests.support.growth import work_by_function
from tests.unit.replay.fakes import call, turn


@pytest.mark.parametrize(
    "name",
    [
        "get_order",
        "GET_ORDER",
        "getOrder",
        "get-order",
        "get",
        "listOrders",
        "lookUp",
        "look_up",
        "lookup",
        "lookup_order",
        "search",
        "find",
        "read",
        "fetch",
        "queryDb",
        "check_stock",
        "count",
        "describe",
        "show",
        "view",
        "load_skill",
        "loadSkills",
        "skills.load_skill",
        "mcp__skills__load_skill",
        "load_memory",
        "read_skill_resource",
        "shop.get_x",
        "mcp__shop__get_x",
        "shop/get_x",
        "shop:getX",
        "get.order",
        "get.transfer",
        "list.orders",
        "search/products",
        "mcp__shop__inventory__list_items",
        "Get_orders",
        "get order",
        "grep_code",
        "web_lookup",
        "kb_search",
        "order_get",
        "visits_list",
        "drive_read_file",
        "gmail_search_messages",
        "kubectl_logs",
        "docker_ps",
        "helm_status",
        "jaego_johoe",
        "danh_sach_to_khai",
        "sök_titel",
        "hamta_lantagare",
        "hent_kunde",
    ],
)
def test_the_first_word_of_a_name_shows_that_a_tool_reads(name: str) -> None:
    assert effect_of_name(name) == "read"


@pytest.mark.parametrize(
    "name",
    [
        "getaway",
        "save_search",
        "reset_lookup",
        "order_close_lookup",
        "refund_order",
        "checkout",
        "check_in_guest",
        "check.out",
        "searcher",
        "listen",
        "readjust",
        "viewpoint",
        "send_get",
        "widget",
        "mcp__get__refund",
        "search.delete",
        "search.transfer",
        "list.archive",
        "query__deactivate",
        "view.approve",
        "find.pay",
        "list/transfer_funds",
        "list:add_item",
        "shop.refund",
        "gets",
        "_",
        ".",
        "__",
        "123",
        "办理",
        "",
        "load",
        "load_truck",
        "load_skill_and_delete",
        "search_and_destroy",
        "find_or_provision_host",
        "list_then_purge",
        "mailing_list",
        "orders_list_delete",
        "message_read",
        "mark_read",
        "mail_read",
        "file_get_share",
        "file_share_get",
        "list_delete",
        "list_add_item",
        "list_item_remove",
        "view_create",
        "query_execute",
        "find_replace",
        "search_replace",
        "lookup_table_update",
        "kill_query",
        "abort_query",
        "clear_search",
        "get_and_increment",
        "compare_and_swap",
        "fetch_and_destroy",
        "fetch_and_store",
        "check_and_fix",
        "check_off_item",
        "kubectl_delete",
        "kubectl_rollout",
        "docker_rm",
        "git_push",
    ],
)
def test_an_unknown_name_is_assumed_to_write(name: str) -> None:
    assert effect_of_name(name) is None
    assert resolve(name, ToolRules(), None, None).effect == "write"


def definition(effect: Any = None, annotations: Any = None) -> ToolDefinition:
    return ToolDefinition("get_x", effect=effect, annotations=annotations)


@pytest.mark.parametrize(
    ("rules", "defined", "recorded", "expected"),
    [
        (ToolRules(effect="write"), definition("read"), None, ("write", "test_case")),
        (ToolRules(), definition("write", {"readOnlyHint": True}), None, ("write", "prompt")),
        (ToolRules(), definition(None, {"readOnlyHint": False}), None, ("write", "annotation")),
        (ToolRules(), definition(None, {"destructiveHint": True}), None, ("write", "annotation")),
        (ToolRules(), definition(None, {"destructiveHint": False}), None, ("read", "name")),
        (ToolRules(), definition(), {"annotations": {"readOnlyHint": False}}, ("write", "annotation")),
        (ToolRules(), None, {"function": {"annotations": {"destructiveHint": True}}}, ("write", "annotation")),
        (ToolRules(), None, {"annotations": "odd"}, ("read", "name")),
        (ToolRules(), None, None, ("read", "name")),
    ],
)
def test_the_first_source_that_knows_the_effect_counts(rules: Any, defined: Any, recorded: Any, expected: Any) -> None:
    tool = resolve("get_x", rules, defined, recorded)

    assert (tool.effect, tool.effect_from) == expected


READING, CHANGING, OTHER = {"sql": "select a from b"}, {"sql": "delete from b"}, {"text": "select a from b"}


@pytest.mark.parametrize(
    ("rules", "defined", "by_call"),
    [
        (ToolRules(effect="by_call"), None, "read write write"),
        (ToolRules(), definition("by_call"), "read write write"),
        (ToolRules(), None, "read write write"),
        (ToolRules(), definition(None, {"destructiveHint": True}), "read write write"),
        (ToolRules(effect="write"), definition("by_call"), "write write write"),
        (ToolRules(), definition("write"), "write write write"),
        (ToolRules(effect="read"), definition("by_call"), "read read read"),
        (ToolRules(), definition("read"), "read read read"),
        (ToolRules(), definition(None, {"readOnlyHint": True}), "read read read"),
    ],
)
def test_a_statement_decides_unless_a_person_has_set_read_or_write(rules: Any, defined: Any, by_call: str) -> None:
    tool = resolve("run", rules, defined, None)

    assert [tool.called_with(arguments).effect for arguments in (READING, CHANGING, OTHER)] == by_call.split()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("read_file", {"path": "a", "mode": "w", "content": "b"}, "write"),
        ("read_file", {"path": "a", "mode": "rb"}, "read"),
        ("get_page", {"url": "https://a.example", "script": "document.forms[0].submit()"}, "write"),
        ("get_directions", {"mode": "walking", "script": "latin"}, "read"),
        ("query_db", {"query": "CALL refund_order(17)"}, "write"),
        ("query_db", {"query": "EXEC dbo.refund 17"}, "write"),
        ("query_db", {"query": "vacuum"}, "write"),
        ("query_db", {"query": "PRAGMA journal_mode = DELETE"}, "write"),
        ("query_db", {"query": "PRAGMA table_info(a)"}, "read"),
        ("query_db", {"query": "call center opening hours"}, "read"),
        ("read_neo4j_cypher", {"query": "MATCH (n:Order) DETACH DELETE n"}, "write"),
        ("read_neo4j_cypher", {"query": "MATCH (n) WHERE n.id = 5 SET n.state = 'paid'"}, "write"),
        ("read_neo4j_cypher", {"query": "MATCH (n:Set {create: 5})-[:CREATED]->(m) RETURN m"}, "read"),
        ("query_graph", {"cypher": "create (n:Order)"}, "write"),
        ("query_sparql", {"query": "PREFIX a: <b> DELETE WHERE {?s ?p ?o}"}, "write"),
        ("query_sparql", {"query": "SELECT * WHERE {?s ?p ?o}"}, "read"),
        ("query_kusto", {"query": ".drop table orders"}, "write"),
        ("query_kusto", {"query": ".show tables"}, "read"),
        ("query_docs", {"query": ".net core"}, "read"),
    ],
)
def test_what_a_call_hands_over_decides_though_the_name_of_its_tool_reads(
    name: str, arguments: dict[str, Any], expected: str
) -> None:
    assert resolve(name, ToolRules(), None, None).called_with(arguments).effect == expected


def test_a_tool_that_is_decided_by_each_call_keeps_that_from_the_words_of_its_name() -> None:
    tool = resolve("get_rows", ToolRules(effect="by_call"), None, None)

    assert (tool.declared, tool.effect, tool.effect_from) == ("by_call", "write", "test_case")
    assert tool.called_with({"command": "ls"}).effect == "read"
    assert tool.called_with({"id": 1}).effect == "write"


@pytest.mark.parametrize(("extra", "expected"), [(None, ("allow", "fail")), ("fail", ("fail", "fail"))])
def test_further_calls_are_allowed_by_the_effect_of_each(extra: Any, expected: tuple[str, str]) -> None:
    tool = resolve("run", ToolRules(effect="by_call", extra=extra), None, None)

    assert (tool.called_with(READING).extra, tool.called_with(CHANGING).extra) == expected


def test_a_call_that_reads_may_be_simulated_and_one_that_writes_is_not() -> None:
    tool = resolve("run", ToolRules(effect="by_call", on_missing="simulate"), None, None)

    require_usable({"run": tool})

    assert tool.called_with(READING).if_unanswered("error") == "simulate"
    assert tool.called_with(CHANGING).if_unanswered("error") == "error"


def test_writes_may_not_be_called_more_often_and_reads_may() -> None:
    assert resolve("pay", ToolRules(), None, None).extra == "fail"
    assert resolve("get", ToolRules(), None, None).extra == "allow"
    assert resolve("pay", ToolRules(extra="allow"), None, None).extra == "allow"


def test_a_write_is_never_answered_with_another_call_s_result_or_an_imagined_one() -> None:
    write, read = (resolve(name, ToolRules(), None, None) for name in ("pay", "get"))

    assert [write.if_unanswered(each) for each in ("nearest", "simulate", "stop", "static")] == [
        "error",
        "error",
        "stop",
        "static",
    ]
    assert read.if_unanswered("nearest") == "nearest"
    tools = {"pay": resolve("pay", ToolRules(on_missing="simulate"), None, None)}
    with pytest.raises(Invalid, match=r"tools\.pay\.onMissing: simulate is for tools that read"):
        require_usable(tools)


def test_tools_are_those_of_the_case_the_recording_and_the_prompt() -> None:
    recorded = turn("?", call("called"), offered_tools=("named", {"name": "described", "description": "x"}))
    case = TestCase(turns=(recorded,), tools={"ruled": ToolRules(never=True)})

    assert sorted(tools_of(case, [ToolDefinition("defined")])) == ["called", "defined", "described", "named", "ruled"]


def test_the_tools_of_a_prompt_are_resolved_once_for_all_of_its_test_cases() -> None:
    defined = [ToolDefinition(f"get_{n}") for n in range(20)]
    recorded = turn("?", call("called"), offered_tools=("get_1", {"name": "get_2", "readOnlyHint": False}))
    case = TestCase(turns=(recorded,), tools={"get_3": ToolRules(effect="write")})
    resolved = defined_tools(defined)

    work = work_by_function(lambda: tools_of(case, defined, resolved))

    assert tools_of(case, defined, resolved) == tools_of(case, defined)
    assert work["replay/effects:resolve"] <= work_by_function(lambda: tools_of(case, ()))["replay/effects:resolve"]
