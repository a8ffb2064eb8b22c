"""Settings that decide which models are called and how, and what is kept."""

from __future__ import annotations

import re

import pytest

from app.models.data_policies import DataPolicy
from app.otlp.masking import RULES_MAX
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.web.conftest import Browser
from tests.support.world import World

CUSTOM = "CUSTOM_OPENAI_COMPATIBLE"
MODEL = {
    "name": "llama3",
    "promptPrice": "0.5",
    "completionPrice": "2",
    "contextTokensMax": "32,768",
    "completionTokensMax": "4096",
    "description": "Ours",
}
POLICY = {"spans": "30", "runs": "", "replays": "", "rejectedSpans": "7"}


def path_of(admin: Browser, page: str) -> str:
    return f"{admin.base}/settings/{page}"


def store(admin: Browser, vendor: str, key: str, base_url: str = "") -> int:
    path = path_of(admin, "credentials")
    admin.open(path)
    status: int = admin.send(path, vendor=vendor, api_key=key, base_url=base_url).status_code
    return status


def add_model(world: World, admin: Browser, base_url: str, **other: str) -> int:
    """The id of a model of one's own."""
    admin.open(path_of(admin, "models"))
    sent = admin.send(path_of(admin, "models"), **(MODEL | {"baseUrl": base_url} | other))
    assert sent.status_code == 303, admin.text
    listed = world.container.services.models.list(organization_id=world.organization_id)
    return next(model.id for model in listed if model.organization_id == world.organization_id)


def audit(world: World) -> list[tuple[str, str, str]]:
    page = world.container.services.audit.page(organization_id=world.organization_id, limit=50, cursor=None)
    assert "sk-" not in str(page.entries)
    found = [(entry.action, entry.subject, entry.actor_name) for entry in page.entries]
    return [entry for entry in found if entry[0].startswith(("credential", "model", "data_policy"))]


def test_a_credential_is_stored_replaced_and_removed_and_never_shown(world: World, admin: Browser) -> None:
    path = path_of(admin, "credentials")
    for key in ("sk-first", "sk-second"):
        assert store(admin, "ANTHROPIC", key) == 303
        admin.open(path)
        assert "••••••••" in admin.text
        assert "sk-" not in admin.page
    found = world.container.services.credentials.find(world.organization_id, "ANTHROPIC")
    assert found is not None
    assert found.api_key == "sk-second"

    admin.open(f"{path}/ANTHROPIC/clear")
    assert "The key is lost here" in admin.text
    admin.send(f"{path}/ANTHROPIC/clear")

    admin.open(path)
    assert "••••••••" not in admin.text
    who = "Ada"
    assert audit(world) == [
        ("credential.cleared", "ANTHROPIC", who),
        ("credential.set", "ANTHROPIC", who),
        ("credential.set", "ANTHROPIC", who),
    ]


@pytest.mark.parametrize(
    ("vendor", "key", "base_url"), [("NOBODY", "sk-x", ""), ("OPENAI", "", ""), ("OPENAI", "sk-x", "file:///etc")]
)
def test_a_credential_that_cannot_serve_is_explained_and_not_repeated(
    world: World, admin: Browser, vendor: str, key: str, base_url: str
) -> None:
    assert store(admin, vendor, key, base_url) == 400

    assert "sk-x" not in admin.page
    assert audit(world) == []


def test_of_a_long_key_the_last_characters_are_shown(world: World, admin: Browser) -> None:
    store(admin, "ANTHROPIC", "sk-0123456789abcdefWXYZ")
    admin.open(path_of(admin, "credentials"))
    assert "••••WXYZ" in admin.text
    assert "cdefWXYZ" not in admin.page


def test_a_check_asks_the_vendor_and_shows_its_words(world: World, admin: Browser, upstream: Upstream) -> None:
    path = path_of(admin, "credentials")
    store(admin, CUSTOM, "sk-right", upstream.base_url(CUSTOM))
    admin.send(f"{path}/{CUSTOM}/check")
    admin.open(path)
    assert "no model to ask" in admin.text

    add_model(world, admin, upstream.base_url(CUSTOM))
    admin.send(f"{path}/{CUSTOM}/check")
    admin.open(path)
    assert "llama3 answered: the credential works." in admin.text
    assert upstream.requests[-1].headers["authorization"] == "Bearer sk-right"

    upstream.script(Reply(status=401, message="Your key is <b>unknown</b>."))
    admin.send(f"{path}/{CUSTOM}/check")
    admin.open(path)
    assert "Your key is <b>unknown</b>." in admin.text
    assert "<b>unknown</b>" not in admin.page


