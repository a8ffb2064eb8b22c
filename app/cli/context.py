"""What all commands share: settings with quiet logs, the container, and the option `--project`."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import click

from config.settings import Settings

if TYPE_CHECKING:
    from app.wiring.container import Container

NO_DATABASE = (
    "There is no database: {file} is missing or empty. `reprise serve` or `reprise init` makes one, `reprise restore` "
    "brings a backup back; is REPRISE_HOME the folder that you mean?"
)

project_option = click.option("--project", "project_id", type=int, help="Project id; the oldest project when left out.")


def load() -> Settings:
    """Return the settings. Only warnings and errors are logged, so that a command's output stays readable."""
    from config import logging

    settings = Settings.load()
    quiet = settings.log_level if settings.log_level in {"warning", "error"} else "warning"
    logging.configure(replace(settings, log_level=quiet))
    return settings


def container(
    settings: Settings | None = None, *, database: Literal["required", "made", "optional"] = "required"
) -> Container:
    """Return the container of a command, which connects lazily and is closed at the command's end.

    `database` decides what happens if SQLite's file is missing or empty. `made`: commands that set up an instance make
    it. `required`: the command ends with exit code 2. `optional`: the command works without it, and makes no file.
    """
    from app.process import home
    from app.process.bootstrap import bootstrap

    settings = settings or load()
    container = bootstrap(settings)
    click.get_current_context().call_on_close(container.close)
    if database == "required" and (file := container.database.missing_file):
        raise click.UsageError(NO_DATABASE.format(file=file))
    home.claim(settings.home, with_database=not settings.database_url, make_database=database == "made")
    return container


def wait_until_server_forgets(container: Container) -> None:
    """Wait until a running server has dropped the prompts that this command has changed.

    In the embedded mode command and server each have their own Redis, so the server only notices a change when it
    reads the prompt again.
    """
    from app.redis_store.epochs import REMEMBERED_S

    if container.settings.embedded:
        time.sleep(REMEMBERED_S)


def project_or_oldest(container: Container, project_id: int | None) -> int:
    return container.services.projects.oldest() if project_id is None else project_id
