"""Requests that are refused: what is wrong is named, nothing is written, and no body whatever breaks the server."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.backends import SQLITE_CONTAINER
from tests.support.world import World, new_world

PROMPTS = "/api/v1/prompts"
VALUE = {"name": "a", "content": "b"}


def placeholder(**changed: Any) -> dict[str, Any]:
    return {"key": "k", "values": [VALUE], **changed}


def config(**keys: Any) -> dict[str, Any]:
    return {"languageModelName": "gpt-4o", "languageModelConfig": keys}


def tool(**changed: Any) -> dict[str, Any]:
    return config(tools=[{"name": "t", "parameters": {"type": "object"}, **changed}])


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


# The fields sent with a valid name and text (None: left out), and the beginning of the message.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": None}, "name: "),
    ({"name": ""}, "name: "),
    ({"name": " \u2003 "}, "name: "),
    ({"name": "x" * 129}, "name: "),
    ({"name": 7}, "name: "),
    ({"name": "a\0b"}, "name: "),
    ({"value": None}, "value: "),
    ({"value": ["x"]}, "value: "),
    ({"value": "\0"}, "value: "),
    ({"extra": 1}, "extra: Unknown field."),
    ({"instructionFormat": "xml"}, "instructionFormat: "),
    ({"instructionFormat": 5}, "instructionFormat: "),
    ({"languageModelName": "no-such-model"}, "languageModelName: "),
    ({"languageModelName": "echo "}, "languageModelName: "),
    ({"languageModelName": ""}, "languageModelName: "),
    ({"languageModelConfig": []}, "languageModelConfig: "),
    (config(temprature=1), "languageModelConfig.temprature: Unknown field."),
    (config(temperature=2.1), "languageModelConfig.temperature: gpt-4o accepts 0 to 2."),
    (config(temperature=-0.1), "languageModelConfig.temperature: "),
    (config(temperature="1"), "languageModelConfig.temperature: "),
    (config(temperature=True), "languageModelConfig.temperature: "),
    (config(temperature=None), "languageModelConfig.temperature: "),
    (config(max_tokens=0), "languageModelConfig.max_tokens: "),
    (config(max_tokens=16_385), "languageModelConfig.max_tokens: gpt-4o accepts 1 to 16384."),
    (config(max_tokens=1.5), "languageModelConfig.max_tokens: "),
    (config(max_tokens="10"), "languageModelConfig.max_tokens: "),
    (config(max_tokens=10**30), "languageModelConfig.max_tokens: "),
    (config(top_p=1.01), "languageModelConfig.top_p: "),
    (config(seed=2**63), "languageModelConfig.seed: "),
    (config(stop="x"), "languageModelConfig.stop: "),
    (config(stop=["x"] * 17), "languageModelConfig.stop: "),
    (config(stop=[""]), "languageModelConfig.stop.0: "),
    (config(reasoning_effort="huge"), "languageModelConfig.reasoning_effort: "),
    (config(response_format="json"), "languageModelConfig.response_format: "),
    (config(response_format={"type": "text"}), "languageModelConfig.response_format: "),
    (config(response_format="json_schema"), "languageModelConfig.json_schema: Is required"),
    (config(json_schema={"type": "array"}), "languageModelConfig.json_schema: "),
    (config(json_schema="{}"), "languageModelConfig.json_schema: "),
    (config(tools={}), "languageModelConfig.tools: "),
    (config(tools=[1]), "languageModelConfig.tools.0: "),
    (config(tools=[{}]), "languageModelConfig.tools.0.name: "),
    (config(tools=[{"name": "t"}] * 2), "languageModelConfig.tools: More than one tool is named 't'."),
    (config(tools=[{"name": str(n)} for n in range(129)]), "languageModelConfig.tools: "),
    (tool(name="with space"), "languageModelConfig.tools.0.name: "),
    (tool(strict="true"), "languageModelConfig.tools.0.strict: "),
    (tool(parameters={"type": "strnig"}), "languageModelConfig.tools.0.parameters: "),
    (tool(parameters={"type": "object", "properties": []}), "languageModelConfig.tools.0.parameters: Is not a valid"),
    (
        tool(parameters={"type": "object", "$defs": {"a": {"type": 1}}}),
        "languageModelConfig.tools.0.parameters: Is not",
    ),
    (tool(parameters={"type": "object", "title": "\0"}), "languageModelConfig.tools.0.parameters: Must not contain"),
    (tool(parameters=deep(100)), "languageModelConfig.tools.0.parameters: Must not be nested"),
    (config(tools=[{"type": "x", "function": {"name": "t"}}]), "languageModelConfig.tools.0.type: "),
    (config(tools=[{"type": "function", "function": {}}]), "languageModelConfig.tools.0.function.name: "),
    *(
        (config(tools=[{"type": "function", "function": {"name": "t"}, **more}]), f"languageModelConfig.tools.0.{path}")
        for more, path in (
            ({"effect": "delete"}, "effect: "),
            ({"annotations": {"readOnlyHint": "yes"}}, "annotations.readOnlyHint: "),
            ({"strict": True}, "strict: Unknown field."),
        )
    ),
    (
        config(tools=[{"type": "function", "function": {"name": "t", "effect": "read"}, "effect": "read"}]),
        "languageModelConfig.tools.0.effect: Must not also be in function.",
    ),
    ({"placeholders": {}}, "placeholders: "),
    ({"placeholders": [1]}, "placeholders.0: "),
    ({"placeholders": [placeholder(key="a b")]}, "placeholders.0.key: "),
    ({"placeholders": [placeholder(key="a\n")]}, "placeholders.0.key: "),
    ({"placeholders": [placeholder(key="ключ")]}, "placeholders.0.key: "),
    ({"placeholders": [placeholder(key="k" * 65)]}, "placeholders.0.key: "),
    ({"placeholders": [placeholder(key="")]}, "placeholders.0.key: "),
    ({"placeholders": [placeholder()] * 2}, "placeholders: More than one placeholder has the key 'k'."),
    ({"placeholders": [placeholder(key=f"k{n}") for n in range(101)]}, "placeholders: "),
    ({"placeholders": [placeholder(description="x" * 501)]}, "placeholders.0.description: "),
    ({"placeholders": [placeholder(values=[])]}, "placeholders.0.values: Must have 1 to 100 entries."),
    (
        {"placeholders": [placeholder(values=[{**VALUE, "name": str(n)} for n in range(101)])]},
        "placeholders.0.values: ",
    ),
    ({"placeholders": [placeholder(values=[VALUE, VALUE])]}, "placeholders.0.values: More than one value"),
    (
        {"placeholders": [placeholder(values=[{"name": n, "content": "", "isDefault": True} for n in "ab"])]},
        "placeholders.0.values: At most one",
    ),
    ({"placeholders": [placeholder(values=[{"name": "a"}])]}, "placeholders.0.values.0.content: "),
    ({"placeholders": [placeholder(values=[{**VALUE, "name": "x" * 256}])]}, "placeholders.0.values.0.name: "),
    ({"placeholders": [placeholder(values=[{**VALUE, "isDefault": 1}])]}, "placeholders.0.values.0.isDefault: "),
    (
        {"value": "{{k}}" * 1000, "placeholders": [placeholder(values=[{"name": "a", "content": "x" * 10_000}])]},
        "placeholders: Filled in",
    ),
]


@SQLITE_CONTAINER
@pytest.mark.parametrize(("sent", "message"), REFUSED)
def test_the_message_names_the_field(world: World, sent: dict[str, Any], message: str) -> None:
    body = {key: value for key, value in {"name": "n", "value": "v", **sent}.items() if value is not None}
    answer = world.post(PROMPTS, json=body)
    assert answer.status_code == 400
    assert list(answer.json) == ["error"]
    assert answer.json["error"].startswith(message)
    assert world.count("prompts") == 0


@SQLITE_CONTAINER
@pytest.mark.parametrize(("sent", "message"), [(s, m) for s, m in REFUSED if "languageModelConfig" in s])
def test_an_edit_is_held_to_the_same_rules(world: World, sent: dict[str, Any], message: str) -> None:
    path = f"{PROMPTS}/{world.prompt()}"
    answer = world.patch(path, json=sent)
    assert (answer.status_code, answer.json["error"][: len(message)]) == (400, message)
    assert world.get(path).headers["ETag"].startswith('"1.')


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'"name"', 400),
        (b'{"name": "\\ud800", "value": "v"}', 400),
        (b'{"name": "\xff", "value": "v"}', 400),
        (b'{"name": "n", "value": NaN}', 400),
        (b"[" * 100_000, 400),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, 400),
        (b'{"placeholders": [' + b"1," * 500_000 + b"1]}", 400),
        (b"{" + b",".join(b'"k%d": 1' % n for n in range(50_000)) + b"}", 400),
        (json.dumps({"name": "n", "value": "v" * 2**21}).encode(), 413),
    ],
)
def test_bodies_that_are_none(world: World, body: bytes, status: int) -> None:
    for answer in (
        world.post(PROMPTS, body=body, headers={"Content-Type": "application/json"}),
        world.patch(f"{PROMPTS}/{world.prompt()}", body=body, headers={"Content-Type": "application/json"}),
    ):
        assert answer.status_code == status
        assert len(answer.json["error"]) < 10_000


def test_only_json_is_taken(world: World) -> None:
    answer = world.post(PROMPTS, body=b"name=n", headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 415


@pytest.mark.parametrize(
    "query",
    [
        *("productive=maybe", "productive=", "productive=true&productive=false", "commitHash=%00", "other=1"),
        *("limit=0", "limit=501", "limit=x", "limit=-1", "cursor=x", "cursor=0", "cursor=1.5", "search=%00"),
    ],
)
def test_bad_queries(world: World, query: str) -> None:
    is_list = query.partition("=")[0] in {"limit", "cursor", "search"}
    path = PROMPTS if is_list else f"{PROMPTS}/{world.prompt()}"
    answer = world.get(path, query_string=query)
    assert answer.status_code == 400
    assert answer.json["error"].startswith(query.partition("=")[0])


@pytest.mark.parametrize(
    "body",
    [
        *({"productive": "false"}, {"productive": 0}, {"productive": None}, {"placeholders": []}, {"commitHash": 1}),
        *({"placeholders": {"a": None}}, {"placeholders": {"a": 1}}, {"placeholders": {"a": "\0"}}, {"x": 1}, []),
    ],
)
def test_bad_render_bodies(world: World, body: Any) -> None:
    assert world.post(f"{PROMPTS}/{world.prompt()}/render", json=body).status_code == 400


@pytest.mark.parametrize("which", ["0", "-1", "x", "1.5", str(2**63), "9" * 400, "%00", "%ff", "1%20"])
def test_ids_that_are_none_are_not_found(world: World, which: str) -> None:
    answer = world.get(f"{PROMPTS}/{which}")
    assert answer.status_code == 404
    assert list(answer.json) == ["error"]


@pytest.mark.parametrize("prefix", ["+", "0_", "\u0660", "%20"])
def test_an_id_that_only_python_can_read_is_unknown(world: World, prefix: str) -> None:
    prompt_id = world.prompt()

    assert world.get(f"{PROMPTS}/{prefix}{prompt_id}").status_code == 404
    assert world.get(f"{PROMPTS}/{prompt_id}").status_code == 200


@SQLITE_CONTAINER
@pytest.mark.parametrize("which", ["x", "%00", "%ff%ed%a0%80", "A" * 64, "0" * 64, "🦊"])
def test_hashes_that_are_none_are_not_found(world: World, which: str) -> None:
    path = f"{PROMPTS}/{world.prompt()}"
    assert world.get(f"{path}/versions/{which}").status_code == 404
    assert world.post(f"{path}/versions/{which}/restore").status_code == 404
    assert world.post(f"{path}/render", json={"commitHash": "x"}).status_code == 404


def test_a_commit_message_has_a_limit(world: World) -> None:
    path = f"{PROMPTS}/{world.prompt()}/commit"
    for body in ({"message": "x" * 501}, {"message": None}, {"note": ""}, []):
        assert world.post(path, json=body).status_code == 400
    assert world.post(path, json={"message": "x" * 500}).status_code == 201


def test_a_key_for_reading_may_render_and_change_nothing(world: World) -> None:
    prompt_id = world.prompt()
    secret = world.container.services.keys.create(
        project_id=world.project_id, name="r", scopes=frozenset({"read"})
    ).secret
    headers = {"Authorization": f"Bearer {secret}"}
    assert world.post(f"{PROMPTS}/{prompt_id}/render", headers=headers).status_code == 200
    assert world.post(PROMPTS, json={"name": "n", "value": "v"}, headers=headers).status_code == 403
    assert world.post(f"{PROMPTS}/{prompt_id}/commit", headers=headers).status_code == 403
    assert world.delete(f"{PROMPTS}/{prompt_id}", headers=headers).status_code == 403


@SQLITE_CONTAINER
def test_methods_that_are_not_there(world: World) -> None:
    assert world.delete(PROMPTS).status_code == 405
    assert world.get(f"{PROMPTS}/{world.prompt()}/commit").status_code == 405


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
schemas = st.fixed_dictionaries(
    {"type": st.just("object") | anything},
    optional={"properties": anything, "$ref": anything, "$schema": anything, "pattern": anything, "required": anything},
)
tools = st.fixed_dictionaries(
    {"name": st.sampled_from(["t", "u"]) | anything},
    optional={"parameters": schemas | anything, "function": anything, "strict": anything},
)
configs = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.lists(tools | anything, max_size=3) | anything,
        "json_schema": schemas | anything,
        **dict.fromkeys(("max_tokens", "temperature", "response_format", "stop", "seed", "top_p"), anything),
    },
)
bodies = anything | st.fixed_dictionaries(
    {"name": st.text(max_size=140) | anything, "value": st.text(max_size=40) | st.just("{{k}}") | anything},
    optional={
        "placeholders": st.lists(
            st.fixed_dictionaries({"key": st.just("k") | anything, "values": st.just([VALUE]) | anything}), max_size=2
        )
        | anything,
        "languageModelConfig": configs | anything,
        **dict.fromkeys(("languageModelName", "instructionFormat", "commitHash", "message", "productive"), anything),
    },
)


@pytest.mark.parametrize("path", ["", "/{id}", "/{id}/render", "/{id}/commit"])
def test_no_body_breaks_the_server(world: World, path: str) -> None:
    prompt_id = world.prompt()
    method = "PATCH" if path == "/{id}" else "POST"

    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(bodies)
    def send(body: Any) -> None:
        encoded = json.dumps(body).encode()
        headers = world.headers | {"Content-Type": "application/json"}
        url = PROMPTS + path.format(id=prompt_id)
        answer = world.client.simulate_request(method, url, body=encoded, headers=headers)
        assert answer.status_code in {200, 201, 400, 404, 409}, answer.text
        assert answer.status_code < 400 or list(answer.json) == ["error"]

    send()


def test_what_another_organization_made_of_a_model_is_its_own(world: World) -> None:
    models, other = world.container.services.models, new_world(world.container)
    echo = next(m for m in models.list(organization_id=world.organization_id) if m.name == "echo")
    models.choose(organization_id=other.organization_id, model_id=echo.id, disabled=True)
    assert other.post(PROMPTS, json={"name": "n", "value": "v"}).status_code == 400
    assert world.post(PROMPTS, json={"name": "n", "value": "v"}).status_code == 201
