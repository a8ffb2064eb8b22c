"""`reprise serve`, `init`, `db`, `doctor` and `sign-in-link`, for operators of an instance."""

from __future__ import annotations

import gc
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from reprise_client.cli import terminal

from app.cli import context
from app.process import home
from config.settings import Settings

LOOK_AGAIN_S = 3.0
"""Seconds after which rows that break a rule are looked at again: they may have been in the middle of a change."""
SHOWN_IDS = 20
ROWS_PER_PROGRESS_LINE = 100_000

if TYPE_CHECKING:
    from app.services.data.invariants import Examined, InvariantService
    from app.services.operations.readiness import ReadinessFinding
    from app.services.operations.setup import Admin, Seed


@click.command()
@click.option("--demo", is_flag=True, help="Add the demo prompt.")
def init(demo: bool) -> None:
    """Make schema, organization, project and a first API key; existing ones are kept.

    A new key is printed only this time, with a link that signs the administrator in. Both are written to dev.env in
    REPRISE_HOME.
    """
    settings = context.load()
    home.claim(settings.home, with_database=not settings.database_url)
    if not os.access(settings.home, os.W_OK):
        raise click.ClickException(f"REPRISE_HOME: can't write to {settings.home}")
    seed, admin = prepare(settings, demo=demo, new_key=False)
    terminal.echo(f"Project {seed.project_id}" + (f", demo prompt {seed.prompt_id}" if seed.prompt_id else ""))
    if seed.api_key and seed.key_is_new:
        terminal.echo(f"API key {seed.api_key}")
    else:
        terminal.echo("It has an API key already: `reprise keys create` makes more.")
    terminal.echo(f"Sign in as {admin.email}, within a day: {base_url(settings)}{admin.path}")


def prepare(settings: Settings, *, demo: bool, new_key: bool) -> tuple[Seed, Admin]:
    """Set up the instance, and write its URL, keys and credentials to dev.env, and those of an agent to agent.sh."""
    container = context.container(settings, database="made")
    kept = home.read_dev_env(settings.home)
    container.services.setup.upgrade()
    seed = container.services.setup.seed(
        with_demo=demo, api_key=kept.get("API_KEY", ""), prompt_id=kept.get("PROMPT_ID", ""), new_key=new_key
    )
    admin = container.services.setup.admin(
        project_id=seed.project_id, email=kept.get("ADMIN_EMAIL", ""), password=kept.get("ADMIN_PASSWORD", "")
    )
    known = {
        "BASE_URL": base_url(settings),
        "API_KEY": seed.api_key,
        "PROMPT_ID": str(seed.prompt_id) if seed.prompt_id else None,
        "ADMIN_EMAIL": admin.email,
        "ADMIN_PASSWORD": admin.password,
        "SIGN_IN_LINK": base_url(settings) + admin.path,
    }
    variables = kept | {name: value for name, value in known.items() if value}
    home.write_dev_env(settings.home, variables)
    if "API_KEY" in variables:
        home.write_agent_variables(settings.home, url=variables["BASE_URL"], api_key=variables["API_KEY"])
    # `serve` runs for a long time, and its children must not inherit a connection.
    container.close()
    return seed, admin


def base_url(settings: Settings) -> str:
    """Return the base URL by which clients on this machine reach the server."""
    host = "127.0.0.1" if settings.host in {"0.0.0.0", "::"} else settings.host  # noqa: S104 - compared, not bound
    return settings.public_url.rstrip("/") or f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


@click.group()
def db() -> None:
    """The database's schema."""


@db.command()
def upgrade() -> None:
    """Bring the schema and the catalogue of models to this release."""
    revision = context.container(database="made").services.setup.upgrade()
    terminal.echo(f"The schema is at revision {revision}.")


@click.command()
@click.option("--deep", is_flag=True, help="Also read all stored rows and check the rules that they obey.")
def doctor(deep: bool) -> None:
    """Check settings, database, Redis, schema, workers and disk; exit code 1 when something is wrong.

    With --deep, which may run while the service does, the database checks its files, and every session, turn and span
    is read: about half a minute of a processor for a million spans. It names the rows that break a rule.
    """
    # No database is made, because `reprise restore` only works without one.
    container = context.container(database="optional")
    findings = container.services.doctor.examine()
    if deep and all(finding.ok for finding in findings):
        findings.append(_files_finding(container.services.invariants.damages()))
        findings += [_deep_finding(examined) for examined in _examine_rows(container.services.invariants)]
    terminal.table(
        ("", "check", "found", "what to do"),
        [("ok" if f.ok else "PROBLEM", f.check, f.state, "" if f.ok else f.remedy) for f in findings],
    )
    if not all(f.ok for f in findings):
        raise SystemExit(1)


def _examine_rows(invariants: InvariantService) -> Iterator[Examined]:
    def show(rule: str, rows: int) -> None:
        if rows % ROWS_PER_PROGRESS_LINE == 0:
            terminal.echo(f"{rule}: {rows:,} rows examined", err=True)

    yield from invariants.examine_all(show, pause=lambda: time.sleep(LOOK_AGAIN_S))


