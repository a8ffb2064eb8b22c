"""A call of a tool that sends any request, calls any tool or runs any operation reads only if that call does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat import ToolDefinition
from app.replay.call_effects import call_reads
from app.replay.case_types import ToolRules
from app.replay.effects import Tool, resolve

NAMES = ["http_request", "api_call", "call_api", "rest", "curl_tool", "solicitud_http", "anfrage", "requête"]
ADDRESSES = [
    {"path": "/reservas/RS-40817"},
    {"url": "https://api.example.com/v2/orders?status=open&page=2"},
    {"uri": "/orders/7/items"},
    {"endpoint": "orders/7"},
    {"base_url": "https://shop.example", "path": "/orders/7/invoice.pdf"},
    {"route": "/teams/5/schedule"},
    {"url": "https://api.example.com/search?q=cancel%20my%20order"},
    {"path": "/updates"},
]
METHODS = ["method", "http_method", "verb", "httpMethod"]
HARMLESS: list[dict[str, Any]] = [
    {},
    {"query": {"state": "open"}},
    {"params": {"limit": 10}, "timeout_s": 10},
    {"headers": {"Accept": "application/json"}},
    {"body": None},
    {"body": {}},
    {"json": "", "follow_redirects": True},
]
READS = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from(METHODS),
    st.sampled_from(["GET", "get", "HEAD", "OPTIONS", "Get"]),
    st.sampled_from(ADDRESSES),
    st.sampled_from(HARMLESS),
)


def tool(name: str, schema: dict[str, Any] | None = None, **rules: Any) -> Tool:
    definition = ToolDefinition(name=name, description="", parameters=schema or {})
    return resolve(name, ToolRules(**rules), definition, None)


@given(READS)
def test_a_request_with_a_safe_method_reads(request: tuple[str, str, str, dict[str, Any], dict[str, Any]]) -> None:
    name, key, method, address, others = request

    assert call_reads(name, {key: method, **address, **others}, runs_only=False)
    assert tool(name).called_with({key: method, **address, **others}).effect == "read"


@given(READS, st.sampled_from(["POST", "PUT", "PATCH", "DELETE", "post", "CONNECT", "PURGE", "GET,POST", "", "GETX"]))
def test_a_request_with_another_method_writes(
    request: tuple[str, str, str, dict[str, Any], dict[str, Any]], method: str
) -> None:
    name, key, _, address, others = request

    assert not call_reads(name, {key: method, **address, **others}, runs_only=False)
    assert not call_reads(name, {key: method, **address, **others}, runs_only=True)


@pytest.mark.parametrize(
    "more",
    [
        {"path": "/orders/7/delete"},
        {"path": "/orders/cancel/7"},
        {"path": "/jobs/7/restart"},
        {"path": "/api/chat.postMessage"},
        {"path": "/api/deleteOrder?id=7"},
        {"path": "/index.php?action=delete&id=7"},
        {"path": "/orders/7?_method=DELETE"},
        {"path": "/orders/7?do=remove"},
        {"path": "/cgi?cmd=reset"},
        {"path": "/unsubscribe?u=7"},
        {"path": "/orders/7%2Fdelete"},
        {"path": "/orders/7", "query": {"action": "cancel"}},
        {"path": "/orders/7", "params": {"_method": "DELETE"}},
        {"path": "/orders/7", "params": "op=delete"},
        {"path": "/orders/7", "headers": {"X-HTTP-Method-Override": "DELETE"}},
        {"path": "/orders/7", "headers": "x-http-method: PUT"},
        {"path": "/orders/7", "headers": [{"name": "X-Method-Override", "value": "PATCH"}]},
        {"path": "/orders/7", "body": {"state": "cancelled"}},
        {"path": "/orders/7", "data": "state=cancelled"},
        {"path": "/orders/7", "save_to": "/etc/hosts"},
        {"path": "/orders/7", "files": ["a"]},
        {"path": "/orders/7", "unknown": "x"},
        {"path": 7},
        {"path": ""},
        {"path": None},
        {"path": "/orders/" + "7" * 30_000},
        {"path": "/orders/7", "method": ["GET"]},
        {"path": "/orders/7", "Body": {"a": 1}, "body": ""},
        {"path": "/orders/7", "Params": {"action": "delete"}, "params": {}},
        {"path": "/orders/7", "http_method": "DELETE"},
        {"path": "/orders/7?x-http-method-override=DELETE"},
        {"path": "/orders/7?httpMethod=put"},
        {"path": "/orders?do%5B%5D=delete"},
        {"path": "/orders/bulk-delete"},
        {"path": "/jobs/7/kill"},
        {"path": "/cache/purge"},
        {"url": "gopher://redis:6379/_FLUSHALL"},
        {"url": "dict://redis:6379/flushall"},
        {},
    ],
)
def test_a_get_that_may_change_something_is_not_known_as_a_read(more: dict[str, Any]) -> None:
    assert not call_reads("http_request", {"method": "GET", **more}, runs_only=False)


def test_a_method_that_is_left_out_is_the_default_of_the_schema() -> None:
    def schema(default: str) -> dict[str, Any]:
        return {"properties": {"method": {"type": "string", "default": default}, "url": {"type": "string"}}}

    url = {"url": "https://api.example.com/orders"}

    assert tool("http_request", schema("GET")).called_with(url).effect == "read"
    assert tool("http_request", schema("POST")).called_with(url).effect == "write"
    assert tool("http_request").called_with(url).effect == "write"


def test_a_tool_that_fetches_writes_with_a_method_that_does() -> None:
    fetch = tool("fetch")

    assert fetch.called_with({"url": "https://a.example"}).effect == "read"
    assert fetch.called_with({"url": "https://a.example", "method": "GET"}).effect == "read"
    assert fetch.called_with({"url": "https://a.example", "method": "DELETE"}).effect == "write"
    assert fetch.called_with({"url": "https://a.example", "options": {"method": "get"}}).effect == "read"
    assert fetch.called_with({"url": "https://a.example", "options": {"method": "post", "body": "a"}}).effect == "write"


def test_a_search_that_is_posted_is_left_to_the_name_of_the_tool() -> None:
    posted = {"method": "POST", "path": "/orders/_search", "body": {"query": {"match_all": {}}}}

    assert tool("search_index").called_with(posted).effect == "read"
    assert tool("http_request").called_with(posted).effect == "write"


@pytest.mark.parametrize("effect", ["read", "write"])
def test_an_effect_that_a_person_has_set_holds_for_every_request(effect: Any) -> None:
    for method in ("GET", "POST"):
        request = {"method": method, "path": "/orders"}
        assert tool("http_request", effect=effect).called_with(request).effect == effect


def test_with_by_call_other_arguments_of_a_request_make_no_difference_but_for_what_is_sent() -> None:
    by_call = tool("http_request", effect="by_call")

    assert by_call.called_with({"method": "GET", "path": "/a", "tenant": "x"}).effect == "read"
    assert by_call.called_with({"method": "GET", "path": "/a", "payload": {"x": 1}}).effect == "write"
    assert by_call.called_with({"path": "/a"}).effect == "write"


GRAPHQL_READS = [
    "{ order(id: 7) { id state } }",
    "query { order(id: 7) { id } }",
    "query Order($id: ID!) { order(id: $id) { ...Parts } } fragment Parts on Order { id state }",
    "fragment Parts on Order { id } query Q { order(id: 7) { ...Parts } }",
    '# mutation\nquery { search(text: "mutation { deleteOrder }") { id } }',
    'query { search(text: """a " mutation } { """) { id } }',
    r'query { search(text: """a \""" mutation } { """, by: "") { id } }',
    "query A { a } query B { b }",
    "# a\r\nquery { b } # c\r{ d }",
    'query { a(x: "\\") { b } } mutation { c } #") }',
    "query Q @cached(ttl: 60) { mutation { id } }",
    "query Q($input: Filter = {mutation: true}) { orders(input: $input) { id } }",
]
GRAPHQL_WRITES = [
    "mutation { deleteOrder(id: 7) { id } }",
    "mutation Cancel($id: ID!) { cancel(id: $id) { id } }",
    "query Q { a } mutation M { b }",
    "{ a } mutation { b }",
    "subscription { orders { id } }",
    "fragment mutation on Order { id } mutation { b }",
    "# a\nmutation { b }",
    "query { a } # b\rmutation { c }",
    '{ a(b: "\r") } mutation { c } #") }',
    'query { a(text: "x" } mutation { b }',
    'query { a(text: """x" } mutation { b }',
    r'query { a(text: """x\""") { b } }',
    r'query { a(text: "x\") { b } }',
    "query { a",
    "query { a } }",
    "query",
    "fragment P on O { id }",
    "query { a } DELETE FROM t",
    "MUTATION { a }",
    "{" * 50_000,
    'query { a(x: "\\\\") { b } } mutation { c } #") }',
]


