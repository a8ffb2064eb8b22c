"""`reprise skills`: instructions for coding agents."""

from __future__ import annotations

from pathlib import Path

import click

from reprise_client.cli import terminal
from reprise_client.cli.failures import CouldNotRun
from reprise_client.skills import FILE
from reprise_client.skills import skills as known_skills

FOLDERS = {
    "claude-code": Path(".claude/skills"),
    "codex": Path(".agents/skills"),
    "copilot": Path(".github/skills"),
}
"""The folders of a project, or of a user's home, in which coding agents look for skills."""


@click.group()
def skills() -> None:
    """Instructions for coding agents: connect an agent, make tests, gate a change, read a failed gate."""


@skills.command("list")
def list_skills() -> None:
    """Print a line for each skill: its name, and when a coding agent uses it."""
    for skill in known_skills():
        terminal.echo(f"{skill.name}\t{skill.description}")


@skills.command()
@click.option(
    "--for",
    "agents",
    type=click.Choice(list(FOLDERS)),
    multiple=True,
    help="A coding agent; repeatable. All by default.",
)
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Another folder of skills, instead of --for.",
)
@click.option("--user", is_flag=True, help="Install into the home folder, for all projects, not into this folder.")
def install(agents: tuple[str, ...], folder: Path | None, user: bool) -> None:
    """Write the skills for coding agents into this project. A skill of an earlier release is replaced.

    Folders: .claude/skills for claude-code, .agents/skills for codex and others that follow it, .github/skills for
    copilot. The skills need REPRISE_URL and REPRISE_API_KEY in the environment of the coding agent.
    """
    if folder is not None and (agents or user):
        raise click.UsageError("--to names the folder: leave out --for and --user.")
    base = Path.home() if user else Path()
    folders = [folder] if folder is not None else [base / FOLDERS[agent] for agent in agents or FOLDERS]
    for target in folders:
        for skill in known_skills():
            file = target / skill.name / FILE
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(skill.text, encoding="utf-8")
            except OSError as error:
                raise CouldNotRun(f"{file}: {error.strerror}.") from error
            terminal.echo(str(file))
