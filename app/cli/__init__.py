"""The server's commands of the command line `reprise`; they import most modules only when they run."""

from __future__ import annotations

from reprise_client.cli import Commands

from app.cli.backup import backup, restore
from app.cli.data import compress, data_policy, erase, keys
from app.cli.instance import db, doctor, init, serve, sign_in_link
from app.errors import ServiceError
from config.environment import SettingsError


def extend(main: Commands) -> None:
    """Add the server's commands to the client's command line, which then shows the server's errors as one line, too.

    Settings are read from the environment (see docs/configuration.md).
    """
    main.shown_errors = (*main.shown_errors, ServiceError, SettingsError)
    for command in (serve, init, db, keys, doctor, backup, restore, erase, compress, data_policy, sign_in_link):
        main.add_command(command)
