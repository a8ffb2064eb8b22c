"""The editor, versions, test cases and replays as forms: roles, what is refused, what is shown again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from falcon.testing import Result

from app.models.memberships import Role
from app.models.replays import ReplayFilter
from app.services.prompts import PromptView
from tests.integration.web.conftest import HTML, Browser
from tests.support.waiting import wait_until
from tests.support.world import World, new_world

MemberOf = Callable[[Role], Browser]
FORM = {"name": "A prompt", "value": "Be {{tone}}.", "model": "echo", "assertion_type": "STRICT"}


def draft(world: World, prompt_id: int) -> PromptView:
    return world.container.services.prompts.get(project_id=world.project_id, prompt_id=prompt_id, productive=False)


def edit(browser: Browser, prompt_id: int, **fields: str) -> Result:
    """Open the editor and send its form, changed."""
    path = f"{browser.base}/prompts/{prompt_id}/edit"
    browser.open(path)
    etag = re.search(r'name="etag" value="(\d+)"', browser.page)[1]  # type: ignore[index]
    return browser.send(path, **({"etag": etag, "do": "save"} | FORM | fields))


def multipart(browser: Browser, path: str, *parts: tuple[str, str, str | None], kind: str = "") -> Result:
    """POST (name, content, file name) parts."""
    made = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"{_named(file)}\r\n\r\n{content}\r\n'
        for name, content, file in (("csrf", browser.csrf, None), *parts)
    )
    headers = HTML | {"Content-Type": kind or "multipart/form-data; boundary=x"}
    answer = browser.world.client.simulate_post(path, headers=headers, body=made + "--x--\r\n", cookies=browser.cookies)
    browser.page = answer.text
    return answer


def _named(file: str | None) -> str:
    return "" if file is None else f'; filename="{file}"\r\nContent-Type: text/plain'


def case_of(world: World, prompt_id: int, *, assertion: str = "STRICT", expected: str = "Ping") -> int:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": assertion})
    made = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": "Ping", "expectedAnswer": expected})
    return int(made.json["id"])


def replayed(world: World, case_id: int) -> dict[str, Any]:
    """A replay of the test case, ended."""
    replay_id = world.post(f"/api/v1/test-cases/{case_id}/replays").json["id"]
    wait_until(lambda: shown(world, replay_id)["status"] not in ("queued", "running"), "the replay", 20)
    return shown(world, replay_id)


def shown(world: World, replay_id: int) -> dict[str, Any]:
    return dict(world.get(f"/api/v1/replays/{replay_id}").json)


def test_a_form_changes_all_of_a_draft(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    sent = {
        "name": "Renamed",
        "temperature": "0.5",
        "max_tokens": "100",
        "stop": "END\nSTOP",
        "tools": '[{"name": "look"}]',
        "placeholder.0.key": "tone",
        "placeholder.0.name": "kind",
        "placeholder.0.content": "kind & gentle",
        "placeholder.0.default": "0",
    }

    assert edit(admin, prompt_id, **sent).status_code == 303

    view = draft(world, prompt_id)
    assert view.head.name == "Renamed"
    assert view.content.config == {
        "temperature": 0.5,
        "max_tokens": 100,
        "stop": ["END", "STOP"],
        "tools": [{"name": "look"}],
    }
    assert [(one.key, one.values[0].is_default) for one in view.content.placeholders] == [("tone", True)]


def test_a_form_that_changes_nothing_writes_nothing(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    before = draft(world, prompt_id).etag

    assert edit(admin, prompt_id, value="Be helpful.").status_code == 303

    assert draft(world, prompt_id).etag == before


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("tools", "[", "languageModelConfig.tools: Must be JSON"),
        ("temperature", "hot", "languageModelConfig.temperature: Must be a number"),
        ("temperature", "9", "echo takes"),
        ("model", "no-such-model", "is not enabled"),
        ("name", " ", "name: "),
        ("assertion_type", "VAGUE", "assertionType: "),
        ("placeholder.0.key", "two words", "placeholders.0.key: "),
    ],
)
def test_what_is_wrong_is_said_and_what_was_written_is_shown_again(
    world: World, admin: Browser, field: str, value: str, said: str
) -> None:
    prompt_id = world.prompt()

    answer = edit(admin, prompt_id, **{"value": "Mine & only mine", field: value})

    assert answer.status_code == 400
    assert said in admin.text
    assert "Mine & only mine" in admin.text
    assert draft(world, prompt_id).content.value == "Be helpful."


@pytest.mark.parametrize("do", ["save", "commit", "run"])
def test_a_lost_update_is_told_and_both_texts_are_shown(world: World, admin: Browser, do: str) -> None:
    prompt_id = world.prompt()
    stale = draft(world, prompt_id).etag or ""
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be theirs."})

    answer = edit(admin, prompt_id, etag=stale, do=do, value="Be mine.", question="Hm?")

    assert answer.status_code == 412
    assert "Somebody else changed this draft" in admin.text
    assert "Be theirs." in admin.text
    assert "Be mine.</textarea>" in admin.page
    assert draft(world, prompt_id).content.value == "Be theirs."
    assert world.count("runs") == 0


def test_committing_saves_first_and_names_the_author(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()

    assert edit(admin, prompt_id, do="commit", message="Because").status_code == 303

    (version,) = world.container.services.versions.list(project_id=world.project_id, prompt_id=prompt_id)
    assert (version.message, version.author_name) == ("Because", "Ada")
    assert edit(admin, prompt_id, do="commit").status_code == 409


def test_a_try_runs_the_draft_with_its_files_as_a_run_of_this_site(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    path = f"{admin.base}/prompts/{prompt_id}/edit"
    admin.open(path)
    etag = draft(world, prompt_id).etag or ""
    fields = [(name, value, None) for name, value in (FORM | {"etag": etag, "do": "run", "question": "Hi"}).items()]

    answer = multipart(admin, path, *fields, ("files", "a note", "note.txt"), ("files", "", ""))

    assert answer.status_code == 303
    run_id = int(re.search(r"run=(\d+)", answer.headers["location"])[1])  # type: ignore[index]
    wait_until(lambda: world.get(f"/api/v1/runs/{run_id}").json["status"] == "done", "the run", 20)
    run = world.get(f"/api/v1/runs/{run_id}").json
    assert (run["source"], run["commitHash"]) == ("ui", None)
    assert [file["fileName"] for file in run["files"]] == ["note.txt"]
    admin.open(answer.headers["location"].removesuffix("#try"))
    assert re.search(r'<div class="answer-text"><h3>Answer</h3><p class="text">Hi', admin.page)


@pytest.mark.parametrize(("question", "files"), [("", 0), (" \n", 0), ("Hi", 4)])
def test_a_try_without_a_question_or_with_many_files_is_refused(
    world: World, admin: Browser, question: str, files: int
) -> None:
    prompt_id = world.prompt()
    path = f"{admin.base}/prompts/{prompt_id}/edit"
    admin.open(path)
    fields = FORM | {"etag": draft(world, prompt_id).etag or "", "do": "run", "question": question}
    parts = [(name, value, None) for name, value in fields.items()]

    answer = multipart(admin, path, *parts, *(("files", "x", f"{n}.txt") for n in range(files)))

    assert answer.status_code == 400
    assert world.count("runs") == 0


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=other"])
def test_a_malformed_multipart_form_is_told_so(world: World, admin: Browser, kind: str) -> None:
    path = f"{admin.base}/prompts/{world.prompt()}/edit"
    admin.open(path)

    assert multipart(admin, path, ("value", "x", None), kind=kind).status_code == 400


def test_a_multipart_form_from_elsewhere_changes_nothing(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    path = f"{admin.base}/prompts/{prompt_id}/edit"
    admin.page = 'name="csrf" value="forged"'

    assert multipart(admin, path, ("value", "x", None)).status_code == 403
    assert draft(world, prompt_id).content.value == "Be helpful."


def test_the_preview_renders_what_is_not_stored(world: World, member_of: MemberOf) -> None:
    prompt_id = world.prompt()
    viewer = member_of(Role.VIEWER)
    viewer.open("/account")
    placeholder = {"placeholder.3.key": "tone", "placeholder.3.name": "kind", "placeholder.3.content": "<kind>"}

    answer = viewer.send(f"{viewer.base}/prompts/{prompt_id}/preview", **FORM, **placeholder, **{"use.tone": "kind"})

    assert answer.status_code == 200
    assert "Be &lt;kind&gt;." in viewer.text
    assert draft(world, prompt_id).content.value == "Be helpful."


@pytest.mark.parametrize(
    "path",
    [
        "/prompts/{prompt}/edit",
        "/prompts/{prompt}/archive",
        "/prompts/{prompt}/versions/{hash}/restore",
        "/prompts/{prompt}/test-cases",
        "/prompts/{prompt}/test-cases/new",
        "/test-cases/{case}",
        "/test-cases/{case}/replay",
        "/test-cases/{case}/copy",
        "/test-cases/{case}/delete",
        "/replays/{replay}/cancel",
        "/replays/{replay}/steps/0/verdict",
        "/replays/{replay}/steps/0/accept",
    ],
)
def test_a_viewer_reads_and_changes_nothing(world: World, member_of: MemberOf, path: str) -> None:
    viewer = member_of(Role.VIEWER)
    viewer.open("/account")
    target = path.format(prompt=world.prompt(), hash="0" * 64, case=1, replay=1)

    assert viewer.send(viewer.base + target).status_code == 403


@pytest.mark.parametrize("path", ["prompts/{prompt}/edit", "test-cases/{case}", "replays/{replay}", "runs/{run}"])
def test_what_belongs_to_others_is_not_there(world: World, admin: Browser, path: str) -> None:
    others = new_world(world.container)
    prompt = others.prompt()
    case = case_of(others, prompt)
    run = others.post("/api/v1/prompts/run", json={"id": prompt, "question": "x", "productive": False})
    ids = {"prompt": prompt, "case": case, "replay": replayed(others, case)["id"], "run": run.headers["x-run-id"]}

    assert admin.open(f"{admin.base}/{path.format(**ids)}").status_code == 404


def test_a_person_judges_a_step_and_the_verdict_follows(world: World, admin: Browser) -> None:
    replay = replayed(world, case_of(world, world.prompt(), assertion="MANUAL"))
    path = f"{admin.base}/replays/{replay['id']}"
    assert replay["status"] == "needs_review"
    admin.open(path)
    assert "It passes" in admin.text

    assert admin.send(f"{path}/steps/0/verdict", verdict="maybe").status_code == 400
    assert admin.send(f"{path}/steps/0/verdict", verdict="passed").status_code == 303

    assert shown(world, replay["id"])["status"] == "passed"
    admin.open(path)
    assert "It passes" not in admin.text


def test_an_accepted_answer_is_expected_from_then_on(world: World, admin: Browser) -> None:
    case = case_of(world, world.prompt(), expected="Pong")
    replay = replayed(world, case)
    path = f"{admin.base}/replays/{replay['id']}/steps/0/accept"
    assert replay["status"] == "failed"
    admin.open(path)

    assert admin.send(path).status_code == 303

    assert replayed(world, case)["status"] == "passed"
    assert shown(world, replay["id"])["status"] == "failed"


def test_a_step_that_produced_nothing_cannot_be_accepted(world: World, admin: Browser) -> None:
    replay = replayed(world, case_of(world, world.prompt()))

    assert admin.open(f"{admin.base}/replays/{replay['id']}/steps/7/accept").status_code == 400


def test_an_ended_replay_cannot_be_cancelled(world: World, admin: Browser) -> None:
    replay = replayed(world, case_of(world, world.prompt()))
    admin.open("/account")

    assert admin.send(f"{admin.base}/replays/{replay['id']}/cancel").status_code == 409


def test_ticked_test_cases_are_replayed_and_no_others(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    ticked, other = case_of(world, prompt_id), case_of(world, prompt_id)
    path = f"{admin.base}/prompts/{prompt_id}/test-cases"
    admin.open(path)

    assert admin.send(path, do="ticked").status_code == 400
    assert admin.send(path, do="ticked", case=str(ticked)).status_code == 303

    page = world.container.services.replays.list(
        project_id=world.project_id, prompt_id=prompt_id, wanted=ReplayFilter(), limit=9, cursor=None
    )
    assert [view.row.test_case_id for view in page.entries] == [ticked]
    assert other != ticked


def test_a_test_case_that_would_check_nothing_is_refused_and_shown_again(world: World, admin: Browser) -> None:
    case = case_of(world, world.prompt())
    path = f"{admin.base}/test-cases/{case}"
    admin.open(path)
    sent = {"name": "Mine", "order": "any", "history": "replayed", "on_missing": "stop", "included": ""}

    assert admin.send(path, **sent).status_code == 400
    assert "at least one step" in admin.text
    assert 'value="Mine"' in admin.page
    kept = sent | {"step.0.0.enabled": "on", "step.0.0.check": "contains", "step.0.0.value": "ing"}
    assert admin.send(path, **kept).status_code == 303
    assert world.get(f"/api/v1/test-cases/{case}").json["turns"][0]["steps"][0]["check"]["value"] == "ing"


def test_the_list_shows_the_last_verdict_and_the_trend_of_each_test_case(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    passing, failing = case_of(world, prompt_id), case_of(world, prompt_id, expected="Pong")
    for case in (failing, passing, passing):
        replayed(world, case)

    admin.open(f"{admin.base}/prompts/{prompt_id}/test-cases")

    rows = re.findall(r'<tr>.*?/test-cases/(\d+)".*?</tr>', admin.page, re.DOTALL)
    assert rows == [str(failing), str(passing)]
    assert len(re.findall(r'/replays/\d+" class="ok"', admin.page)) == 2
    assert len(re.findall(r'/replays/\d+" class="bad"', admin.page)) == 1
    assert "data-live" not in admin.page


def test_versions_tell_how_their_runs_and_replays_went(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "First"})
    for question in ("Hi", "Ho"):
        world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": question})
    replayed(world, case_of(world, prompt_id))

    admin.open(f"{admin.base}/prompts/{prompt_id}/versions")

    said = " ".join(admin.text.split())
    assert "First productive" in said
    assert re.search(r"API key 2 \$0 \d+ ms 0 % 100 %", said)


def test_a_version_that_is_not_there_is_not_compared(world: World, admin: Browser) -> None:
    path = f"{admin.base}/prompts/{world.prompt()}/compare"

    assert admin.open(path).status_code == 200
    assert admin.open(f"{path}?from={'0' * 64}").status_code == 404
    assert admin.open(f"{path}?from=<b>").status_code == 404


def test_operations_are_the_admins(member_of: MemberOf, admin: Browser) -> None:
    assert member_of(Role.MEMBER).open(f"{admin.base}/operations").status_code == 403
    assert admin.open(f"{admin.base}/operations").status_code == 200
    assert "Workers alive" in admin.text
