"""`reprise backup` and `reprise restore` for the embedded mode's database."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click
from reprise_client.cli import terminal

from app.cli import context
from app.process import home
from config.settings import Settings

USES_MYSQL = "DATABASE_URL is set: docs/data.md explains how MySQL is backed up and restored."
NO_KEY = (
    "The backup has no secret key: set REPRISE_SECRET_KEY to the one that was used, or store the vendors' keys again."
)
OTHER_KEY = (
    "The backup has another secret key than REPRISE_SECRET_KEY or REPRISE_HOME has: unset or move yours away, or "
    "restore to another folder."
)

file_argument = click.argument("file", type=click.Path(path_type=Path))


@click.command()
@file_argument
@click.option("--secret-key/--no-secret-key", default=True, help="Put secret.key into FILE, too.", show_default=True)
def backup(file: Path, secret_key: bool) -> None:
    """Write all stored data to FILE; the server may be running.

    Keep FILE where others can't read it: with the secret key, the stored keys of vendors can be decrypted.
    """
    from app.services.data.backup import back_up

    settings = _embedded_settings()
    key = home.kept_secret_key(settings.home) if secret_key else ""
    with _progress("Copying") as on_progress:
        back_up(settings.home / home.DATABASE, file, secret_key=key, on_progress=on_progress)
    terminal.echo(f"{file} is a backup of {settings.home}.")


@click.command()
@file_argument
def restore(file: Path) -> None:
    """Restore the backup FILE to a REPRISE_HOME without a database."""
    from app.services.data import backup

    settings = _embedded_settings()
    home.claim(settings.home, with_database=True)
    with home.lock(settings.home), _progress("Copying") as on_progress:
        keep_key = partial(_keep_key, settings)
        backup.restore(file, settings.home / home.DATABASE, keep_key=keep_key, on_progress=on_progress)
    terminal.echo(f"{settings.home} has what {file} has: `reprise serve` serves it.")


def _embedded_settings() -> Settings:
    """Return the settings of an instance on SQLite; fail with a message for one on MySQL."""
    settings = context.load()
    if settings.database_url:
        raise click.ClickException(USES_MYSQL)
    return settings


def _keep_key(settings: Settings, key: str) -> None:
    """Store a backup's key; refuse if another key is already stored."""
    present = settings.secret_key or home.kept_secret_key(settings.home)
    if key and present not in {"", key}:
        raise click.ClickException(OTHER_KEY)
    if key and not present:
        home.keep_secret_key(settings.home, key)
    if not key and not present:
        terminal.echo(NO_KEY, err=True)


@contextmanager
def _progress(label: str) -> Iterator[Callable[[int, int], None]]:
    # The bar counts thousandths, and `update` gets the difference to its position.
    with click.progressbar(length=1000, label=label, file=sys.stderr) as bar:
        yield lambda done, total: bar.update(1000 * done // max(1, total) - bar.pos)