@pytest.mark.parametrize("document", GRAPHQL_READS)
@pytest.mark.parametrize("key", ["query", "document", "gql"])
def test_a_query_of_graphql_reads(document: str, key: str) -> None:
    arguments = {key: document, "variables": {"id": 7}, "operation_name": "Q"}

    assert call_reads("graphql", arguments, runs_only=False)
    assert call_reads("shop_api", arguments, runs_only=True)


@pytest.mark.parametrize("document", GRAPHQL_WRITES)
@pytest.mark.parametrize("key", ["query", "document", "gql"])
def test_other_documents_of_graphql_write(document: str, key: str) -> None:
    assert not call_reads("graphql", {key: document}, runs_only=False)
    assert not call_reads("graphql", {key: document}, runs_only=True)


def test_a_query_of_graphql_may_be_posted() -> None:
    request = {"method": "POST", "url": "https://shop.example/graphql"}
    tools = [tool("http_request"), tool("http_request", effect="by_call")]

    body: Any
    for body in ({"query": GRAPHQL_READS[1]}, '{"query": "{ order { id } }"}'):
        assert [one.called_with({**request, "body": body}).effect for one in tools] == ["read", "read"]
    for body in ({"query": GRAPHQL_WRITES[0]}, {"id": "persisted"}, [{"query": GRAPHQL_READS[1]}], "query { a }"):
        assert [one.called_with({**request, "body": body}).effect for one in tools] == ["write", "write"]