def _files_finding(damages: list[str]) -> ReadinessFinding:
    from app.models.invariants import DAMAGED
    from app.services.operations.readiness import ReadinessFinding

    state = "; ".join(damages) or "the database finds no damage in its files"
    return ReadinessFinding("database files", not damages, state, DAMAGED)


def _deep_finding(examined: Examined) -> ReadinessFinding:
    from app.services.operations.readiness import ReadinessFinding

    rule = examined.invariant
    if not examined.broken:
        return ReadinessFinding(rule.name, True, f"{examined.rows:,} rows examined", "")
    ids = ", ".join(str(place.id) for place in examined.broken[:SHOWN_IDS])
    more = f" and {len(examined.broken) - SHOWN_IDS} more" if len(examined.broken) > SHOWN_IDS else ""
    state = f"{rule.table.name} {ids}{more}: not as it must be. {rule.meaning}"
    return ReadinessFinding(rule.name, False, state, rule.remedy)


@click.command("sign-in-link")
@click.argument("email")
@click.option("--keep-password", is_flag=True, help="The link signs in only. Others may know the password.")
def sign_in_link(email: str, keep_password: bool) -> None:
    """Print a link that signs in the user of EMAIL. It is valid for a day, or until the next link is made.

    The user then sets a new password, which ends the old password and all other sign-ins. Send the link only to the
    user: anyone who has it can sign in as that user.
    """
    settings = context.load()
    path = context.container(settings).services.accounts.sign_in_link(email=email, resets=not keep_password)
    terminal.echo(base_url(settings) + path)


@click.command()
@click.option("--demo/--no-demo", default=True, help="Keep a demo prompt to try things on.", show_default=True)
def serve(demo: bool) -> None:
    """Serve HTTP and run the background work, until SIGTERM or Ctrl-C.

    Without DATABASE_URL and REDIS_URL everything runs in one process, on SQLite in REPRISE_HOME, except for two
    processes that store batches of spans. With them, web, workers and clock run as separate processes, which the
    Procfile lists; a process that dies is restarted. The API key and a sign-in link are printed only on a terminal;
    they are also in dev.env in REPRISE_HOME, which only its owner can read. `. agent.sh` there sets the variables that
    send the traces of an agent.
    """
    gc.disable()  # until `freeze_gc` in app/process/bootstrap.py, which has the reason
    from app.process.bootstrap import start

    settings = start("serve")
    home.claim(settings.home, with_database=not settings.database_url)
    settings = replace(settings, secret_key=settings.secret_key or home.secret_key(settings.home))
    (_serve_embedded if settings.embedded else _serve_services)(settings, demo)


def _serve_embedded(settings: Settings, demo: bool) -> None:
    from app.process import embedded

    with home.lock(settings.home):
        _check_port(settings)
        text = ready_text(settings, *prepare(settings, demo=demo, new_key=True))
        embedded.serve(settings, on_ready=lambda: terminal.echo(text))


def _serve_services(settings: Settings, demo: bool) -> None:
    from app.process import serve as supervision

    _check_port(settings)
    text = ready_text(settings, *prepare(settings, demo=demo, new_key=False))

    # The public URL may lead to other machines, so readiness is asked at the local address.
    ready_url = f"{base_url(replace(settings, public_url=''))}/health/ready"
    supervisor = supervision.Supervisor(
        supervision.procfile(), supervision.environment(os.environ, settings.secret_key)
    )
    supervisor.run(ready=lambda: supervision.answers(ready_url), on_ready=lambda: terminal.echo(text))


def _check_port(settings: Settings) -> None:
    """Fail with a message if the port is not free; the server would retry forever."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            address = f"{settings.host}:{settings.port}"
            message = f"Can't listen on {address}: {error.strerror}. Set PORT (and REPRISE_HOST) to a free address."
            raise click.ClickException(message) from error


def ready_text(settings: Settings, seed: Seed, admin: Admin) -> str:
    """Return what is printed when the instance has started; credentials only on a terminal."""
    # A service manager stores the output of a process, and others may read it.
    shows_secrets = sys.stdout.isatty()
    agent_variables, dev_env = settings.home / home.AGENT_VARIABLES, settings.home / home.DEV_ENV
    lines = [
        "Reprise is ready.",
        f"  Base URL     {base_url(settings)}",
        f"  Demo prompt  {seed.prompt_id}" if seed.prompt_id else "",
        *(_credentials(settings, seed, admin) if shows_secrets else ()),
        f"  All of it, with API key and sign-in link, as shell variables: {dev_env}",
        *(_agent_lines(agent_variables) if agent_variables.exists() else ()),
        *((f"Sign in: {base_url(settings)}{admin.path}",) if shows_secrets else ()),
    ]
    return "\n".join(line for line in lines if line)


def _agent_lines(variables: Path) -> tuple[str, ...]:
    return (
        "To send an agent's traces here, run this in the agent's terminal, with its name:",
        f"  export REPRISE_AGENT=my-agent; . {shlex.quote(str(variables.absolute()))}",
    )


def _credentials(settings: Settings, seed: Seed, admin: Admin) -> list[str]:
    return [
        f"  API key      {seed.api_key or '(made earlier; `reprise keys create` makes another)'}",
        f"  User         {admin.email}, password {admin.password}" if admin.password else "",
    ]
