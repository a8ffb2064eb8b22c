"""`reprise sessions`: the project's recorded conversations, found by their words and by how they went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from reprise_client.cli import terminal
from reprise_client.cli.replay import key_option, url_option

COLUMNS = ("Session", "Last activity", "Turns", "Errors", "Cost", "Begins with")
ORDERS = ("time", "cost", "duration", "errors", "oldest", "shortest", "fewestErrors")


@click.command()
@url_option
@key_option
@click.option("--q", help='The words of one turn: words, "phrases", beginnings as refund*, and -words.')
@click.option("--prompt", "promptId", type=int, help="The prompt's id.")
@click.option("--version", help="A commit hash.")
@click.option("--label", help="Of a version that it ran with.")
@click.option("--model")
@click.option("--user", "userId")
@click.option("--conversation", "conversationId")
@click.option("--error/--no-error", "errors", default=None, help="With an error, or without any.")
@click.option("--tool", help="A tool that was called.")
@click.option("--failed-tool", "failedTool", help="A tool that failed.")
@click.option("--score", help="The name of a score.")
@click.option("--min-score", "minScore", type=float)
@click.option("--max-score", "maxScore", type=float)
@click.option("--min-cost", "minCost", type=float, help="US dollars.")
@click.option("--max-cost", "maxCost", type=float, help="US dollars.")
@click.option("--since", type=click.Choice(["1h", "1d", "7d", "30d", "yesterday"]))
@click.option("--from", "from", metavar="TIME", help="Such as 2026-11-22T00:00:00Z.")
@click.option("--to", metavar="TIME")
@click.option("--sort", type=click.Choice(ORDERS), help="The latest come first by default.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
def sessions(url: str, api_key: str, **filters: Any) -> None:
    """List the project's recorded conversations; all conditions that are given hold of each."""
    from reprise_client.cli import remote

    given = {name: str(value).lower() if name == "errors" else value for name, value in filters.items()}
    query = {name: value for name, value in given.items() if filters[name] is not None}
    page = remote.connect(url, api_key).get("/api/v1/sessions", **query)
    terminal.table(COLUMNS, map(row, page.listed("sessions")))
    if page["nextCursor"]:
        terminal.echo("There are more: give further conditions, or a larger --limit.", err=True)


def row(session: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a session of the API as `COLUMNS` show it, in one line."""
    cost = "" if session["cost"] is None else f"${session['cost']:.4f}"
    counted = ("" if session[name] is None else str(session[name]) for name in ("turns", "errors"))
    preview = " ".join((session["preview"] or "").split())
    return session["id"], session["lastActivityAt"], *counted, cost, preview
