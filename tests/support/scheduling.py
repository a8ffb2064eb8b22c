"""Hands tests to parallel processes in groups that share the fixtures of their module, or of their package."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.support.waiting import own_place

_ON_SERVICES = re.compile(r"\[(?:.+-)?(?:services|mysql)(?:-.+)?\]$")
# Packages with tests that share a server, a container or a browser, which starts as slowly as many of them run.
_PACKAGES = re.compile(
    r"tests/(?:e2e/(?:connect|ui)|integration/(?:prompts|providers|replays|runs|security/answers))(?=/)"
)
# Files with long tests that share nothing: tests with other parameters are another group.
_APART = ("tests/integration/operations/test_worst_requests.py",)
# What one process runs for minutes, the longest first: begun late, it would run when the other processes have ended.
LONGEST = (
    "tests/gate/test_strangers.py embedded",
    "tests/integration/replays embedded",
    "tests/integration/replays services",
    "tests/integration/operations/test_worst_requests.py[reads] embedded",
    "tests/integration/operations/test_worst_requests.py[changes] embedded",
    "tests/e2e/connect embedded",
    "tests/e2e/ui embedded",
    "tests/fuzz/test_endpoints.py embedded",
    "tests/integration/security/answers services",
    "tests/integration/security/answers embedded",
    "tests/integration/runs services",
    "tests/integration/deploy/test_memory.py embedded",
    "tests/chaos/test_clusters.py embedded",
    "tests/chaos/test_chaos.py embedded",
    "tests/crash/test_crash_points.py services",
)


class FilesByBackend(LoadScopeScheduling):  # type: ignore[misc]
    """Groups the tests of one file, or of one package that shares something, on one backend.

    A process that runs one of them runs them all. The groups of `LONGEST` come first, the others in pytest's order.
    xdist's own groups, `--dist loadgroup`, rename tests in a way that pytest 9.2 does not see.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._places: dict[WorkerController, dict[str, int]] = {}

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Give the next group to a process.

        xdist's own method searches the list of all tests for each test.
        """
        group = next((name for name in LONGEST if name in self.workqueue), None) or next(iter(self.workqueue))
        tests = self.workqueue.pop(group)
        self.assigned_work.setdefault(node, {})[group] = tests
        if node not in self._places:
            self._places[node] = {nodeid: place for place, nodeid in enumerate(self.registered_collections[node])}
        node.send_runtest_some([self._places[node][nodeid] for nodeid, is_done in tests.items() if not is_done])

    def _split_scope(self, nodeid: str) -> str:
        """Return the name of a test's group."""
        package = _PACKAGES.match(nodeid)
        file, _, test = nodeid.partition("::")
        shared = package[0] if package else file
        if file in _APART:
            shared += test[test.find("[") :]
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