def test_a_model_of_ones_own_runs_at_its_price(world: World, admin: Browser, upstream: Upstream) -> None:
    store(admin, CUSTOM, "")
    add_model(world, admin, upstream.base_url(CUSTOM) + "/")
    prompt = {"name": "P", "value": "Be kind.", "languageModelName": "llama3"}
    prompt_id = world.post("/api/v1/prompts", json=prompt).json["prompt"]["id"]

    answer = world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "Hi"}).json

    assert answer["answer"] == "echo: Hi"
    assert answer["cost"]["prompt"] == pytest.approx(answer["tokens"]["prompt"] * 0.5 / 1e6)
    assert answer["cost"]["completion"] == pytest.approx(answer["tokens"]["completion"] * 2 / 1e6)


def test_a_model_of_ones_own_is_changed_removed_and_brought_back(world: World, admin: Browser) -> None:
    first = add_model(world, admin, "http://one/v1")
    again = add_model(world, admin, "http://two/v1", completion="100")
    admin.open(path_of(admin, "models"))
    assert again == first
    assert "http://two/v1" in admin.text

    admin.open(f"{path_of(admin, 'models')}/{first}/remove")
    admin.send(f"{path_of(admin, 'models')}/{first}/remove")
    refused = world.post("/api/v1/prompts", json={"name": "P", "value": "x", "languageModelName": "llama3"})
    assert refused.status_code == 400
    assert add_model(world, admin, "http://two/v1") == first

    actions = [(action, subject) for action, subject, _ in audit(world)]
    assert actions == [("model.added", "llama3"), ("model.removed", "llama3")] + [("model.added", "llama3")] * 2


def test_a_model_of_the_catalogue_stays(world: World, admin: Browser) -> None:
    listed = world.container.services.models.list(organization_id=world.organization_id)
    echo = next(model for model in listed if model.name == "echo")
    path = f"{path_of(admin, 'models')}/{echo.id}/remove"
    admin.open("/account")

    assert admin.send(path).status_code == 404
    assert world.container.services.models.list(organization_id=world.organization_id) == listed


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "  "),
        ("name", "x" * 129),
        ("baseUrl", "localhost:11434"),
        ("promptPrice", "-1"),
        ("promptPrice", "nan"),
        ("completionPrice", "free"),
        ("contextTokensMax", "0"),
        ("completionTokensMax", "inf"),
        ("completionTokensMax", "9" * 20),
    ],
)
def test_a_model_that_cannot_be_is_explained_and_stays_typed(
    world: World, admin: Browser, field: str, value: str
) -> None:
    path = path_of(admin, "models")
    admin.open(path)

    answer = admin.send(path, **(MODEL | {"baseUrl": "http://one/v1", "description": "What I typed", field: value}))

    assert answer.status_code == 400
    assert 'value="What I typed"' in admin.page
    assert audit(world) == []


def test_a_data_policy_is_set_and_shown(world: World, admin: Browser) -> None:
    path = path_of(admin, "data")
    admin.open(path)

    assert admin.send(path, **POLICY, kind="pointer", value="/user/email", replacement="[mail]").status_code == 303

    rule = {"kind": "pointer", "value": "/user/email", "replacement": "[mail]"}
    kept = world.container.services.data_policies.get(project_id=world.project_id)
    assert kept == DataPolicy(spans_days=30, rejected_days=7, masking=[rule])
    admin.open(path)
    assert re.search(r'name="spans" value="30"', admin.page)
    assert 'value="/user/email"' in admin.page
    assert [entry[0] for entry in audit(world)] == ["data_policy.changed"]
    admin.open(path_of(admin, "audit"))
    assert "days that spans are kept: 30, days that runs are kept: none" in admin.text
    assert "None" not in admin.text


def shown_rules(admin: Browser) -> list[tuple[str, str]]:
    """The value and the replacement of each rule in the form."""
    values, replacements = (
        re.findall(rf'<input name="{name}"[^>]* value="([^"]*)"', admin.page) for name in ("value", "replacement")
    )
    return list(zip(values, replacements, strict=True))


def test_rules_are_added_and_removed_one_by_one_and_stored_when_they_are_saved(world: World, admin: Browser) -> None:
    path, policies = path_of(admin, "data"), world.container.services.data_policies
    admin.open(path)
    assert shown_rules(admin) == []
    first, second = ("pattern", "iban", "[iban]"), ("pointer", "/user/email", "[mail]")

    def sent(*rules: tuple[str, str, str], do: str) -> int:
        kinds, values, replacements = (list(texts) for texts in zip(*rules, strict=True)) if rules else ([], [], [])
        fields = POLICY | {"spans": "30"}
        return admin.send(path, **fields, kind=kinds, value=values, replacement=replacements, do=do).status_code

    assert sent(do="add") == 200
    assert len(shown_rules(admin)) == 1
    assert re.search(r'aria-label="Pattern or place of rule 1"[^>]* autofocus', admin.page)
    assert "unsaved changes" in admin.text
    assert sent(first, do="add") == 200
    assert shown_rules(admin)[0] == ("iban", "[iban]")
    assert 'name="spans" value="30"' in admin.page, "the other fields keep what was sent"
    assert policies.get(project_id=world.project_id) == DataPolicy(), "nothing is stored"
    assert sent(first, second, do="save") == 303

    assert sent(first, second, do="remove.0") == 200
    assert shown_rules(admin) == [("/user/email", "[mail]")]
    assert len(policies.get(project_id=world.project_id).masking) == 2
    assert sent(second, do="save") == 303
    admin.open(path)
    assert shown_rules(admin) == [("/user/email", "[mail]")]
    assert "unsaved changes" not in admin.text


