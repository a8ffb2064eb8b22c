"""The page that imports files of other tools: what it stores, and what it lists as left out."""

from __future__ import annotations

import gzip
import json

import pytest
from falcon.testing import Result

from app.web.views import imports
from tests.integration.web.conftest import HTML, Browser
from tests.support.imports import CONVERSATION, DATA, FILES, import_file, said, sessions
from tests.support.world import World


def send(browser: Browser, prompt_id: int, tool: str, *files: tuple[str, bytes]) -> Result:
    """POST the form of the page with files, each a name and its content."""
    path = f"{browser.base}/prompts/{prompt_id}/import"
    browser.open(path)
    fields = (("csrf", browser.csrf), ("tool", tool))
    parts = [f'name="{name}"\r\n\r\n{value}'.encode() for name, value in fields]
    parts += [f'name="files"; filename="{name}"\r\n\r\n'.encode() + content for name, content in files]
    body = b"".join(b"--x\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--x--\r\n"
    headers = HTML | {"Content-Type": "multipart/form-data; boundary=x"}
    answer = browser.world.client.simulate_post(path, headers=headers, body=body, cookies=browser.cookies)
    browser.page = answer.text
    return answer


def recorded(name: str) -> tuple[str, bytes]:
    return name, (DATA / name).read_bytes()


@pytest.mark.parametrize(("name", "tool"), [*FILES.items(), ("otlp.traces.jsonl", "otlp")])
def test_sessions_of_each_tool_are_imported(world: World, admin: Browser, name: str, tool: str) -> None:
    prompt_id = world.prompt()
    content = (DATA / name).read_bytes()

    assert send(admin, prompt_id, tool, (name, content)).status_code == 200
    imported = sessions(world, prompt_id)

    if tool == "otlp":  # its contents are in other files, which only the command reads
        assert "Imported 0 sessions" in admin.text
        assert "copy this content" in admin.text
    else:
        assert "Imported 1 session" in admin.text
        assert [said(session) for session in imported] == [CONVERSATION]


def test_a_file_that_the_command_imported_adds_nothing(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    import_file(world, prompt_id, "langfuse", DATA / "langfuse.observations.json")
    before = sessions(world, prompt_id)

    send(admin, prompt_id, "langfuse", recorded("langfuse.observations.json"))

    assert sessions(world, prompt_id) == before


@pytest.mark.parametrize(
    ("name", "tool", "summary"),
    [
        ("promptfooconfig.yaml", "promptfoo", "Imported 3 test cases, 2 records not imported."),
        ("langsmith.examples.jsonl", "langsmith-dataset", "Imported 3 test cases, 1 record not imported."),
        ("braintrust.dataset.json", "braintrust-dataset", "Imported 3 test cases."),
    ],
)
def test_tests_of_each_tool_are_imported(world: World, admin: Browser, name: str, tool: str, summary: str) -> None:
    prompt_id = world.prompt()

    for _ in range(2):  # the second import replaces
        send(admin, prompt_id, tool, recorded(name))
        assert summary in admin.text

    assert len(world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"]) == 3
    assert ("Left out or changed" in admin.text) is ("not imported" in summary or tool == "promptfoo")


def test_a_record_that_cannot_be_read_is_listed_with_its_place(world: World, admin: Browser) -> None:
    row = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
    lines = [json.dumps(row), "{", "<script>"]

    send(admin, world.prompt(), "openai-chat", ("chats.jsonl", "\n".join(lines).encode()))

    assert "Imported 1 session, 1 span, 2 records not readable." in admin.text
    assert "line 2: is no JSON" in admin.text
    assert "<script>document" not in admin.page


def test_an_attribute_with_a_key_that_is_no_text_keeps_no_file_out(world: World, admin: Browser) -> None:
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "chat", "startTimeUnixNano": "1"}
    span["attributes"] = [{"key": {"a": 1}, "value": {"stringValue": "x"}}]
    content = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()

    answer = send(admin, world.prompt(), "otlp", ("traces.jsonl", content))

    assert answer.status_code == 200
    assert "Imported 1 session, 1 span." in admin.text


def test_more_records_than_a_request_imports_are_left_out(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "CASES_MAX", 2)
    prompt_id = world.prompt()

    send(admin, prompt_id, "braintrust-dataset", recorded("braintrust.dataset.json"))

    assert "Imported 2 test cases." in admin.text
    assert "Only the first 2 records are imported." in admin.text


@pytest.mark.parametrize("packed", [False, True])
def test_files_that_are_too_large_are_refused(
    world: World, admin: Browser, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BYTES_MAX", imports.MIB)
    content = b" " * (imports.MIB + 1)

    answer = send(admin, world.prompt(), "langfuse", ("a.json", gzip.compress(content) if packed else content))

    assert answer.status_code == 413
    assert "The files are over 1 MiB. Import larger files with the command reprise import." in admin.text


def test_a_file_with_very_many_values_is_refused(world: World, admin: Browser) -> None:
    content = b"[" + b"{}," * imports.BODY_ELEMENTS_MAX + b"{}]"

    assert send(admin, world.prompt(), "langfuse", ("a.json", content)).status_code == 413


def repeating(tool: str, size: int, times: int) -> bytes:
    """Return a file with a long text that each of its spans repeats."""
    text = "x" * size
    if tool == "otlp":
        resource = {"attributes": [{"key": "a", "value": {"stringValue": text}}]}
        spans = [{"traceId": str(number), "spanId": str(number)} for number in range(times)]
        return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}).encode()
    turn = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    return json.dumps({"messages": turn * times, "tools": text}).encode()


@pytest.mark.parametrize("tool", ["otlp", "openai-chat"])
def test_a_file_that_expands_is_not_imported(world: World, admin: Browser, tool: str) -> None:
    """A few kilobytes, compressed, would need gigabytes of memory."""
    prompt_id, size = world.prompt(), imports.RECORD_BYTES // 8
    send(admin, prompt_id, tool, ("a.json", gzip.compress(repeating(tool, size, 9))))

    assert "Imported 0 sessions, 0 spans, 1 record not readable." in admin.text
    assert f"has more than {imports.RECORD_BYTES:,} bytes of spans" in admin.text


@pytest.mark.parametrize(
    ("content", "status", "problem"),
    [
        (b"#\n" * (imports.TEXT_LIMITS.yaml_bytes // 2) + b"a", 400, "a.yaml is larger than 0.5 MiB."),
        (b"- a\n" * imports.TEXT_LIMITS.values, 200, "more than 10,000 values"),
        (b"'" + b"x" * 100_000 + b"'", 200, "its tests are in"),
    ],
    ids=["comments", "values", "a text"],
)
def test_a_yaml_file_that_is_slow_to_read_is_refused(
    world: World, admin: Browser, content: bytes, status: int, problem: str
) -> None:
    answer = send(admin, world.prompt(), "promptfoo", ("a.yaml", content))

    assert answer.status_code == status
    assert problem in admin.text
    assert len(answer.text) < 100_000


def test_several_yaml_files_share_the_limits_of_one(world: World, admin: Browser) -> None:
    half = b"#\n" * (imports.TEXT_LIMITS.yaml_bytes // 4)
    values = b"- a\n" * (imports.TEXT_LIMITS.values // 2)

    assert send(admin, world.prompt(), "promptfoo", ("a.yaml", half + b"a"), ("b.yaml", half)).status_code == 400
    assert "a.yaml is larger than 0.25 MiB." in admin.text
    assert send(admin, world.prompt(), "promptfoo", ("a.yaml", values), ("b.yaml", values)).status_code == 200
    assert admin.text.count("more than 5,000 values") == 2


@pytest.mark.parametrize(
    ("tool", "files", "problem"),
    [
        ("langfuse", (), "Choose the file to import."),
        ("nothing", (("a.json", b"[]"),), "There is no such choice."),
        ("promptfoo", (("a.yaml", b"\xff\xff"),), "a.yaml: "),
    ],
)
def test_a_form_without_a_file_that_can_be_read_is_refused(
    world: World, admin: Browser, tool: str, files: tuple[tuple[str, bytes], ...], problem: str
) -> None:
    assert send(admin, world.prompt(), tool, *files).status_code == 400
    assert problem in admin.text


def test_several_files_are_one_import(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()

    send(admin, prompt_id, "langfuse", recorded("langfuse.observations.json"), recorded("langfuse.trace.json"))

    assert "Imported 2 sessions, 21 spans." in admin.text
    assert len(sessions(world, prompt_id)) == 2


def test_sessions_of_an_unknown_prompt_are_refused(world: World, admin: Browser) -> None:
    other = world.prompt()
    assert send(admin, other + 1, "langfuse", recorded("langfuse.trace.json")).status_code == 404


def test_the_pages_of_a_prompt_lead_to_the_import(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    for page in ("logs", "test-cases"):
        admin.open(f"{admin.base}/prompts/{prompt_id}/{page}")
        assert "import" in admin.page
