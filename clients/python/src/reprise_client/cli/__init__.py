"""The command line `reprise`: what talks to an instance over HTTP, and with the server installed its own commands."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

import click

from reprise_client import __version__
from reprise_client.cli import terminal
from reprise_client.cli.agents import agents
from reprise_client.cli.bisect import bisect
from reprise_client.cli.calibrate import calibrate
from reprise_client.cli.case_list import delete_cases, list_cases
from reprise_client.cli.comment import comment
from reprise_client.cli.effects import effects
from reprise_client.cli.exporting import export
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.findings import findings
from reprise_client.cli.gate import gate
from reprise_client.cli.guard_map import guard_map
from reprise_client.cli.importing import import_
from reprise_client.cli.insight import insight
from reprise_client.cli.judge import judge
from reprise_client.cli.labels import labels
from reprise_client.cli.mcp import mcp
from reprise_client.cli.models import models
from reprise_client.cli.prompts import prompts
from reprise_client.cli.replay import replay, test_cases
from reprise_client.cli.schedules import schedules
from reprise_client.cli.sessions import sessions
from reprise_client.cli.skills import skills
from reprise_client.cli.suite import suite
from reprise_client.cli.traces import traces


class Commands(click.Group):
    """Turns errors of the types in `shown_errors` into one line on standard error and exit code 1.

    Messages may repeat what a server or a model wrote, so their hidden characters are shown.
    """

    shown_errors: tuple[type[Exception], ...] = ()

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except self.shown_errors as error:
            raise click.ClickException(terminal.shown(str(error))) from error
        except click.ClickException as error:
            vars(error)["message"] = terminal.shown(error.message)
            raise
        except KeyboardInterrupt as interrupt:
            raise CouldNotRun("Interrupted.") from interrupt


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reprise")
def main() -> None:
    """Versioned prompts, agent traces as conversations, and replays of them against the draft.

    REPRISE_URL and REPRISE_API_KEY name the instance and a key of the prompt's project.
    """


test_cases.add_command(effects)
for _command in (list_cases, delete_cases):
    test_cases.add_command(_command)
_ABOUT_TESTS = (
    replay,
    gate,
    guard_map,
    bisect,
    comment,
    calibrate,
    judge,
    findings,
    schedules,
    suite,
    test_cases,
)
_ABOUT_PROMPTS = (agents, models, prompts, labels)
for _command in (*_ABOUT_TESTS, *_ABOUT_PROMPTS, sessions, traces, insight, import_, export, mcp, skills):
    main.add_command(_command)


@cache
def with_extensions() -> Commands:
    """Return `main` with the commands of other distributions, as the server is one.

    Each entry point of the group `reprise.commands` is a function with the argument `main`.
    """
    for extension in entry_points(group="reprise.commands"):
        extension.load()(main)
    return main
