"""Rendering in JavaScript gives what the server gives."""

from __future__ import annotations

import json
import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest
from reprise_formats.xml import STEPS_MAX

from app.rendering.render import to_xml
from tests.clients.js.conftest import SOURCE
from tests.support.markdown import HOSTILE, random_texts

HERE = Path(__file__).parent

# Optimized code, and code that was forgotten for want of use, counts its steps wrongly.
INTERPRETED = ["--no-opt", "--no-flush-bytecode"]


def answer_of(driver: str, project: Path, module: str, given: list[Any]) -> list[Any]:
    """Return the output of a script in this folder for a list with a module, or a folder of modules, of the package."""
    installed = project / "node_modules" / "@reprise" / "client" / "dist" / module
    done = subprocess.run(
        ["node", *INTERPRETED, HERE / driver, installed.resolve()],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def rendered(project: Path, texts: list[str]) -> list[Any]:
    """Render texts in the format XML; returns each instruction, or the error's message."""
    made = answer_of("render.js", project, "rendering.js", [[text, "XML", [], {}] for text in texts])
    return [each.get("instruction") or each["error"] for each in made]


@pytest.mark.parametrize("seed", range(4))
def test_xml_is_what_the_server_makes(project: Path, seed: int) -> None:
    texts = random_texts(2_000, seed)

    differing = [text for text, made in zip(texts, rendered(project, texts), strict=True) if made != to_xml(text)]

    assert min(differing, key=len, default=None) is None


def test_xml_of_texts_made_to_be_slow_is_what_the_server_makes(project: Path) -> None:
    texts = [make(20_000 // len(make(1))) for make in HOSTILE.values()]
    assert rendered(project, texts) == [to_xml(text) for text in texts]


def test_a_text_of_too_many_lines_and_blocks_is_refused(project: Path) -> None:
    refused, converted = rendered(project, ["-\n" * (STEPS_MAX // 2 + 1), "-\n" * (STEPS_MAX // 2)])
    assert refused == f"InvalidRequestError: value: XML has at most {STEPS_MAX} lines, lists and quotes."
    assert converted == to_xml("-\n" * (STEPS_MAX // 2))


def test_every_letter_of_the_basic_plane_makes_the_name_that_the_server_makes(project: Path) -> None:
    newer = {"\ua7cb", "\ua7dc"}  # capital letters of Unicode 16
    letters = [char for code in range(0x10000) if (char := chr(code)).isprintable() and char not in newer]
    texts = [f"# a{char}b *c*{char}" for char in letters]
    assert rendered(project, texts) == [to_xml(text) for text in texts]


def test_its_tables_are_those_of_python() -> None:
    written = runpy.run_path(str(SOURCE / "tables.py"))
    assert written["TABLES"].read_text() == written["tables"]()


def test_twice_the_text_needs_at_most_twice_the_steps(project: Path) -> None:
    sizes = {name: 4_000 // len(make(1)) + 1 for name, make in HOSTILE.items()}
    texts = [make(n * sizes[name]) for name, make in HOSTILE.items() for n in (1, 2)]

    steps = answer_of("steps.js", project, "", texts)

    counted = zip(HOSTILE, steps[::2], steps[1::2], strict=True)
    assert all(steps)
    assert {name: (once, twice) for name, once, twice in counted if twice > 2 * once + 200} == {}
