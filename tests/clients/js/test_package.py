"""The package: its own tests pass, its content is complete, and it installs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from reprise_client import __version__

from tests.clients.js.conftest import HERE, SOURCE, TSC, run_command


def test_its_own_tests_pass(needs_node: None) -> None:
    run_command(["npm", "test"], SOURCE)


def test_it_has_the_version_of_the_python_client() -> None:
    assert json.loads((SOURCE / "package.json").read_text())["version"] == __version__


def test_its_lock_names_no_registry() -> None:
    assert "://" not in (SOURCE / "package-lock.json").read_text()


def test_it_installs_without_a_registry(project: Path) -> None:
    scopes = [path.name for path in (project / "node_modules").iterdir() if not path.name.startswith(".")]

    assert scopes == ["@reprise"]


def test_it_holds_what_was_built_and_no_sources(project: Path) -> None:
    folder = project / "node_modules" / "@reprise" / "client"
    files = [path for path in folder.rglob("*") if path.is_file()]

    assert {path.name for path in folder.iterdir()} == {"README.md", "dist", "package.json"}
    assert {"".join(path.suffixes) for path in files if path.parent.name == "dist"} == {".js", ".d.ts"}


def test_its_types_hold_for_a_strict_consumer(project: Path) -> None:
    shutil.copy(HERE / "consumer.ts", project)
    # Without the types of Node: an application need not have them.
    strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--lib", "es2022,dom"]
    options = [*strict, "--types", "", "--noEmit", "--target", "es2022", "--module", "nodenext"]
    run_command([str(TSC), *options, "consumer.ts"], project)
