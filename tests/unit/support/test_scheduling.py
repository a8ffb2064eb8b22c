"""What the parallel processes of pytest share of their work."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.scheduling import LONGEST, FilesByBackend, import_share

ROOT = Path(__file__).parents[3]
FILES = ["tests/test_a.py", "tests/unit/test_b.py", "tests/unit/test_c.py", "tests/unit/helpers.py"]


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the modules that were imported."""
    names: list[str] = []
    monkeypatch.setattr(importlib, "import_module", names.append)
    return names


def config_of(root: Path, args_source: pytest.Config.ArgsSource = pytest.Config.ArgsSource.TESTPATHS) -> Any:
    for file in FILES:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return SimpleNamespace(rootpath=root, args_source=args_source)


def process(number: int) -> dict[str, str]:
    """The variables of one of two processes."""
    return {"PYTEST_XDIST_WORKER": f"gw{number}", "PYTEST_XDIST_WORKER_COUNT": "2"}


def test_the_shares_of_all_processes_are_each_file_of_tests_once(tmp_path: Path, imported: list[str]) -> None:
    for number in range(2):
        import_share(config_of(tmp_path), process(number))

    assert sorted(imported) == ["tests.test_a", "tests.unit.test_b", "tests.unit.test_c"]


def test_a_separate_process_and_one_that_is_given_its_files_import_nothing(tmp_path: Path, imported: list[str]) -> None:
    import_share(config_of(tmp_path), {})
    import_share(config_of(tmp_path, pytest.Config.ArgsSource.ARGS), process(0))

    assert imported == []


class Process:
    """A process that only notes the places of the tests that it gets."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self.shutting_down = False
        self.gateway = SimpleNamespace(id="gw0")

    def send_runtest_some(self, places: list[int]) -> None:
        self.places += places

    def shutdown(self) -> None:
        pass


def scheduled(processes: list[Process], tests: list[str]) -> FilesByBackend:
    """Give tests to processes, of which each collected all of them."""
    popen = ["popen"] * len(processes)
    config: Any = SimpleNamespace(option=SimpleNamespace(loadscopereorder=False), getvalue=lambda name: popen)
    scheduler = FilesByBackend(config)
    for process in processes:
        scheduler.add_node(process)
    for process in processes:
        scheduler.add_node_collection(process, tests)
    scheduler.schedule()
    return scheduler


def test_what_needs_longest_is_begun_first_and_the_rest_in_the_order_of_pytest() -> None:
    file, _, _ = LONGEST[0].partition(" ")
    process = Process()
    tests = ["tests/test_a.py::test_1", "tests/test_b.py::test_2", "tests/test_a.py::test_3", f"{file}::test_4"]

    scheduled([process], tests).mark_test_complete(process, 3)

    assert process.places == [3, 0, 2, 1]


def test_two_processes_may_run_tests_of_one_file_that_share_nothing() -> None:
    file, _, _ = next(group for group in LONGEST if group.endswith("[reads] embedded")).partition("[")
    processes = [Process(), Process()]

    scheduled(processes, [f"{file}::test_1[reads]", f"{file}::test_1[changes]"])

    assert [process.places for process in processes] == [[0], [1]]


def test_the_groups_that_are_begun_first_exist() -> None:
    paths = [re.split(r"[\[ ]", group)[0] for group in LONGEST]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert len({*LONGEST}) == len(LONGEST)
