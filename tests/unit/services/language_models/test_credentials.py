"""Credentials: an organization's own first, encrypted at rest; the settings' key goes nowhere it was not set for."""

import shutil
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from app.database.engines import build_engine
from app.database.transactions import Database
from app.errors import Invalid, NotFound, ProviderError
from app.models import organizations, schema
from app.models.language_models import LanguageModel
from app.models.queries import insert_row
from app.providers.builtin import BuiltinModels
from app.providers.types import Credential
from app.services.language_models.credentials import CredentialService

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ENV = {"OPENAI": ("sk-env", ""), "CUSTOM_OPENAI_COMPATIBLE": ("sk-custom", "http://instance/v1")}


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """The file of a database with the schema; the migrations are executed once."""
    file = tmp_path_factory.mktemp("empty") / "db"
    database = Database(build_engine(f"sqlite:///{file}"))
    schema.upgrade(database)
    database.engine.dispose()
    return file


@pytest.fixture
def database(tmp_path, empty):
    shutil.copyfile(empty, tmp_path / "db")
    database = Database(build_engine(f"sqlite:///{tmp_path / 'db'}"))
    yield database
    database.engine.dispose()


@pytest.fixture
def organization(database):
    with database.write() as connection:
        return insert_row(connection, organizations.organizations, name="O", created_at=NOW)


def service(database, secret_key="secret", from_settings=ENV):
    return CredentialService(
        database=database,
        now=lambda: NOW,
        secret_key=secret_key,
        from_settings=from_settings,
        providers=BuiltinModels(),
    )


def test_an_own_credential_beats_the_settings_until_it_is_cleared(database, organization):
    credentials = service(database)
    assert credentials.find(organization, "OPENAI") == Credential("sk-env", None)
    credentials.set(organization, "OPENAI", api_key="sk-old")
    credentials.set(organization, "OPENAI", api_key="sk-own", base_url="https://proxy/v1")
    assert credentials.find(organization, "OPENAI") == Credential("sk-own", "https://proxy/v1")
    credentials.clear(organization, "OPENAI")
    assert credentials.find(organization, "OPENAI") == Credential("sk-env", None)
    with pytest.raises(NotFound):
        credentials.clear(organization, "OPENAI")


def test_a_credential_of_another_organization_or_vendor_is_not_found(database, organization):
    with database.write() as connection:
        other = insert_row(connection, organizations.organizations, name="Other", created_at=NOW)
    credentials = service(database)
    credentials.set(organization, "OPENAI", api_key="sk-own")
    credentials.set(other, "ANTHROPIC", api_key="sk-other")

    found = credentials.find_stored([(organization, "OPENAI"), (organization, "ANTHROPIC"), (other, "ANTHROPIC")])

    assert [stored is not None for stored in found] == [True, False, True]
    with pytest.raises(ProviderError):
        credentials.find(organization, "ANTHROPIC")


def test_the_key_is_not_in_the_database(database, organization):
    service(database).set(organization, "OPENAI", api_key="sk-own")
    with database.read() as connection:
        assert "sk-own" not in str(connection.execute(text("SELECT * FROM vendor_credentials")).all())


def test_a_changed_secret_key_is_reported(database, organization):
    service(database).set(organization, "OPENAI", api_key="sk-own")
    with pytest.raises(ProviderError, match="REPRISE_SECRET_KEY"):
        service(database, secret_key="other").find(organization, "OPENAI")


def test_without_a_secret_key_nothing_is_stored(database, organization):
    with pytest.raises(Invalid, match="REPRISE_SECRET_KEY"):
        service(database, secret_key="").set(organization, "OPENAI", api_key="sk-own")


@pytest.mark.parametrize(
    ("vendor", "variable"),
    [("ANTHROPIC", "ANTHROPIC_API_KEY"), ("CUSTOM_OPENAI_COMPATIBLE", "CUSTOM_OPENAI_BASE_URL")],
)
def test_what_is_missing_is_named_by_its_variable(database, organization, vendor, variable):
    with pytest.raises(ProviderError, match=variable):
        service(database, from_settings={}).find(organization, vendor)


def test_a_builtin_model_needs_none(database, organization):
    assert service(database).find(organization, "BUILTIN") is None


def test_the_instances_key_never_goes_to_an_organizations_own_address(database, organization):
    found = service(database).find(organization, "CUSTOM_OPENAI_COMPATIBLE", base_url="http://elsewhere/v1")
    assert found == Credential()
    same = service(database).find(organization, "CUSTOM_OPENAI_COMPATIBLE", base_url="http://instance/v1")
    assert same == Credential("sk-custom", "http://instance/v1")


def test_a_key_that_was_stored_for_an_address_never_goes_to_a_model_at_another_one(database, organization):
    credentials = service(database)

    def key_for(address):
        return credentials.find(organization, "CUSTOM_OPENAI_COMPATIBLE", base_url=address).api_key

    credentials.set(organization, "CUSTOM_OPENAI_COMPATIBLE", api_key="sk-own", base_url="https://One.example/v1")
    assert [key_for(url) for url in ("", "https://one.example/v2")] == ["sk-own", "sk-own"]
    for other in ("https://one.example:81/v1", "http://one.example/v1", "https://one.example.evil.example/v1"):
        assert key_for(other) is None
    credentials.set(organization, "CUSTOM_OPENAI_COMPATIBLE", api_key="sk-any")
    assert key_for("https://two.example") == "sk-any"


@pytest.mark.parametrize(
    "values",
    [
        {"vendor": "NOBODY", "api_key": "k"},
        {"vendor": "OPENAI", "api_key": ""},
        {"vendor": "OPENAI", "api_key": "two words"},
        {"vendor": "OPENAI", "api_key": "k\nX-Header: y"},
        {"vendor": "OPENAI", "api_key": "k", "base_url": "ftp://x"},
        {"vendor": "OPENAI", "api_key": "k", "base_url": "https://"},
        {"vendor": "OPENAI", "api_key": "k", "base_url": "http://[::1"},
        {"vendor": "OPENAI", "api_key": "k", "base_url": "http://host:0/v1"},
        {"vendor": "OPENAI", "api_key": "k", "base_url": "https://" + "x" * 600},
    ],
)
def test_what_cannot_serve_is_refused(database, organization, values):
    with pytest.raises(Invalid):
        service(database).set(organization, **values)


def test_the_list_shows_vendors_and_never_keys(database, organization):
    credentials = service(database)
    credentials.set(organization, "GOOGLE", api_key="sk-own")
    shown = credentials.list(organization)

    assert [(c.vendor, c.set_at) for c in shown] == [
        ("CUSTOM_OPENAI_COMPATIBLE", None), ("GOOGLE", NOW), ("OPENAI", None)
    ]  # fmt: skip
    assert "sk-" not in repr(shown)


def test_models_lack_a_key_unless_their_vendor_or_their_address_has_one(database, organization):
    def model(number, vendor, base_url=""):
        return LanguageModel(number, 0, vendor, "m", base_url, 0, 0, 0, 0, "", {}, False, NOW, NOW)

    models = [model(1, "BUILTIN"), model(2, "OPENAI"), model(3, "ANTHROPIC"), model(4, "DEEPSEEK", "http://own/v1")]
    credentials = service(database)
    assert credentials.lacking(organization, models) == {3}
    credentials.set(organization, "ANTHROPIC", api_key="sk-own")
    assert credentials.lacking(organization, models) == set()
