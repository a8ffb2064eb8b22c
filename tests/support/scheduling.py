"""Hands tests to parallel processes in groups that share the fixtures of their module, or of their package."""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling

_ON_SERVICES = re.compile(r"\[(?:.+-)?(?:services|mysql)(?:-.+)?\]$")
# Packages whose tests share a server, a container or a browser, which takes as long to start as many of them.
_PACKAGES = re.compile(
    r"tests/(?:e2e/(?:connect|ui)|integration/(?:prompts|providers|replays|runs|security/answers))(?=/)"
)


class FilesByBackend(LoadScopeScheduling):  # type: ignore[misc]
    """Groups the tests of one file, or of one package that shares something, on one backend.

    A process that runs one of them runs them all. xdist's own groups, `--dist loadgroup`, rename tests in a way that
    pytest 9.2 does not see.
    """

    def _split_scope(self, nodeid: str) -> str:
        """Return the name of a test's group."""
        package = _PACKAGES.match(nodeid)
        shared = package[0] if package else nodeid.partition("::")[0]
        return f"{shared} {'services' if _ON_SERVICES.search(nodeid) else 'embedded'}"
