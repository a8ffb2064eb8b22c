"""The entry of the command `reprise`."""

from __future__ import annotations

import sys
import traceback

COULD_NOT_RUN = 2
UNEXPECTED = "Could not run: the instance did not answer as Reprise does, or the command has a defect."


def main() -> None:
    """Run the command. Exit code 1 is a verdict of some commands, so that a crash and an interruption end with 2."""
    try:
        from reprise_client.cli import standard_streams, terminal, with_extensions
    except ModuleNotFoundError as missing:
        if missing.name not in ("click", "msgspec", "yaml"):
            raise
        from reprise_client.errors import how_to_install

        sys.stderr.write(f"The commands need more packages: {how_to_install('cli')}\n")
        sys.exit(COULD_NOT_RUN)
    standard_streams.protect()
    try:
        with_extensions()(prog_name="reprise")
    except Exception:  # noqa: BLE001 - outermost edge
        terminal.echo(f"{traceback.format_exc()}\n{UNEXPECTED}", err=True)
        sys.exit(COULD_NOT_RUN)


if __name__ == "__main__":
    main()
