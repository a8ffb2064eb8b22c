"""What the commands share: settings, services built from them, and quiet logs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from config.settings import Settings

if TYPE_CHECKING:
    from app.container import Container


def load() -> Settings:
    """The settings; warnings and errors alone are logged, so that a command's output stays readable."""
    from config import logging

    settings = Settings.load()
    quiet = settings.log_level if settings.log_level in {"warning", "error"} else "warning"
    logging.configure(replace(settings, log_level=quiet))
    return settings


def container(settings: Settings | None = None) -> Container:
    """Everything a process has; connects when it is used."""
    from app.process import home
    from app.process.bootstrap import bootstrap

    settings = settings or load()
    home.claim(settings.home, with_database=not settings.database_url)
    return bootstrap(settings)


def let_server_forget(built: Container) -> None:
    """Wait until a server beside this command knows of a change of prompts.

    Embedded, each has a Redis of its own: the server hears of nothing, but soon asks the database again.
    """
    from app.redis_store.epochs import REMEMBERED_S

    if built.settings.embedded:
        time.sleep(REMEMBERED_S)


def only_project(built: Container, project_id: int | None) -> int:
    """`project_id`, or the oldest project."""
    import click

    from app.models import organizations

    if project_id is not None:
        return project_id
    with built.database.read() as connection:
        projects = organizations.list_projects(connection)
    if not projects:
        raise click.ClickException("There is no project yet: run `reprise init`.")
    return projects[0].id
