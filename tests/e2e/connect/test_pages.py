"""The pages of docs/connect show the files that are tested, pin what they install, and are all in the index."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.e2e.connect.conftest import AGENTS
from tests.e2e.connect.sdks import DOCS, TOGETHER, pinned_together

PAGES = sorted(path.parent for path in DOCS.glob("*/README.md"))
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.M | re.S)
WITH_PROGRAM = [page for page in PAGES if list(page.glob("main.*")) or list(page.glob("agent.*"))]
WITH_AGENT = [(page, agent) for page in PAGES for agent in AGENTS if (page / agent).exists()]
INSTALLS = {
    "agent.mjs": " && npm install --prefix /tmp/my-agent\n",
    "agent.py": "\npython3 -m venv /tmp/my-agent/.venv && /tmp/my-agent/.venv/bin/pip install -r "
    "/tmp/my-agent/requirements.txt\n",
}
ENTERS = {"agent.mjs": "cd /tmp/my-agent\n", "agent.py": "cd /tmp/my-agent && . .venv/bin/activate\n"}


def blocks(page: Path) -> list[str]:
    return BLOCK.findall((page / "README.md").read_text())


@pytest.mark.parametrize("page", [*PAGES, DOCS], ids=lambda page: page.name)
def test_a_page_shows_its_files_word_by_word(page: Path) -> None:
    files = [path for path in page.iterdir() if path.is_file() and path.name != "README.md"]
    assert files
    for path in files:
        assert path.read_text() in blocks(page), f"{path.name} is not a code block of the page"


@pytest.mark.parametrize("page", WITH_PROGRAM, ids=lambda page: page.name)
def test_every_package_is_pinned(page: Path) -> None:
    if (page / "package.json").exists():
        wanted = json.loads((page / "package.json").read_text())["dependencies"]
        assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())
        return
    lines = [line for line in (page / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert all(re.fullmatch(r"[\w\[\]-]+==[\w.]+", line) for line in lines)


@pytest.mark.parametrize(("page", "agent"), WITH_AGENT, ids=lambda part: getattr(part, "name", None))
def test_a_page_runs_its_agent_as_the_tests_do(page: Path, agent: str) -> None:
    (run,) = [block for block in blocks(page) if f"{agent}\n" in block and "cp -r" in block]
    assert run.startswith(f"cp -r docs/connect/{page.name} /tmp/my-agent{INSTALLS[agent]}")
    assert run.endswith(f"\n{ENTERS[agent]}{AGENTS[agent]}\n")


@pytest.mark.parametrize("group", TOGETHER, ids=" ".join)
def test_the_pages_that_are_installed_together_pin_the_same_versions(group: tuple[str, ...]) -> None:
    whole = pinned_together(group)
    if (DOCS / group[0] / "package.json").exists():
        pinned = json.loads(whole)["dependencies"]
        for name in group:
            assert json.loads((DOCS / name / "package.json").read_text())["dependencies"].items() <= pinned.items()
    else:
        names = [line.partition("==")[0] for line in whole.decode().splitlines()]
        assert len(set(names)) == len(names)


def test_the_index_links_to_every_page() -> None:
    linked = re.findall(r"\]\(([\w-]+)/\)", (DOCS / "README.md").read_text())
    assert sorted(set(linked)) == [page.name for page in PAGES]


def test_the_index_names_the_switches_that_the_pages_set() -> None:
    rows = re.findall(r"^\|.*\]\(([\w-]+)/\) \| (`[A-Z].*?) \|", (DOCS / "README.md").read_text(), re.M)
    named = [(page, switch) for page, cell in rows for switch in re.findall(r"`(\w+=\w+)`", cell)]
    assert named
    for page, switch in named:
        assert switch in (DOCS / page / "agent.env").read_text().splitlines()


def test_the_index_marks_the_programs_that_need_a_file_of_reprise() -> None:
    marked = re.findall(r"\]\(([\w-]+)/\) \*", (DOCS / "README.md").read_text())
    without = {page.name for page in PAGES if any(page.glob("main.*")) and not any(page.glob("agent.*"))}
    assert set(marked) == without


def test_every_folder_is_a_page() -> None:
    assert [path for path in sorted(DOCS.iterdir()) if path.is_dir()] == PAGES
