"""`reprise serve`: the whole product, in one process or, on MySQL and Redis, in several."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from app.cli.instance import base_url, prepare
from app.process import home
from config.settings import Settings

if TYPE_CHECKING:
    from app.services.operations.setup import Admin, Seed


@click.command()
@click.option("--demo/--no-demo", default=True, help="Keep a demo prompt to try things on.", show_default=True)
def serve(demo: bool) -> None:
    """Serve HTTP and do the work behind it, until SIGTERM or Ctrl-C.

    Without DATABASE_URL and REDIS_URL everything runs in one process, on SQLite in REPRISE_HOME. With them, web,
    workers and clock run as processes of their own, as the Procfile lists them; one that dies is started again.
    """
    from app.process.startup import start

    settings = start("serve")
    home.claim(settings.home, with_database=not settings.database_url)
    settings = replace(settings, secret_key=settings.secret_key or home.secret_key(settings.home))
    (_serve_embedded if settings.embedded else _serve_services)(settings, demo)


def _serve_embedded(settings: Settings, demo: bool) -> None:
    from app.process import embedded

    with home.lock(settings.home):
        _check_port(settings)
        ready_text = _ready_text(settings, *prepare(settings, demo=demo, new_key=True))
        embedded.serve(settings, on_ready=lambda: click.echo(ready_text))


def _serve_services(settings: Settings, demo: bool) -> None:
    from app.process import serve as services

    _check_port(settings)
    ready_text = _ready_text(settings, *prepare(settings, demo=demo, new_key=False))

    url = replace(settings, public_url="")
    supervisor = services.Supervisor(services.procfile(), services.environment(os.environ, settings.secret_key))
    supervisor.run(
        ready=lambda: services.answers(f"{base_url(url)}/health/ready"), on_ready=lambda: click.echo(ready_text)
    )


def _check_port(settings: Settings) -> None:
    """Fail now with a message, as the server itself would go on trying."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            address = f"{settings.host}:{settings.port}"
            message = f"Can't listen on {address}: {error.strerror}. Set PORT (and REPRISE_HOST) to a free address."
            raise click.ClickException(message) from error


def _ready_text(settings: Settings, seed: Seed, admin: Admin) -> str:
    lines = [
        "Reprise is ready.",
        f"  Base URL     {base_url(settings)}",
        f"  API key      {seed.api_key or '(made earlier; `reprise keys create` makes another)'}",
        f"  Demo prompt  {seed.prompt_id}" if seed.prompt_id else "",
        f"  Sign-in      {base_url(settings)}{admin.path}",
        f"               or as {admin.email} with the password {admin.password}" if admin.password else "",
        f"  All of it as shell variables: {settings.home / home.DEV_ENV}",
    ]
    return "\n".join(line for line in lines if line)