WRAPPED_READS: list[dict[str, Any]] = [
    {"tool": "get_order", "arguments": {"id": 7}},
    {"tool_name": "search_orders", "arguments": '{"text": "a"}'},
    {"toolName": "list-orders", "input": {}},
    {"server_name": "shop", "tool_name": "orders_lookup", "arguments": {}},
    {"function": "getOrder", "args": {"id": 7}},
    {"name": "mcp__shop__get_order", "arguments": {"id": 7}},
    {"method": "tools/call", "params": {"name": "get_order", "arguments": {"id": 7}}},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "find_order", "arguments": {}}},
    {"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": "a://b"}},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
    {"service": "shop.v1.Orders", "method": "GetOrder", "request": {"id": 7}},
    {"service": "shop.v1.Orders", "rpc": "ListOrders"},
    {"tool": "run_sql", "arguments": {"sql": "select 1 from t"}},
    {"tool": "http_request", "arguments": {"method": "GET", "path": "/orders/7"}},
]
WRAPPED_WRITES: list[dict[str, Any]] = [
    {"tool": "delete_order", "arguments": {"id": 7}},
    {"tool_name": "get_or_create_order", "arguments": {}},
    {"tool": "check_in", "arguments": {}},
    {"tool": "orders", "arguments": {}},
    {"tool": "getaway", "arguments": {}},
    {"tool": "", "arguments": {}},
    {"tool": None, "arguments": {}},
    {"tool": ["get_order"], "arguments": {}},
    {"tool": "get_order", "arguments": {"sql": "drop table t"}},
    {"tool": "get_order", "function": "delete_order", "arguments": {}},
    {"Tool": "delete_order", "tool": "get_order", "arguments": {}},
    {"method": "tools/call", "params": {"name": "cancel_order", "arguments": {}}},
    {"method": "tools/call", "params": {"arguments": {}}},
    {"method": "tools/call", "params": [1]},
    {"method": "tools/call", "name": "get_order"},
    {"jsonrpc": "2.0", "method": "resources/subscribe", "params": {"uri": "a://b"}},
    {"jsonrpc": "2.0", "method": "orders.delete", "params": {"id": 7}},
    {"service": "shop.v1.Orders", "method": "DeleteOrder", "request": {"id": 7}},
    {"tool": "run_sql", "arguments": {"sql": "delete from t"}},
    {"tool": "http_request", "arguments": {"method": "POST", "path": "/orders"}},
    {"tool": "call_tool", "arguments": {"tool": "call_tool", "arguments": {"tool": "call_tool", "arguments": {}}}},
]


