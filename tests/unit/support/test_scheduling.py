"""What the parallel processes of pytest share of their work."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.scheduling import import_share

FILES = ["tests/test_a.py", "tests/unit/test_b.py", "tests/unit/test_c.py", "tests/unit/helpers.py"]


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the modules that were imported."""
    names: list[str] = []
    monkeypatch.setattr(importlib, "import_module", names.append)
    return names


def config_of(root: Path, **of: Any) -> Any:
    for file in FILES:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return SimpleNamespace(rootpath=root, args_source=pytest.Config.ArgsSource.TESTPATHS, **of)


def test_the_shares_of_all_processes_are_each_file_of_tests_once(tmp_path: Path, imported: list[str]) -> None:
    for number in range(2):
        import_share(config_of(tmp_path, workerinput={"workerid": f"gw{number}", "workercount": 2}))

    assert sorted(imported) == ["tests.test_a", "tests.unit.test_b", "tests.unit.test_c"]


def test_a_process_of_its_own_and_one_that_is_told_its_files_import_nothing(
    tmp_path: Path, imported: list[str]
) -> None:
    told = config_of(tmp_path, workerinput={"workerid": "gw0", "workercount": 1})
    told.args_source = pytest.Config.ArgsSource.ARGS

    import_share(told)
    import_share(config_of(tmp_path))

    assert imported == []
