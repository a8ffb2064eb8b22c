"""Hands tests to parallel processes in groups that share the fixtures of their module."""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling

_ON_SERVICES = re.compile(r"\[(?:.+-)?(?:services|mysql)(?:-.+)?\]$")


class FilesByBackend(LoadScopeScheduling):  # type: ignore[misc]
    """Groups the tests of one file on one backend: a process that runs one of them runs them all.

    xdist's own groups, `--dist loadgroup`, rename tests in a way that pytest 9.2 does not see.
    """

    def _split_scope(self, nodeid: str) -> str:
        """Return the name of a test's group."""
        file = nodeid.partition("::")[0]
        return f"{file} {'services' if _ON_SERVICES.search(nodeid) else 'embedded'}"