@pytest.mark.parametrize("arguments", WRAPPED_READS)
def test_a_call_that_is_handed_to_another_tool_reads_if_that_tool_does(arguments: dict[str, Any]) -> None:
    assert tool("call_tool").called_with(arguments).effect == "read"


@pytest.mark.parametrize("arguments", WRAPPED_WRITES)
def test_a_call_that_is_handed_to_a_tool_not_known_as_a_read_writes(arguments: dict[str, Any]) -> None:
    assert tool("call_tool").called_with(arguments).effect == "write"
    assert tool("call_tool", effect="by_call").called_with(arguments).effect == "write"


def test_calls_in_calls_without_end_are_writes() -> None:
    arguments: dict[str, Any] = {"tool": "get_order", "arguments": {}}
    for _ in range(2_000):
        arguments = {"tool": "call_tool", "arguments": arguments}

    assert tool("call_tool").called_with(arguments).effect == "write"


@pytest.mark.parametrize("key", ["action", "operation", "op", "subCommand"])
@pytest.mark.parametrize(
    ("value", "more", "effect"),
    [
        ("list", {}, "read"),
        ("get", {"id": 7}, "read"),
        ("search", {"text": "a"}, "read"),
        ("GET_EVENT", {"id": 7}, "read"),
        ("describe", {}, "read"),
        ("screenshot", {}, "read"),
        ("preview_run", {"period": "2026-11"}, "read"),
        ("history", {"name": "web"}, "read"),
        ("status", {"id": 7}, "read"),
        ("status", {"id": 7, "status": "closed"}, "write"),
        ("list", {"status": "closed"}, "read"),
        ("snapshot", {"id": 7}, "write"),
        ("get", {"id": 7, "transition": "close"}, "write"),
        ("undo", {"name": "web"}, "write"),
        ("delete", {"id": 7}, "write"),
        ("create", {"title": "a"}, "write"),
        ("mark_read", {"id": 7}, "write"),
        ("read", {"id": 7}, "write"),
        ("check", {"id": 7}, "write"),
        ("list", {"price": 7}, "write"),
        ("get", {"set": {"a": 1}}, "write"),
        ("click", {"x": 1, "y": 2}, "write"),
        ("list_and_delete", {}, "write"),
        ("", {}, "write"),
        (7, {}, "write"),
    ],
)
def test_the_operation_of_a_tool_for_several_decides(key: str, value: Any, more: dict[str, Any], effect: str) -> None:
    assert tool("calendar").called_with({key: value, **more}).effect == effect


def test_an_operation_may_be_a_filter_of_a_tool_that_is_named_for_a_read() -> None:
    assert tool("search_index").called_with({"operation": "AND", "text": "a"}).effect == "read"
    assert tool("get_log").called_with({"action": "delete"}).effect == "read"  # entries about deletions


EDITOR = ToolDefinition(
    "str_replace_based_edit_tool",
    parameters={"properties": {"command": {"enum": ["view", "create", "str_replace"]}, "path": {"type": "string"}}},
)