@pytest.mark.parametrize("do", ["remove.1", "remove.-1", "remove.x", "remove.", "remove.²", "add.9", "sort"])
def test_a_button_that_names_no_rule_changes_none(world: World, admin: Browser, do: str) -> None:
    path = path_of(admin, "data")
    admin.open(path)

    assert admin.send(path, **POLICY, kind="pattern", value="iban", replacement="x", do=do).status_code == 200

    assert shown_rules(admin)[0] == ("iban", "x")
    assert world.container.services.data_policies.get(project_id=world.project_id) == DataPolicy()


def test_a_rule_beyond_the_last_is_not_offered_or_added(world: World, admin: Browser) -> None:
    path, many = path_of(admin, "data"), [f"pattern {number}" for number in range(RULES_MAX)]
    admin.open(path)

    admin.send(path, **POLICY, kind=["pattern"] * RULES_MAX, value=many, replacement=["x"] * RULES_MAX, do="add")

    assert [value for value, _ in shown_rules(admin)] == many
    assert "Add a rule" not in admin.text
    assert f"at most {RULES_MAX} rules" in admin.text


def test_an_emptied_rule_is_gone(world: World, admin: Browser) -> None:
    path = path_of(admin, "data")
    admin.open(path)
    admin.send(path, **POLICY, kind="pattern", value="iban", replacement="x")
    admin.open(path)

    admin.send(path, **POLICY, kind="pattern", value=" ", replacement="x")

    assert world.container.services.data_policies.get(project_id=world.project_id).masking == []


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("spans", "0", "Spans and sessions: "),
        ("runs", "soon", "Runs: "),
        ("replays", "9" * 30, "Replays: "),
        ("value", "(", "Rule 1: missing )"),
        ("value", "a*", "Rule 1: matches the empty text"),
        ("kind", "regex", "Rule 1: "),
    ],
)
def test_a_policy_that_cannot_be_is_explained_and_stays_typed(
    world: World, admin: Browser, field: str, value: str, words: str
) -> None:
    path = path_of(admin, "data")
    admin.open(path)
    sent = POLICY | {"kind": "pattern", "value": "iban", "replacement": "What I typed", field: value}

    assert admin.send(path, **sent).status_code == 400

    assert words in admin.text
    assert "What I typed" in admin.page
    assert world.container.services.data_policies.get(project_id=world.project_id) == DataPolicy()


def test_a_key_administers_only_when_that_was_ticked(world: World, admin: Browser) -> None:
    path = path_of(admin, "keys")
    admin.open(path)

    for sent in ({"name": "App"}, {"name": "Terraform", "admin": "on"}):
        assert admin.send(path, expires="30", **sent).status_code == 303

    keys = {key.name: key.scopes for key in world.container.services.keys.list(project_id=world.project_id)}
    assert keys["App"] == {"run", "read", "write", "ingest"}
    assert keys["Terraform"] == keys["App"] | {"admin"}
    admin.open(path)
    assert "admin, ingest, read, run, write" in admin.text


def test_models_that_can_not_be_called_are_apart_until_their_vendor_has_a_key(world: World, admin: Browser) -> None:
    def parts() -> tuple[str, str]:
        # The message of the action precedes the page's own part.
        page = admin.open(path_of(admin, "models")).text.partition("<main")[2]
        above, _, folded = page.partition('id="without-key"')
        return above, folded.partition("</details>")[0]

    add_model(world, admin, "")
    above, folded = parts()
    assert ("llama3" in above, "llama3" in folded) == (False, True)
    assert ("echo" in above, "echo" in folded) == (True, False)
    assert ("enabled" in folded, "Make default" in folded) == (False, False)
    assert f"{admin.base}/settings/credentials?vendor={CUSTOM}#store" in folded

    store(admin, CUSTOM, "", "http://127.0.0.1:9/v1")
    above, folded = parts()
    # Other tests put the catalogue into the database that they share with this one, so others may be left folded.
    assert ("llama3" in above, "llama3" in folded, f"vendor={CUSTOM}" in folded) == (True, False, False)
    assert 'visually-hidden">enabled<' in admin.page
    assert re.search('class="badge[^>]*>enabled<', admin.page) is None


def test_a_default_model_that_can_not_be_called_is_reported(world: World, admin: Browser) -> None:
    model_id = add_model(world, admin, "")
    world.container.services.models.choose(organization_id=world.organization_id, model_id=model_id, is_default=True)

    admin.open(path_of(admin, "models"))
    assert "The default model has no key to be called with." in admin.text
