"""`reprise db`: the database's schema."""

from __future__ import annotations

import click

from app.cli import context


@click.group()
def db() -> None:
    """The database's schema."""


@db.command()
def upgrade() -> None:
    """Bring the schema and the catalogue of models to this release."""
    revision = context.container().services.setup.upgrade()
    click.echo(f"The schema is at revision {revision}.")
