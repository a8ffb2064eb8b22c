"""Checks of settings that depend on each other, or that need a library."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from config.environment import SettingsError

if TYPE_CHECKING:
    from config.settings import Settings


def check_servers(settings: Settings) -> None:
    """Raise `SettingsError` if only one of the two servers is set."""
    if bool(settings.database_url) != bool(settings.redis_url):
        missing = "REDIS_URL" if settings.database_url else "DATABASE_URL"
        raise SettingsError(f"{missing}: DATABASE_URL and REDIS_URL go together; set both, or neither")


def check_openid(settings: Settings) -> None:
    """Raise `SettingsError` if people could not sign in at the OpenID provider."""
    if not settings.openid_issuer:
        return
    if urlsplit(settings.openid_issuer).scheme not in ("http", "https"):
        raise SettingsError("REPRISE_OPENID_ISSUER: must begin with https:// or http://")
    if not settings.openid_client_id:
        raise SettingsError("REPRISE_OPENID_CLIENT_ID: set it together with REPRISE_OPENID_ISSUER")
    if not settings.public_url:
        raise SettingsError("REPRISE_PUBLIC_URL: the OpenID provider sends people back to it; set it, too")
    if find_spec("joserfc") is None:
        raise SettingsError("REPRISE_OPENID_ISSUER: needs a library: pip install -r requirements/openid.txt")


def check_mysql_driver(settings: Settings) -> None:
    """Raise `SettingsError` now, not at the first query, if the driver of a MySQL database can't be loaded.

    It is an extra, and it needs a library of the system.
    """
    if not settings.database_url.startswith("mysql"):
        return
    try:
        import MySQLdb  # noqa: F401
    except ImportError as error:
        raise SettingsError(
            f"DATABASE_URL: the MySQL driver can't be loaded ({error}): pip install -r requirements/mysql.txt"
            " (needs a C compiler, pkg-config, libmariadb-dev, python3-dev)"
        ) from error
