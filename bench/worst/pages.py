"""Requests to the pages: everywhere the largest form, and what is large to show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlencode

from app.http.route_table import RoutedApp
from bench.worst import texts
from bench.worst.case import FORM, Ask, Case, plain, worst
from bench.worst.stage import EMAIL, Stage

PROJECT = "/projects/{project_id}"
PROMPT, SESSION, CASE = (
    f"{PROJECT}/prompts/{{prompt_id}}",
    f"{PROJECT}/sessions/{{session_id}}",
    f"{PROJECT}/test-cases",
)
TEST_CASE, REPLAY, SETTINGS = f"{CASE}/{{test_case_id}}", f"{PROJECT}/replays/{{replay_id}}", f"{PROJECT}/settings"
BIG = {"prompt_id": "{big_prompt}", "commit_hash": "{big_first}"}
LONG = {"prompt_id": "{long_prompt}", "session_id": "{long_session}"}
TURNS = f"a session of {texts.TURNS:,} turns"
PUBLIC_BYTES = 4_000
FIELDS = 900

plain("GET /", "GET /sign-in", "GET /sign-in/link", "GET /join/{token}", "GET /account", "GET /prompts/{prompt_id}")
plain("GET /design", "GET /docs")
plain("GET /docs/{name}", name="the longest page", ids={"name": "replays"})
plain(f"GET {PROJECT}", f"GET {PROJECT}/start", f"GET {PROJECT}/prompts", f"GET {PROJECT}/prompts/new")
plain(f"GET {PROJECT}/prompts/archived")
plain(
    f"GET {PROMPT}", f"GET {PROMPT}/edit", f"GET {PROMPT}/archive", f"GET {PROMPT}/versions", name="a big one", ids=BIG
)
plain(f"GET {PROMPT}/versions/{{commit_hash}}", f"GET {PROMPT}/versions/{{commit_hash}}/restore", ids=BIG)
plain(f"GET {PROMPT}/labels", name="a big one", ids=BIG)
plain(f"GET {PROMPT}/labels/{{label}}/delete", name="one of many", ids=BIG | {"label": f"{2:064}"})
plain(f"GET {PROMPT}/logs", f"GET {PROMPT}/exports/{{kind}}", name=TURNS, ids=LONG)
plain(f"GET {PROMPT}/test-cases", f"GET {PROMPT}/test-cases/new", name="a big one", ids=BIG)
plain(f"GET {PROJECT}/sessions", name="a search for nothing", query="sort=duration&tool=" + "x" * 255)
for name, q in texts.SEARCHES.items():
    plain(f"GET {PROJECT}/sessions", name=f"a search: {name}", query=urlencode({"q": q}))
    plain(f"GET {PROMPT}/logs", name=f"a search: {name}", query=urlencode({"q": q}), ids={"prompt_id": "{long_texts}"})
plain(f"GET {PROJECT}/session-filters/{{filter_id}}/delete")
plain(f"GET {PROJECT}/sessions.csv", f"GET {PROJECT}/sessions.jsonl", name="all of them", query="sort=errors")
plain(f"GET {SESSION}/test-case", f"GET {SESSION}", name=TURNS, ids=LONG)
plain(f"GET {SESSION}/turns/{{turn}}/texts/{{text}}", name=TURNS, ids=LONG | {"turn": "1", "text": "user"})
plain(
    f"GET {SESSION}/spans/{{span_id}}",
    f"GET {SESSION}/spans/{{span_id}}/attributes/{{attribute}}",
    name=TURNS,
    ids=LONG | {"span_id": f"{1:016x}", "attribute": "0"},
)
plain(f"GET {TEST_CASE}", f"GET {TEST_CASE}/delete", f"GET {REPLAY}", f"GET {REPLAY}/steps/{{step}}/accept")
plain(f"GET {REPLAY}/batch", f"GET {REPLAY}/batch/accept")
plain(f"GET {PROJECT}/calibrations/{{calibration_id}}", f"GET {PROJECT}/experiments/{{experiment_id}}")
plain(f"GET {PROMPT}/online-checks", name="a big one", ids=BIG)
plain(f"GET {PROJECT}/online-checks/{{check_id}}", f"GET {PROJECT}/online-checks/{{check_id}}/remove")
plain(f"GET {PROMPT}/experiments", f"GET {PROMPT}/experiments/new", name="a big one", ids=BIG)
plain(
    f"GET {PROJECT}/runs/{{run_id}}",
    f"GET {PROJECT}/runs/{{run_id}}/events",
    f"GET {PROJECT}/rejected-spans",
    f"GET {PROJECT}/operations",
)
plain(f"GET {PROMPT}/insight", query="days=90&by=day")
plain(f"GET {PROJECT}/usage", f"GET {PROJECT}/usage.csv", query="from=2020-01-01&to=2030-01-07")
plain(f"GET {SETTINGS}/keys", f"GET {SETTINGS}/keys/{{key_id}}/revoke", f"GET {SETTINGS}/members")
plain(
    f"GET {SETTINGS}/members/{{user_id}}/remove", f"GET {SETTINGS}/models", f"GET {SETTINGS}/models/{{model_id}}/remove"
)
plain(f"GET {SETTINGS}/credentials", f"GET {SETTINGS}/credentials/{{vendor}}/clear", f"GET {SETTINGS}/data")
plain(f"GET {SETTINGS}/models/prices", f"GET {SETTINGS}/models/prices/{{price_id}}/remove")
WEBHOOK = f"{SETTINGS}/webhooks/{{webhook_id}}"
plain(f"GET {SETTINGS}/webhooks", f"GET {WEBHOOK}", f"GET {WEBHOOK}/secret", f"GET {WEBHOOK}/remove")
plain(f"GET {SETTINGS}/alerts", f"GET {SETTINGS}/alerts/{{rule_id}}", f"GET {SETTINGS}/alerts/{{rule_id}}/remove")
plain(f"GET {SETTINGS}/invitations/{{invitation_id}}/withdraw")
plain(f"GET {SETTINGS}/project", f"GET {SETTINGS}/audit")


@worst(f"GET {PROMPT}/compare", "two big versions")
def compare(stage: Stage) -> Ask:
    return Ask(query=f"from={stage.ids['big_first']}", ids={"prompt_id": stage.ids["big_prompt"]})


@worst("POST /sign-in", "a wrong password")
def sign_in(stage: Stage) -> Ask:
    return form(stage, email=EMAIL, password="not the password")


@worst("POST /sign-in/link", "a token that is none")
def sign_in_link(stage: Stage) -> Ask:
    return form(stage, token="x" * 200)


@worst("POST /join/{token}", "a password")
def join(stage: Stage) -> Ask:
    return form(stage, name="Ada", password="x" * 200)


@worst("POST /account", "a wrong password")
def account(stage: Stage) -> Ask:
    return form(stage, old="not the password", new="x" * 100)


def form(stage: Stage, **fields: str) -> Ask:
    return Ask(body=urlencode({"csrf": stage.csrf, **fields}).encode(), content_type=FORM)


def _editing(shape: str) -> None:
    for path in ("edit", "preview"):

        @worst(f"POST {PROMPT}/{path}", f"{texts.TEXT:,} characters of {shape}")
        def edit(stage: Stage) -> Ask:
            return form(stage, name="Worst", value=texts.filled_with(texts.MARKDOWN[shape]), do="look")


for _shape in ("blank lines", "headings of brackets", "headings of emphasis", "HTML"):
    _editing(_shape)


@worst(f"POST {PROMPT}/edit", "25,000 fields of placeholders")
@worst(f"POST {PROMPT}/preview", "25,000 fields of placeholders")
def many_fields(stage: Stage) -> Ask:
    names = [f"placeholder.{place}.{part}" for place in range(110) for part in ("name", "content") for _ in range(110)]
    return multipart(stage, [(name, "x") for name in names])


@worst(f"POST {PROMPT}/edit", "a default of many digits")
def long_default(stage: Stage) -> Ask:
    return form(stage, **{"placeholder.0.key": "a", "placeholder.0.default": "9" * 1_900_000})


@worst(f"POST {PROMPT}/edit", "50 MB of a file")
def large_file(stage: Stage) -> Ask:
    return multipart(stage, [("value", "x" * 50_000_000)])


@worst(f"POST {PROJECT}/prompts/new", "a text")
@worst(f"POST {PROMPT}/test-cases/new", "a text")
def new_prompt(stage: Stage) -> Ask:
    return form(stage, name="Worst", value="# [\n" * 120_000, question="x" * 400_000, expected="y" * 400_000)


@worst(f"POST {SESSION}/rating", TURNS)
def rating(stage: Stage) -> Ask:
    ids = {"session_id": stage.ids["long_session"]}
    return replace(form(stage, thumb="down", comment="é" * 10_000), ids=ids)


plain(f"POST {SESSION}/rating/remove", ids=LONG)


@worst(f"POST {SESSION}/test-case", TURNS)
def long_case(stage: Stage) -> Ask:
    return replace(form(stage, name="Long"), ids={"session_id": stage.ids["long_session"]})


def multipart(stage: Stage, fields: list[tuple[str, str]]) -> Ask:
    head = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    parts = [head.format(name, value) for name, value in [("csrf", stage.csrf), *fields]]
    return Ask(body=("".join(parts) + "--x--\r\n").encode(), content_type="multipart/form-data; boundary=x")


def of_forms(app: RoutedApp) -> Iterator[Case]:
    """For each page that takes a form: the largest one, of many fields and of one."""
    for route in app.routes:
        if "POST" in route.responders and not route.path.startswith("/api/"):
            yield Case(f"POST {route.path}", "2 MB in one field", _one_field)
            yield Case(f"POST {route.path}", "2 MB in many fields", _many_fields)


def _one_field(stage: Stage) -> Ask:
    return form(stage, **dict.fromkeys(("name", "value"), "%" * 300000))


def _many_fields(stage: Stage) -> Ask:
    return form(stage, **{f"{number}": "é" * 300 for number in range(FIELDS)})
