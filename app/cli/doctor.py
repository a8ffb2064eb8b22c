"""`reprise doctor`: checks of an instance, each with a remedy."""

from __future__ import annotations

import click

from app.cli import context, output


@click.command()
def doctor() -> None:
    """Check settings, database, Redis, schema, workers and disk; exit code 1 when something is wrong."""
    built = context.container()
    findings = built.services.doctor.examine()
    output.table(
        ("", "check", "found", "what to do"),
        [("ok" if f.ok else "PROBLEM", f.check, f.found, "" if f.ok else f.remedy) for f in findings],
    )
    if not all(f.ok for f in findings):
        raise SystemExit(1)
