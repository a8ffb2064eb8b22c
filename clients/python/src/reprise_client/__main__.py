"""The entry of the command `reprise`."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from reprise_client.cli import with_extensions
    except ModuleNotFoundError as missing:
        if missing.name not in ("click", "msgspec", "yaml"):
            raise
        sys.exit('The commands need more packages: pip install "reprise-client[cli]"')
    with_extensions()(prog_name="reprise")


if __name__ == "__main__":
    main()
