"""Requests to the pages: everywhere the largest form, and pages that are dear to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlencode

from app.http.route_table import RoutedApp
from bench.worst import texts
from bench.worst.case import FORM, Ask, Case, worst
from bench.worst.stage import EMAIL, Stage

PROJECT = "/projects/{project_id}"
PROMPT, SESSION = f"{PROJECT}/prompts/{{prompt_id}}", f"{PROJECT}/sessions/{{session_id}}"
TURNS = f"a session of {texts.TURNS:,} turns"
FIELDS = 900


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
    ids = {"session_id": stage.ids["session_many_turns"]}
    return replace(form(stage, thumb="down", comment="é" * 10_000), ids=ids)


@worst(f"POST {SESSION}/test-case", TURNS)
def long_case(stage: Stage) -> Ask:
    return replace(form(stage, name="Long"), ids={"session_id": stage.ids["session_many_turns"]})


def multipart(stage: Stage, fields: list[tuple[str, str]]) -> Ask:
    head = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    parts = [head.format(name, value) for name, value in [("csrf", stage.csrf), *fields]]
    return Ask(body=("".join(parts) + "--x--\r\n").encode(), content_type="multipart/form-data; boundary=x")


def of_forms(app: RoutedApp) -> Iterator[Case]:
    """For each page that accepts a form: the largest one, of many fields and of one."""
    for route in app.routes:
        if "POST" in route.responders and not route.path.startswith("/api/"):
            yield Case(f"POST {route.path}", "2 MB in one field", _one_field)
            yield Case(f"POST {route.path}", "2 MB in many fields", _many_fields)


def _one_field(stage: Stage) -> Ask:
    return form(stage, **dict.fromkeys(("name", "value"), "%" * 300000))


def _many_fields(stage: Stage) -> Ask:
    return form(stage, **{f"{number}": "é" * 300 for number in range(FIELDS)})
