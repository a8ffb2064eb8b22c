"""`reprise export`: a prompt's sessions, runs or test cases as JSON lines."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from app.cli import context

KINDS = ("sessions", "runs", "test-cases")


@click.command("export")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--prompt", "prompt_id", type=int, required=True, help="Prompt id.")
@click.option("--since", type=click.DateTime(), help="Only what began then or later, UTC.")
@click.option("--until", type=click.DateTime(), help="Only what began before, UTC.")
@context.project_option
def export(kind: str, prompt_id: int, since: datetime | None, until: datetime | None, project_id: int | None) -> None:
    """Write a prompt's sessions, runs or test cases to standard output, newest first, one JSON object a line.

    Each is as the API answers it.
    """
    from app.http.exports import ExportQuery, line, records

    built = context.container()
    project_id, query = context.project_or_oldest(built, project_id), ExportQuery(_utc(since), _utc(until))
    for record in records(built.services.export, kind, project_id=project_id, prompt_id=prompt_id, query=query):
        click.echo(line(record), nl=False)


def _utc(when: datetime | None) -> datetime | None:
    return when and when.replace(tzinfo=UTC)
