"""Texts of users, models and servers control no terminal, whichever command prints them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reprise_client.cli import gate_run, main, remote, replay_report, terminal
from reprise_client.cli.gate_report import junit, markdown
from reprise_client.cli.replay_runner import ReplayOutcome
from reprise_formats.controls import HIDDEN, visible, visible_lines

from tests.fakes.one_text import instance_of, replay_of
from tests.support.experiments import case, experiment, side

CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4=\x07\x1b[2J"
HOSTILE = st.text(
    st.one_of(
        st.sampled_from("\x00\x07\x08\r\x0b\x1b\x7f\x85\x9b\x9d\u061c\u200e\u2028\u202e\u2066\u2069\n\t"),
        st.characters(exclude_categories=["Cs"]),
    ),
    min_size=1,
    max_size=20,
)
hidden = re.compile(f"[{HIDDEN}]")
# The colours that `terminal` itself gives to lines.
STYLE = re.compile(r"\x1b\[(0|1|22|3\d)m")

COMMANDS = (
    "sessions",
    "labels list --prompt 3",
    "labels move live latest --prompt 3",
    "insight --prompt 3",
    "prompts diff FILE",
    "prompts pull FILE --force",
    "prompts push FILE --force",
    "test-cases add --prompt 3 --session s1",
    "replay --prompt 3",
    "calibrate --prompt 3",
)
DOCUMENTS = (
    "insight --prompt 3 --json",
    "replay --prompt 3 --json -",
    "replay --prompt 3 --junit -",
    "export sessions --prompt 3",
)


def run(command: str, text: str, folder: Path, *, person: bool, refuses: bool = False) -> Result:
    """A command's output on a terminal (for a `person`) or in a pipe."""
    file = folder / "prompt.md"
    file.write_text("---\nprompt: 3\nmodel: echo\ninstructionFormat: RAW\n---\nHelp.\n")
    arguments = [str(file) if word == "FILE" else word for word in command.split()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "connect", lambda *_, **__: instance_of(text, refuses=refuses))
        patch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: person, raising=False)
        env = {"REPRISE_URL": "http://reprise", "REPRISE_API_KEY": "rp_key"}
        return CliRunner().invoke(main, arguments, env=env, color=True)


def shown(result: Result) -> str:
    """What reached the terminal, but for the styles and the progress that `terminal` draws."""
    return STYLE.sub("", result.output).replace("\r\x1b[K", "").replace("of 1\r", "")


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("command", COMMANDS)
@settings(max_examples=15)
@given(HOSTILE)
@example(CLIPBOARD)
def test_no_command_prints_controls(
    tmp_path_factory: pytest.TempPathFactory, command: str, person: bool, refuses: bool, text: str
) -> None:
    result = run(command, text, tmp_path_factory.getbasetemp(), person=person, refuses=refuses)

    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.output or command.startswith("prompts push")
    assert hidden.findall(shown(result)) == []


RUNNER_COMMANDS = (
    "##[set-output name=approved]true",
    "so it is ##[add-mask]e",
    "##vso[task.setvariable variable=PATH]/tmp",
    "##VSO[task.complete result=Succeeded]",
    "##teamcity[buildStatus status='SUCCESS']",
    "::stop-commands::abc",
    "one line\n \t\u00a0::error file=a.py::no",
    "###[debug]x",
)
read_as_command = re.compile(r"##\[|##vso\[|##teamcity\[|^\s*::", re.I | re.M)


