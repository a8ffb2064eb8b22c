"""The command line `reprise`: its commands import what they need when they run."""

from __future__ import annotations

from typing import Any

import click

from app import __version__
from app.cli.bisect import bisect
from app.cli.calibrate import calibrate
from app.cli.comment import comment
from app.cli.data import data_policy, erase, export, keys
from app.cli.gate import gate
from app.cli.instance import db, doctor, init, serve, sign_in_link
from app.cli.labels import labels
from app.cli.prompts import prompts
from app.cli.replay import replay, test_cases
from app.errors import RepriseError
from config.settings import SettingsError


class _Commands(click.Group):
    """Turns the errors that are meant to be seen into one line on standard error and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (RepriseError, SettingsError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reprise")
def main() -> None:
    """Versioned prompts, agent traces as conversations, and replays of them against the draft.

    Settings come from the environment: docs/configuration.md lists them.
    """


for _command in (
    serve,
    init,
    db,
    keys,
    doctor,
    replay,
    gate,
    bisect,
    comment,
    calibrate,
    test_cases,
    prompts,
    labels,
    export,
    erase,
    data_policy,
    sign_in_link,
):
    main.add_command(_command)
