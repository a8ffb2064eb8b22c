"""The settings of an OpenID provider."""

from __future__ import annotations

import pytest

from config.environment import SettingsError
from config.settings import Settings

OPENID = {
    "REPRISE_OPENID_ISSUER": "https://id.example",
    "REPRISE_OPENID_CLIENT_ID": "reprise",
    "REPRISE_PUBLIC_URL": "https://reprise.example",
}


def test_a_provider_is_whole_or_not_there() -> None:
    assert Settings.load(OPENID).openid_issuer == "https://id.example"
    for lacking in ("REPRISE_OPENID_CLIENT_ID", "REPRISE_PUBLIC_URL"):
        with pytest.raises(SettingsError, match=f"^{lacking}: "):
            Settings.load(OPENID | {lacking: ""})
    with pytest.raises(SettingsError, match=r"^REPRISE_OPENID_ISSUER: must begin with https"):
        Settings.load(OPENID | {"REPRISE_OPENID_ISSUER": "id.example"})


def test_a_provider_needs_the_library_that_checks_its_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.checks.find_spec", lambda name: None)

    with pytest.raises(SettingsError, match=r"pip install -r requirements/openid\.txt"):
        Settings.load(OPENID)


@pytest.mark.parametrize("roles", ["admins", "admins=owner", "=admin", "a=admin,b"])
def test_groups_have_roles_that_exist(roles: str) -> None:
    with pytest.raises(SettingsError, match=r"REPRISE_OPENID_ROLES: .* is not like group=viewer"):
        Settings.load(OPENID | {"REPRISE_OPENID_ROLES": roles})