@pytest.mark.parametrize("variable", ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"])
@pytest.mark.parametrize("text", RUNNER_COMMANDS)
@pytest.mark.parametrize("command", [*COMMANDS, *DOCUMENTS, "gate --prompt 3 --json -", "gate --prompt 3 --markdown -"])
def test_no_command_prints_commands_to_a_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, text: str, variable: str
) -> None:
    monkeypatch.setenv(variable, "true")

    for refuses in (False, True):
        result = run(command, text, tmp_path, person=False, refuses=refuses)
        assert read_as_command.findall(result.output) == []


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_an_export_has_the_same_values_for_a_runner(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    lines = "".join(json.dumps({"text": f"é {text} ##"}, ensure_ascii=False) + "\n" for text in RUNNER_COMMANDS)
    content = lines.encode()
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    for variable in terminal.RUNNERS:
        monkeypatch.delenv(variable, raising=False)

    assert list(terminal.json_lines(pieces)) == pieces
    monkeypatch.setenv("TF_BUILD", "True")
    printed = b"".join(terminal.json_lines(pieces)).decode()
    assert read_as_command.findall(printed) == []
    assert [json.loads(line) for line in printed.splitlines()] == [json.loads(line) for line in lines.splitlines()]


def test_a_report_in_json_has_the_same_values_and_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in terminal.RUNNERS:
        monkeypatch.delenv(variable, raising=False)
    value = {"names": [*RUNNER_COMMANDS, "## title", "\ud800"]}

    written = terminal.json_document(value)

    assert read_as_command.findall(written) == []
    assert json.loads(written) == value
    assert "## title" in written


def test_texts_for_a_person_keep_number_signs_and_colons(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in terminal.RUNNERS:
        monkeypatch.delenv(variable, raising=False)
    text = "## [link]\n##[x]\n::before"

    assert terminal.shown(text) == text
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert terminal.shown(text) == "## [link]\n\\u0023#[x]\n\\u003a:before"


@pytest.mark.parametrize("command", DOCUMENTS)
@settings(max_examples=15)
@given(HOSTILE)
@example(CLIPBOARD)
def test_documents_print_no_controls_on_a_terminal(
    tmp_path_factory: pytest.TempPathFactory, command: str, text: str
) -> None:
    result = run(command, text, tmp_path_factory.getbasetemp(), person=True)

    assert hidden.findall(shown(result)) == []


@pytest.mark.parametrize("person", [False, True])
def test_json_has_the_same_values_on_a_terminal_and_the_same_bytes_in_a_pipe(tmp_path: Path, person: bool) -> None:
    text = "\x1b[2J\x85\u202eevil\u2066 naïve"
    exported = run("export sessions --prompt 3", text, tmp_path, person=person)
    compared = run("insight --prompt 3 --json", text, tmp_path, person=person)

    assert json.loads(exported.stdout) == {"text": text}
    assert json.loads(compared.stdout)["summary"] == text
    assert ("\x85\u202eevil\u2066 naïve" in exported.stdout) is not person
    assert ("\x85\u202eevil\u2066 naïve" in compared.stdout) is not person


def test_a_document_that_ends_within_a_character_is_shown_to_its_end(capfdbinary: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    terminal.stream([b"na\xc3", b"\xafve \xe6\x9d"])

    assert capfdbinary.readouterr().out == "naïve \ufffd".encode()


@pytest.mark.parametrize(
    "hidden_text",
    ["\xad", "\u200b", "\u200d", "\u2060", "\ufeff", "\U000e0041", "\u3164", "\ufe01", "\ufe0f", "\U000e0101"],
)
def test_a_character_that_nothing_shows_is_shown_as_json_spells_it(hidden_text: str) -> None:
    shown = visible(f"pay{hidden_text}load")

    assert shown.isascii()
    assert json.loads(f'"{shown}"') == f"pay{hidden_text}load"


def test_an_emoji_keeps_its_selector_and_a_run_of_them_is_shown() -> None:
    assert visible("\u2764\ufe0f \u00a9\ufe0f 1\ufe0f\u20e3") == "\u2764\ufe0f \u00a9\ufe0f 1\ufe0f\u20e3"
    assert visible("\u2764\ufe0f\ufe0e\ufe0f") == "\u2764\ufe0f\\ufe0e\\ufe0f"


def test_shown_characters_differ_from_those_that_were_sent(tmp_path: Path) -> None:
    result = run("sessions", "a\tb\n" + CLIPBOARD, tmp_path, person=False)

    assert result.stdout.count("\n") == 1
    assert result.stdout.split("\t")[0] == r"a\tb\n\u001b]52;c;cm0gLXJmIH4=\u0007\u001b[2J"


def test_the_name_of_a_test_case_begins_no_line_of_another(tmp_path: Path) -> None:
    result = run("replay --prompt 3", "x\nPASSED       all", tmp_path, person=False)
    lines = STYLE.sub("", result.stdout).splitlines()

    assert not any(line.startswith("PASSED  ") and "·" in line for line in lines)
    assert lines[0].startswith(r"FAILED       x\nPASSED")


@given(HOSTILE)
@example(CLIPBOARD)
def test_reports_have_no_hidden_characters(text: str) -> None:
    worse = case(12, text, "regressed", side(3, 9), side(9, 9, first_replay=20))
    result = gate_run.Result(3, experiment([worse], verdict="failed", reason=text), None)
    outcomes = [ReplayOutcome(12, text, replay_of(text))]

    for report in (junit(result), markdown(result), replay_report.junit(3, outcomes)):
        assert hidden.findall(report.replace("&#13;", "").replace("\r", "")) == []


@given(st.text())
def test_a_text_without_hidden_characters_is_shown_unchanged(text: str) -> None:
    kept = re.sub(f"[{HIDDEN}\ufe0e\ufe0f]", "", text)
    assert visible_lines(kept) == kept
    assert hidden.search(visible_lines(text)) is None
    assert not {"\n", "\t"} & set(visible(text))


def test_a_piece_that_ends_within_a_character_is_shown_whole(tmp_path: Path) -> None:
    @click.command()
    def print_pieces() -> None:
        terminal.stream([b"\xc3", b"\xa4", b"\n"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
        assert CliRunner().invoke(print_pieces).stdout == "ä\n"


def test_an_error_of_click_is_shown_too() -> None:
    @main.command("raise-for-test")
    def fail() -> None:
        raise click.ClickException(CLIPBOARD)

    try:
        result = CliRunner().invoke(main, ["raise-for-test"])
    finally:
        del main.commands["raise-for-test"]
    assert "\\u001b]52" in result.output
    assert hidden.search(result.output) is None
