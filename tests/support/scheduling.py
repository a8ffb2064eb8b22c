"""Hands tests to parallel processes in groups that share the fixtures of their module, or of their package."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.waiting import own_place

_ON_SERVICES = re.compile(r"\[(?:.+-)?(?:services|mysql)(?:-.+)?\]$")
# Packages with tests that share a server, a container or a browser, which starts as slowly as many of them run.
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


def import_share(config: pytest.Config, environment: Mapping[str, str] = os.environ) -> None:
    """Import this process's share of all test files.

    What one process has compiled, with its assertions rewritten, the others read. In the same order, each would compile
    each file of a fresh clone.
    """
    number, count = own_place(environment)
    if count == 1 or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    files = sorted(path.relative_to(config.rootpath) for path in config.rootpath.glob("tests/**/test_*.py"))
    for file in files[number::count]:
        importlib.import_module(".".join(file.with_suffix("").parts))
