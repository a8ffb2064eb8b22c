"""Requests to the API: everywhere the largest body in each shape, and what else is dear where it is."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from app.api.operation import operation_of
from app.http.bodies import BODY_ELEMENTS_MAX
from app.http.route_table import RoutedApp
from app.schemas.prompts import VALUE_MAX
from bench.worst import texts
from bench.worst.case import Ask, Case, sends, worst
from bench.worst.stage import Stage

PROMPT, RUN = "/api/v1/prompts/{prompt_id}", "POST /api/v1/prompts/run"
LABEL = f"{PROMPT}/labels/{{label}}"


def of_bodies(app: RoutedApp) -> Iterator[Case]:
    """For each operation that accepts JSON: the largest body in each shape, as a whole and in each of its fields."""
    shapes = texts.json_shapes()
    for route in app.routes:
        for method, responder in route.responders.items():
            about = operation_of(responder)
            if about is None or about.body is None or "otel" in route.path:
                continue
            names = [field.data_key or name for name, field in about.body().fields.items()]
            for shape, value in shapes.items():
                yield _body(f"{method} {route.path}", shape, value)
                for name in names:
                    yield _body(f"{method} {route.path}", f"{name}: {shape}", b'{"%s":%s}' % (name.encode(), value))


def _body(route: str, name: str, body: bytes) -> Case:
    return Case(route, f"2 MB, {name}", lambda _stage: Ask(body=body))


def _markdown(shape: str) -> None:
    text = texts.filled_with(texts.MARKDOWN[shape], VALUE_MAX)
    words = f"{VALUE_MAX:,} characters of {shape}"

    @worst("POST /api/v1/prompts", words)
    def create(_stage: Stage) -> Ask:
        return sends({"name": "Worst", "value": text})

    @worst(f"PATCH {PROMPT}", words)
    def change(_stage: Stage) -> Ask:
        return sends({"value": text})

    @worst(f"POST {PROMPT}/preview", words)
    def preview(_stage: Stage) -> Ask:
        return sends({"draft": {"value": text}})

    @worst(f"POST {PROMPT}/render", words)
    def render(stage: Stage) -> Ask:
        made = stage.made("/api/v1/prompts", {"name": "Worst", "value": text})
        return sends({}, ids={"prompt_id": made["prompt"]["id"]})

    @worst(RUN, words)
    def run(stage: Stage) -> Ask:
        made = stage.made("/api/v1/prompts", {"name": "Worst", "value": text})
        return sends({"id": made["prompt"]["id"], "question": "x"})


for _shape in texts.MARKDOWN:
    _markdown(_shape)


@worst("POST /api/v1/prompts", "100 placeholders of 100 values")
def placeholders(_stage: Stage) -> Ask:
    return sends(texts.big_prompt())


@worst(f"PATCH {PROMPT}", "100 placeholders of 100 values")
def placeholders_changed(_stage: Stage) -> Ask:
    body = texts.big_prompt()
    return sends({"value": body["value"], "placeholders": body["placeholders"]})


@worst(f"POST {PROMPT}/render", "100 placeholders of 100 values")
def big_render(stage: Stage) -> Ask:
    chosen = {f"key_{number}": f"value {number % 99}" for number in range(100)}
    return sends({"placeholders": chosen}, ids={"prompt_id": stage.ids["prompt_id"]})


@worst(f"POST {PROMPT}/render", "as long as a filled text may be")
def long_render(stage: Stage) -> Ask:
    values = [{"name": "long", "content": "\n" * 600_000, "isDefault": True}]
    body = {"name": "Long", "value": "{{a}}\n" * 3, "placeholders": [{"key": "a", "values": values}]}
    return sends({}, ids={"prompt_id": stage.made("/api/v1/prompts", body)["prompt"]["id"]})


@worst(f"POST {PROMPT}/commit", "a big draft")
def commit(stage: Stage) -> Ask:
    made = stage.made("/api/v1/prompts", texts.big_prompt() | {"commit": False})
    return sends({"message": "x" * 500}, ids={"prompt_id": made["prompt"]["id"]})


@worst(f"PUT {LABEL}", "one of as many as a prompt may have")
def label(stage: Stage) -> Ask:
    return sends({"commitHash": stage.ids["commit_hash"], "share": 0.5}, ids={"label": f"{1:064}"})


@worst("POST /api/v1/prompts", "128 tools")
def tools(_stage: Stage) -> Ask:
    fields = {f"field_{number}": {"type": "string", "enum": ["a", "b"]} for number in range(250)}
    offered = [
        {"name": f"tool_{number}", "parameters": {"type": "object", "properties": fields}} for number in range(128)
    ]
    return sends({"name": "Worst", "value": "x", "languageModelConfig": {"tools": offered}})


@worst(RUN, "a question of 4 MB")
def question(stage: Stage) -> Ask:
    return sends({"id": stage.ids["prompt_id"], "question": "é" * 1_999_000})


@worst(RUN, "files of 50 MB")
def files(stage: Stage) -> Ask:
    content = base64.b64encode(b"x" * 12_000_000).decode()
    sent = [{"fileName": f"{number}.txt", "contentType": "text/plain", "base64": content} for number in range(3)]
    return sends({"id": stage.ids["prompt_id"], "question": "x", "files": sent})


@worst(RUN, "50 MB of base64 with line ends")
def wrapped_files(stage: Stage) -> Ask:
    content = (base64.b64encode(b"x" * 45).decode() + "\r\n") * 260_000
    sent = [{"fileName": f"{number}.txt", "contentType": "text/plain", "base64": content} for number in range(3)]
    return sends({"id": stage.ids["prompt_id"], "question": "x", "files": sent})


@worst(RUN, "files that are a million numbers")
def numbers_for_files(stage: Stage) -> Ask:
    return sends({"id": stage.ids["prompt_id"], "question": "x", "files": [1] * 1_000_000})


@worst(RUN, "as many lists as are read")
def nested_lists(stage: Stage) -> Ask:
    deep = b"[" * 900 + b"]" * 900
    lists = b",".join([deep] * (BODY_ELEMENTS_MAX // 901))
    return Ask(body=b'{"id": %d, "question": "x", "commitHash": [%b]}' % (stage.ids["prompt_id"], lists))


@worst(RUN, "as many unknown fields as are read")
def unknown_fields(_stage: Stage) -> Ask:
    return sends({f"f{number}": 1 for number in range(BODY_ELEMENTS_MAX - 10)})


@worst(RUN, "as many selections as are read")
def selections(stage: Stage) -> Ask:
    return sends(
        {"id": stage.ids["prompt_id"], "question": "x", "placeholders": _members(14 * (BODY_ELEMENTS_MAX - 10))}
    )


@worst(f"POST {PROMPT}/render", "2 MB of selections")
def render_selections(_stage: Stage) -> Ask:
    return sends({"placeholders": _members(2_000_000)})


def _members(size: int) -> dict[str, str]:
    return {f"{number:08}": "" for number in range(size // 14)}


def _case(turns: int, steps: int, **check: Any) -> dict[str, Any]:
    step = {"kind": "answer", "text": "It is so.", "check": {"enabled": True, **check}}
    turn = {"user": "What is it?", "steps": [step] * steps}
    return {"format": "reprise.test-case/1", "name": "Worst", "testCase": {"turns": [turn] * turns}}


@worst(f"POST {PROMPT}/test-cases/import", "2 MB of turns")
def imported_turns(_stage: Stage) -> Ask:
    return sends(_case(16_000, 1))


@worst(f"POST {PROMPT}/test-cases/import", "2 MB of steps")
def imported_steps(_stage: Stage) -> Ask:
    return sends(_case(1, 25_000))


@worst(f"POST {PROMPT}/test-cases/import", "2 MB of paths to ignore")
def imported_paths(_stage: Stage) -> Ask:
    return sends(_case(1, 1, ignorePaths=[f"/{number}" for number in range(200_000)]))


@worst(f"POST {PROMPT}/test-cases", "2 MB of text")
def written_case(_stage: Stage) -> Ask:
    return sends({"question": "x" * texts.TEXT, "expectedAnswer": "y" * texts.TEXT})


@worst("PATCH /api/v1/test-cases/{test_case_id}", "2 MB of steps")
def changed_case(_stage: Stage) -> Ask:
    return sends({"steps": [{"enabled": True}] * 100_000})


@worst("POST /api/v1/sessions/{session_id}/test-cases", f"of a session of {texts.TURNS:,} turns")
def case_of_session(stage: Stage) -> Ask:
    return sends({"name": "Long"}, ids={"session_id": stage.ids["session_many_turns"]})


@worst("POST /api/v1/test-cases/{test_case_id}/copy", "of the most turns")
def copied_case(_stage: Stage) -> Ask:
    return sends({"name": "Copy"}, ids={"test_case_id": "test_case_turns"})


@worst("PATCH /api/v1/replays/{replay_id}/steps/{step}", "a verdict")
def verdict(_stage: Stage) -> Ask:
    return sends({"verdict": "passed"})


@worst("PUT /api/v1/data-policy", "100 rules of 1,000 characters")
def policy(_stage: Stage) -> Ask:
    rules = [{"kind": "pattern", "value": f"(?:[ab]{{900}}c{number})+" + "a" * 980} for number in range(100)]
    return sends({"masking": [rule | {"value": rule["value"][:1_000]} for rule in rules]})


@worst("PUT /api/v1/credentials/{vendor}", "a key")
def credential(_stage: Stage) -> Ask:
    return sends({"apiKey": "x" * 400})


@worst("POST /api/v1/models", "a model")
def model(_stage: Stage) -> Ask:
    return sends({"name": "worst", "baseUrl": "http://127.0.0.1:9/" + "x" * 200})


@worst("PATCH /api/v1/models/{model_id}", "a price")
def model_changed(_stage: Stage) -> Ask:
    return sends({"enabled": True})


@worst("POST /api/v1/model-prices", "a price")
def model_price(_stage: Stage) -> Ask:
    return sends({"model": "x" * 255, "provider": "y" * 64, "promptPrice": 1, "completionPrice": 1e6})


@worst("POST /api/v1/scores", "a long comment")
def score(stage: Stage) -> Ask:
    target = {"promptId": stage.ids["prompt_id"], "conversationId": "x" * 512}
    return sends({"id": "x" * 128, "name": "x" * 255, "value": "y" * 255, "comment": "é" * 10_000, "target": target})


@worst("POST /api/v1/scores", "a thousand of sessions")
def scores(stage: Stage) -> Ask:
    target = {"sessionId": stage.ids["session_id"]}
    return sends(
        {"scores": [{"id": f"n{number}", "name": "x" * 255, "value": 1, "target": target} for number in range(1000)]}
    )


@worst(f"POST {PROMPT}/online-checks", "a long text")
def online_check(_stage: Stage) -> Ask:
    return sends({"name": "x" * 255, "kind": "contains", "value": "é" * 10_000, "share": 1})


@worst("POST /api/v1/projects", "a name")
@worst("PATCH /api/v1/projects/{project_id}", "a name")
def project(_stage: Stage) -> Ask:
    return sends({"name": "x" * 100})


@worst("POST /api/v1/projects/{project_id}/api-keys", "a key")
@worst("POST /api/v1/api-keys", "a key")
def key(_stage: Stage) -> Ask:
    return sends({"name": "x" * 100})


@worst("PATCH /api/v1/members/{user_id}", "a role")
def role(_stage: Stage) -> Ask:
    return sends({"role": "admin"})


@worst("POST /api/v1/invitations", "an address")
def invitation(_stage: Stage) -> Ask:
    return sends({"email": "x" * 50 + "@example.org", "role": "viewer"})
