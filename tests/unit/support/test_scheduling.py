"""What the parallel processes of pytest share of their work."""

from __future__ import annotations

import importlib
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


def test_what_needs_longest_is_begun_first_and_the_rest_in_the_order_of_pytest() -> None:
    option = SimpleNamespace(loadscopereorder=False)
    config: Any = SimpleNamespace(option=option, getvalue=lambda name: {"tx": ["popen"]}[name])
    file, _, _ = LONGEST[0].partition(" ")
    tests = ["tests/test_a.py::test_1", "tests/test_b.py::test_2", "tests/test_a.py::test_3", f"{file}::test_4"]
    scheduler, process = FilesByBackend(config), Process()
    scheduler.add_node(process)
    scheduler.add_node_collection(process, tests)

    scheduler.schedule()
    scheduler.mark_test_complete(process, 3)

    assert process.places == [3, 0, 2, 1]


def test_the_groups_that_are_begun_first_exist() -> None:
    assert [group for group in LONGEST if not (ROOT / group.partition(" ")[0]).exists()] == []
    assert len({*LONGEST}) == len(LONGEST)