@pytest.mark.parametrize(
    ("arguments", "effect"),
    [
        ({"command": "view", "path": "/a.py", "view_range": [1, 20]}, "read"),
        ({"command": "create", "path": "/a.py", "file_text": "x"}, "write"),
        ({"command": "str_replace", "path": "/a.py", "old_str": "a", "new_str": "b"}, "write"),
        ({"command": "view", "path": "/a.py", "content": "x"}, "write"),
        ({"command": "show", "path": "/a.py"}, "write"),  # the schema does not list it
        ({"command": "view", "action": "get", "path": "/a.py"}, "write"),
        ({"path": "/a.py"}, "write"),
    ],
)
def test_an_operation_that_the_schema_lists_decides_whatever_the_tool_is_named(
    arguments: dict[str, Any], effect: str
) -> None:
    assert resolve(EDITOR.name, ToolRules(), EDITOR, None).called_with(arguments).effect == effect
    assert tool(EDITOR.name).called_with(arguments).effect == "write"


def test_a_listed_command_of_a_shell_stays_one_of_a_shell() -> None:
    shell = ToolDefinition("run", parameters={"properties": {"command": {"enum": ["df -h", "reboot"]}}})
    found = [
        resolve("run", ToolRules(), shell, None).called_with({"command": text}).effect for text in ("df -h", "reboot")
    ]
    assert found == ["read", "write"]


@pytest.mark.parametrize("name", ["execute_method", "execute_kw", "odoo", "call_model"])
@pytest.mark.parametrize(
    ("method", "more", "effect"),
    [
        ("search_read", {"args": [[["state", "=", "sale"]]], "kwargs": {"limit": 5}}, "read"),
        ("read", {"args": [[4], ["name"]]}, "read"),
        ("search_count", {}, "read"),
        ("fields_get", {}, "read"),
        ("write", {"args": [[4], {"name": "a"}]}, "write"),
        ("unlink", {"args": [[4]]}, "write"),
        ("name_create", {"args": ["a"]}, "write"),
        ("check_availability", {"args": [[4]]}, "write"),
        ("read", {"values": {"name": "a"}}, "write"),
        ("search_and_unlink", {}, "write"),
        (["read"], {}, "write"),
    ],
)
def test_a_method_of_a_model_reads_if_all_models_have_it_for_that(
    name: str, method: Any, more: dict[str, Any], effect: str
) -> None:
    assert tool(name).called_with({"model": "sale.order", "method": method, **more}).effect == effect
    assert tool("delete_rows").called_with({"model": "sale.order", "method": method, **more}).effect == "write"
    assert tool(name).called_with({"model": 7, "method": method, **more}).effect == "write"


@pytest.mark.parametrize(
    ("command", "effect"),
    [("HGETALL user:1", "read"), ("get a", "read"), ("GETDEL a", "write"), ("DEL a", "write"), ("FLUSHALL", "write")],
)
def test_a_command_of_a_tool_that_is_named_after_redis_is_one_of_its_client(command: str, effect: str) -> None:
    assert tool("redis_command").called_with({"command": command}).effect == effect
    assert tool("redis").called_with({"command": command}).effect == effect
    assert tool("runner").called_with({"command": command}).effect == "write"


@pytest.mark.parametrize(
    ("query", "effect"),
    [
        ("SHOW TABLES", "read"),
        ("describe orders", "read"),
        ("PRAGMA table_info(orders)", "read"),
        ("VALUES (1, 2)", "read"),
        ("explain select 1", "read"),
        ("PRAGMA journal_mode = WAL", "write"),
        ("show tables; drop table a", "write"),
        ("explain analyze with a as (delete from b) select 1", "write"),
        ("show me my orders", "write"),
        ("describe the orders", "write"),
    ],
)
def test_a_listing_is_a_statement_for_a_tool_that_is_named_after_a_database(query: str, effect: str) -> None:
    assert tool("execute_sql").called_with({"query": query}).effect == effect
    assert tool("postgres_runner").called_with({"query": query}).effect == effect
    assert tool("assistant").called_with({"query": query}).effect == "write"


def test_a_request_to_a_host_with_many_combining_marks_in_a_row_does_not_read() -> None:
    arguments = {"method": "GET", "url": "https://shop.example/orders"}
    dear = {**arguments, "url": f"https://a{chr(0x344) * 40}.example/orders"}

    assert call_reads("http_request", arguments, runs_only=False)
    assert not call_reads("http_request", dear, runs_only=False)
