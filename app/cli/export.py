"""`reprise export`: what is stored of a prompt, as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from app.cli import context

if TYPE_CHECKING:
    from app.bootstrap import Container

KINDS = ("sessions", "runs", "test-cases")


@click.command("export")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--prompt", "prompt_id", type=int, required=True, help="Prompt id.")
@click.option("--since", type=click.DateTime(), help="Only what began then or later, UTC.")
@click.option("--until", type=click.DateTime(), help="Only what began before, UTC.")
@click.option("--project", "project_id", type=int, help="Project id; the oldest project when left out.")
def export(kind: str, prompt_id: int, since: datetime | None, until: datetime | None, project_id: int | None) -> None:
    """Write a prompt's sessions, runs or test cases to standard output, newest first, one JSON object a line.

    Each is as the API answers it.
    """
    import orjson

    if kind == "test-cases" and (since or until):
        raise click.UsageError("--since and --until are for sessions and runs: test cases have no time.")
    built = context.container()
    project_id = context.only_project(built, project_id)
    for record in records(built, kind, project_id, prompt_id, _utc(since), _utc(until)):
        click.echo(orjson.dumps(record, option=orjson.OPT_NON_STR_KEYS))


def _utc(when: datetime | None) -> datetime | None:
    return when and when.replace(tzinfo=UTC)


def records(
    built: Container, kind: str, project_id: int, prompt_id: int, since: datetime | None, until: datetime | None
) -> Iterator[dict[str, Any]]:
    """What is exported, as the API shows it; `NotFound` for a prompt that the project does not have."""
    from app.schemas.runs import record_json
    from app.schemas.test_cases import dump_test_case
    from app.sessions.present import present_session

    found = built.services.export
    found.check(project_id=project_id, prompt_id=prompt_id)
    if kind == "sessions":
        for session in found.of_sessions(project_id=project_id, prompt_id=prompt_id, since=since, until=until):
            yield present_session(session.id, session.prompt_id, session.conversation_id, session.turns)
    elif kind == "runs":
        rows = found.of_runs(project_id=project_id, prompt_id=prompt_id, since=since, until=until)
        yield from map(record_json, rows)
    else:
        yield from map(dump_test_case, found.of_test_cases(prompt_id=prompt_id))
