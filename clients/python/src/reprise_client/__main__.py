"""The entry of the command `reprise`."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from reprise_client.cli import with_extensions
    except ModuleNotFoundError as missing:
        if missing.name not in ("click", "msgspec", "yaml"):
            raise
        from reprise_client.errors import how_to_install

        sys.exit(f"The commands need more packages: {how_to_install('cli')}")
    with_extensions()(prog_name="reprise")


if __name__ == "__main__":
    main()
