"""The editor as a form: what it changes, what it refuses, what it shows again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from falcon.testing import Result

from app.models.organizations import Role
from app.services.prompts.service import PromptView
from tests.integration.web.conftest import HTML, Browser
from tests.support.waiting import wait_until
from tests.support.world import World

MemberOf = Callable[[Role], Browser]
FORM = {"name": "A prompt", "value": "Be {{tone}}.", "model": "echo", "assertion_type": "STRICT"}
TOOLS = '[{"name": "look", "effect": "read"}, {"name": "book", "annotations": {"destructiveHint": true}}]'


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


def test_a_form_changes_all_of_a_draft(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    sent = {
        "name": "Renamed",
        "temperature": "0.5",
        "max_tokens": "100",
        "stop": "END\nSTOP",
        "tools": TOOLS,
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
        "tools": json.loads(TOOLS),
    }
    assert [(one.key, one.values[0].is_default) for one in view.content.placeholders] == [("tone", True)]


def test_a_draft_that_is_not_committed_names_who_changed_it(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    edit(admin, prompt_id, do="save", value="Be kind.")

    admin.open(f"{admin.base}/prompts/{prompt_id}/edit")
    assert "Draft, changed by Ada" in admin.text

    edit(admin, prompt_id, do="commit", value="Be kind.", message="Kinder")
    admin.open(f"{admin.base}/prompts/{prompt_id}/edit")
    assert "changed by" not in admin.text


def test_a_form_that_changes_nothing_writes_nothing(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    before = draft(world, prompt_id).etag

    assert edit(admin, prompt_id, value="Be helpful.").status_code == 303

    assert draft(world, prompt_id).etag == before


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("tools", "[", "Tools: Must be JSON"),
        ("tools", '[{"name": 1}]', "Tools, number 1, name: "),
        ("temperature", "hot", "Temperature: Must be a number"),
        ("temperature", "9", "Temperature: echo accepts"),
        ("model", "no-such-model", "Model: The model"),
        ("name", " ", "Name: "),
        ("assertion_type", "VAGUE", "New test cases check answers: "),
        ("placeholder.0.key", "two words", "Placeholder “two words”, key: "),
    ],
)
def test_a_refusal_is_shown_and_what_was_written_is_shown_again(
    world: World, admin: Browser, field: str, value: str, said: str
) -> None:
    prompt_id = world.prompt()

    answer = edit(admin, prompt_id, **{"value": "Mine & only mine", field: value})

    assert answer.status_code == 400
    assert said in admin.text
    assert "Mine & only mine" in admin.text
    assert draft(world, prompt_id).content.value == "Be helpful."


def test_each_refusal_leads_to_its_field(world: World, admin: Browser) -> None:
    rows = {"placeholder.3.key": "tone", "placeholder.3.name": "", "placeholder.3.content": "kind"}
    edit(admin, world.prompt(), name=" ", **rows)

    led = re.findall(r'<a href="#([^"]+)" data-refused>([^<]+)</a>', admin.page)
    assert sorted(led) == [("name", "Name"), ("placeholder.0.values.0.name", "Placeholder “tone”, value 1, name")]
    for field, _place in led:
        assert f' id="{field}"' in admin.page
    assert "placeholders.0" not in admin.text


def test_the_preview_explains_in_the_same_words_why_there_is_none(world: World, admin: Browser) -> None:
    path = f"{admin.base}/prompts/{world.prompt()}"
    admin.open(f"{path}/edit")
    rows = {"placeholder.1.key": "tone", "placeholder.1.name": "", "placeholder.1.content": "kind"}
    admin.send(f"{path}/preview", **FORM, **{"placeholder.0.key": "no_value"}, **rows)

    assert "Placeholder “tone”, value 1, name: Length must be" in admin.text


@pytest.mark.parametrize("do", ["save", "commit", "run", "check"])
def test_a_lost_update_is_reported_and_both_texts_are_shown(world: World, admin: Browser, do: str) -> None:
    prompt_id = world.prompt()
    stale = draft(world, prompt_id).etag or ""
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be theirs."})

    answer = edit(admin, prompt_id, etag=stale, do=do, value="Be mine.", question="Hm?")

    assert answer.status_code == 412
    assert "This draft was changed while you were editing it" in admin.text
    assert "test saved another draft" in admin.text
    assert "Be theirs." in admin.text
    assert "Be mine.</textarea>" in admin.page
    assert draft(world, prompt_id).content.value == "Be theirs."
    assert world.count("runs") == 0


def test_a_form_that_is_sent_twice_is_no_conflict(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    old = draft(world, prompt_id).etag or ""

    answers = [edit(admin, prompt_id, do="save", value="Mine", etag=old) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [303, 303]
    assert draft(world, prompt_id).content.value == "Mine"


def test_committing_saves_first_and_names_the_author(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()

    assert edit(admin, prompt_id, do="commit", message="Because").status_code == 303

    (version,) = world.container.services.versions.list(project_id=world.project_id, prompt_id=prompt_id)
    assert (version.head.message, version.head.author_name) == ("Because", "Ada")
    assert edit(admin, prompt_id, do="commit").status_code == 409


def test_checking_before_committing_saves_first(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    admin.open(f"{admin.base}/prompts/{prompt_id}/edit")
    assert re.search(r'<button[^>]* name="do" value="check"', admin.page)

    answer = edit(admin, prompt_id, do="check", value="Be mine.")

    assert answer.status_code == 303
    assert answer.headers["location"] == f"{admin.base}/prompts/{prompt_id}/experiments/new"
    assert draft(world, prompt_id).content.value == "Be mine."


def test_a_try_runs_the_draft_with_its_files_as_a_run_of_this_site(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    path = f"{admin.base}/prompts/{prompt_id}/edit"
    admin.open(path)
    etag = draft(world, prompt_id).etag or ""
    fields = [(name, value, None) for name, value in (FORM | {"etag": etag, "do": "run", "question": "Hi"}).items()]

    answer = multipart(admin, path, *fields, ("files", "a note", "note.txt"), ("files", "", ""))

    assert answer.status_code == 303
    run_id = int(re.search(r"run=(\d+)", answer.headers["location"])[1])  # type: ignore[index]
    wait_until(lambda: world.get(f"/api/v1/runs/{run_id}").json["status"] == "done", "the run")
    run = world.get(f"/api/v1/runs/{run_id}").json
    assert (run["source"], run["commitHash"]) == ("ui", None)
    assert [file["fileName"] for file in run["files"]] == ["note.txt"]
    admin.open(answer.headers["location"].removesuffix("#try"))
    assert re.search(r'<div class="answer-text"><h3>Answer</h3><p class="text" dir="auto">Hi', admin.page)


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
def test_a_malformed_multipart_form_is_refused_with_a_page(world: World, admin: Browser, kind: str) -> None:
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


def test_a_version_that_is_not_there_is_not_compared(world: World, admin: Browser) -> None:
    path = f"{admin.base}/prompts/{world.prompt()}/compare"

    assert admin.open(path).status_code == 200
    assert admin.open(f"{path}?from={'0' * 64}").status_code == 404
    assert admin.open(f"{path}?from=<b>").status_code == 404


def second_model(world: World) -> str:
    own = {"name": f"second-{world.organization_id}", "baseUrl": "http://127.0.0.1:9/v1"}
    return str(world.post("/api/v1/models", json=own).json["name"])


def test_a_second_model_is_chosen_shown_and_taken_away(world: World, admin: Browser) -> None:
    prompt_id, second = world.prompt(), second_model(world)

    assert edit(admin, prompt_id, fallback=second).status_code == 303

    assert world.get(f"/api/v1/prompts/{prompt_id}").json["fallbackModelName"] == second
    edit(admin, prompt_id, fallback=second, do="commit")
    assert f'<option value="{second}" selected>' in admin.page
    committed = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    admin.open(f"{admin.base}/prompts/{prompt_id}/versions/{committed}")
    assert f"When it fails{second}" in admin.text

    edit(admin, prompt_id, fallback="")
    assert draft(world, prompt_id).content.fallback is None
    admin.open(f"{admin.base}/prompts/{prompt_id}/compare?from={committed}")
    assert "whenItFails" in admin.text


def test_the_model_itself_is_no_second_one(world: World, admin: Browser) -> None:
    assert edit(admin, world.prompt(), fallback="echo").status_code == 400
    assert "another model than the prompt's own" in admin.text


def test_a_second_model_that_was_disabled_since_stays_until_it_is_changed(world: World, admin: Browser) -> None:
    prompt_id, second = world.prompt(), second_model(world)
    edit(admin, prompt_id, fallback=second)
    [model] = [one for one in world.get("/api/v1/models").json["models"] if one["name"] == second]
    world.patch(f"/api/v1/models/{model['id']}", json={"enabled": False})

    assert edit(admin, prompt_id, fallback=second, value="Be kind.").status_code == 303

    admin.open(f"{admin.base}/prompts/{prompt_id}/edit")
    assert f"{second}, not enabled" in admin.text


def test_a_default_of_a_million_digits_is_none(world: World, admin: Browser) -> None:
    path = f"{admin.base}/prompts/{world.prompt()}/edit"
    admin.open(path)

    sent = {"placeholder.0.key": "tone", "placeholder.0.name": "kind", "placeholder.0.default": "9" * 1_000_000}
    assert admin.send(path, name="A prompt", value="x", **sent).status_code in (303, 400, 412)
