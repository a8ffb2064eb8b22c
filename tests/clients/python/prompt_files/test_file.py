"""A prompt's file gives back what was written, finds changes by fingerprint, and names the line of a mistake."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reprise_client.prompt_files import file as files
from reprise_client.prompt_files.file import BadFile, PromptFile
from reprise_formats.text_files import with_line_feeds

few = settings(max_examples=50)
FRONT = "---\nmodel: echo\ninstructionFormat: RAW\n---\n"
TEXTS = st.text() | st.sampled_from(
    [
        "",
        "\n",
        "---",
        "---\nmodel: x\n---\n",
        "a\n\n\n",
        "\ufeffa",
        "😀 {{a}}",
        "a\x0b\x0c\u2028\x85b",
        "\x00",
    ]
)
NAMES = st.text(min_size=1)
BASES = st.text("0123456789abcdef", min_size=16, max_size=16)
SCHEMAS = st.just({"type": "object", "properties": {"b": {"type": "string", "default": "no"}, "a": {"const": 1.5}}})


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.just(msgspec.UNSET) | values


TOOLS = st.builds(
    files.FileTool,
    name=NAMES,
    description=optional(TEXTS),
    effect=optional(st.sampled_from(["read", "write", "by_call"])),
    annotations=optional(st.builds(files.Annotations, read_only_hint=optional(st.booleans()))),
    strict=optional(st.booleans()),
    parameters=optional(SCHEMAS),
)
CONFIGURATIONS = st.builds(
    files.Configuration,
    temperature=optional(st.sampled_from([0, 0.2, 2])),
    max_tokens=optional(st.integers(1, 10**6)),
    stop=optional(st.lists(NAMES, max_size=3).map(tuple)),
    json_schema=optional(SCHEMAS),
)
VALUES = st.builds(files.FilePlaceholderValue, name=NAMES, content=TEXTS, is_default=st.booleans())
PLACEHOLDERS = st.builds(
    files.FilePlaceholder, key=NAMES, description=TEXTS, values=st.lists(VALUES, min_size=1, max_size=3).map(tuple)
)
FILES = st.builds(
    PromptFile,
    prompt=st.none() | st.integers(1, 2**63 - 1),
    base=st.none() | BASES,
    model=NAMES,
    fallback=st.none() | NAMES,
    instruction_format=st.sampled_from(["XML", "RAW"]),
    configuration=CONFIGURATIONS,
    tools=st.lists(TOOLS, max_size=2).map(tuple),
    placeholders=st.lists(PLACEHOLDERS, max_size=2).map(tuple),
    text=TEXTS.map(with_line_feeds),
)


@few
@given(FILES)
def test_a_file_gives_back_the_prompt_and_ends_with_its_text(file: PromptFile) -> None:
    content = files.format_file(file)

    assert files.parse(content) == file
    assert content.endswith(f"\n---\n{file.text}")
    assert files.format_file(files.parse(content)) == content


@few
@given(FILES, BASES)
def test_a_new_base_changes_no_other_byte(file: PromptFile, base: str) -> None:
    content = files.format_file(file)
    lines = content.count("\n")

    changed = files.with_base(content, base)

    assert files.parse(changed) == msgspec.structs.replace(file, base=base)
    assert changed.count("\n") == lines + (file.base is None)
    assert files.with_base(changed, base) == changed


@few
@given(FILES, FILES)
def test_a_fingerprint_differs_with_the_content_and_with_nothing_else(one: PromptFile, other: PromptFile) -> None:
    moved = msgspec.structs.replace(one, prompt=other.prompt, base=other.base)

    assert files.fingerprint(one) == files.fingerprint(moved)
    assert (files.fingerprint(one) == files.fingerprint(other)) == (
        msgspec.structs.replace(other, prompt=None, base=None) == msgspec.structs.replace(one, prompt=None, base=None)
    )


@few
@given(FILES, FILES)
def test_there_is_a_difference_just_where_contents_differ(one: PromptFile, other: PromptFile) -> None:
    found = list(files.difference(one, other, "a", "b"))

    assert bool(found) == (files.fingerprint(one) != files.fingerprint(other))


def test_a_difference_is_one_that_patch_applies(tmp_path: Path) -> None:
    old = files.parse(f"{FRONT}one\ntwo\x0c\nthree")
    new = files.parse(f"{FRONT}one\nTWO\x0c\nthree\n")
    (tmp_path / "old").write_bytes(files.format_file(old).encode())
    patch = "".join(files.difference(old, new, "old", "new")).encode()

    subprocess.run(["git", "apply", "-p0", "-"], input=patch.replace(b"+++ new", b"+++ old"), cwd=tmp_path, check=True)

    assert (tmp_path / "old").read_bytes() == files.format_file(new).encode()


@pytest.mark.parametrize("lines", [3, 20_000], ids=["compared", "replaced as a whole"])
def test_texts_of_many_equal_lines_have_a_difference_that_patch_applies(tmp_path: Path, lines: int) -> None:
    old, new = (files.parse(FRONT + "".join(f"{n * step % 199}\n" for n in range(lines))) for step in (3, 7))
    (tmp_path / "old").write_bytes(files.format_file(old).encode())
    patch = "".join(files.difference(old, new, "old", "old")).encode()

    subprocess.run(["git", "apply", "-p0", "-"], input=patch, cwd=tmp_path, check=True)

    assert (tmp_path / "old").read_bytes() == files.format_file(new).encode()


def test_a_long_text_is_given_back() -> None:
    text = "Ein längerer Text.\n😀 " * 10_000

    assert files.parse(FRONT + text).text == text


def test_what_a_person_writes_stays_what_it_is() -> None:
    content = (
        "\ufeff---\n# Ask Ada before you change the model.\nmodel: gpt-5\ninstructionFormat: XML\n"
        "configuration: {temperature: 0.20, stop: [no, 010]}\n"
        'base: "0123456789abcdef" # by hand\n---\n---\nThe text begins with dashes.\n'
    )
    parsed = files.parse(content)

    assert (parsed.configuration.temperature, parsed.configuration.stop) == (0.2, ("no", "010"))
    assert parsed.text == "---\nThe text begins with dashes.\n"
    assert files.with_base(content, "fedcba9876543210") == content.replace(
        '"0123456789abcdef" # by hand', "fedcba9876543210"
    )


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_of_any_platform_are_no_difference_and_stay_in_the_file(line_end: str, mark: str) -> None:
    content = f"{mark}{FRONT}a\n\n{{{{b}}}}\n".replace("\n", line_end)
    based = content.replace(f"RAW{line_end}", f"RAW{line_end}base: {'b' * 16}{line_end}")

    assert files.parse(content) == files.parse(f"{FRONT}a\n\n{{{{b}}}}\n")
    assert files.with_base(content, "b" * 16) == based
    assert files.with_base(based, "c" * 16) == based.replace("b" * 16, "c" * 16)
    assert files.with_prompt(content, 17) == content.replace("model", f"prompt: 17{line_end}model")


@few
@given(FILES, st.sampled_from(["\r\n", "\r"]))
def test_a_file_with_other_line_ends_is_the_same_prompt(file: PromptFile, line_end: str) -> None:
    content = files.format_file(file)

    assert files.fingerprint(files.parse(content.replace("\n", line_end))) == files.fingerprint(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Just text.", "line 1: The file must begin with a line of three dashes, ---."),
        ("---\nmodel: echo\n", "line 1: The front matter has no end, a second line of three dashes, ---."),
        ("---\n---\n", "line 2: The front matter must be a mapping of keys to values."),
        ("---\n- a\n---\n", "line 2: The front matter must be a mapping of keys to values."),
        ("---\nmodel: echo\n---\n", "line 1: Object missing required field `instructionFormat`"),
        ("---\nmodel: 5\ninstructionFormat: XML\n---\n", "line 2: model: Expected `str`, got `int`"),
        ("---\nmodel: a\ninstructionFormat: HTML\n---\n", "line 3: instructionFormat: Invalid enum value 'HTML'"),
        (FRONT.replace("RAW", "RAW\ncolour: red"), "line 4: colour: Unknown key."),
        (FRONT.replace("RAW", "RAW\ntext: x"), "line 4: text: The text belongs after the front matter."),
        (
            FRONT.replace("RAW", "RAW\nconfiguration:\n  temprature: 1"),
            "line 5: configuration.temprature: Unknown key.",
        ),
        (
            FRONT.replace("RAW", "RAW\ntools:\n- name: a\n- name: b\n  effect: both"),
            "line 7: tools[1].effect: Invalid enum value 'both'",
        ),
        (
            FRONT.replace("RAW", "RAW\nplaceholders:\n- key: a\n  values: []"),
            "line 6: placeholders[0].values: Expected `array` of length >= 1",
        ),
        (
            FRONT.replace(
                "RAW", "RAW\nplaceholders:\n- key: a\n  values:\n  - name: b\n    content: no\n    default: yes"
            ),
            "line 9: placeholders[0].values[0].default: Unknown key.",
        ),
        (FRONT.replace("RAW", "RAW\nprompt: 0"), "line 4: prompt: Expected `int` >= 1"),
        (FRONT.replace("RAW", "RAW\nbase: latest"), "line 4: base: Expected `str` matching regex"),
        (FRONT.replace("echo", "[echo"), "line 3: Is not YAML: "),
    ],
)
def test_a_mistake_is_reported_with_its_line_and_path(content: str, message: str) -> None:
    with pytest.raises(BadFile) as refused:
        files.parse(content)
    assert str(refused.value).startswith(message)


@few
@given(st.text() | st.builds(lambda front, text: f"---\n{front}\n---\n{text}", st.text(), st.text()))
def test_any_content_is_a_prompt_or_refused(content: str) -> None:
    with suppress(BadFile):
        assert files.parse(files.format_file(files.parse(content))) == files.parse(content)


def test_an_answer_of_the_api_leaves_out_what_the_model_does_by_itself() -> None:
    answer = {
        "id": 17,
        "value": "Help.",
        "languageModel": {"name": "echo", "completionTokensMax": 4096},
        "fallbackModelName": None,
        "languageModelConfig": {
            "tools": [],
            "temperature": 1,
            "max_tokens": 4096,
            "response_format": "text",
            "seed": 3,
        },
        "instructionFormat": "XML",
        "placeholderDefinitions": [],
    }
    assert files.format_file(files.from_answer(answer)) == (
        "---\nprompt: 17\nmodel: echo\ninstructionFormat: XML\nconfiguration:\n  seed: 3\n---\nHelp."
    )


def test_line_ends_of_a_draft_are_no_difference_from_its_file() -> None:
    answer = {
        "value": "a\r\nb\rc\n",
        "languageModel": {"name": "echo", "completionTokensMax": 1},
        "fallbackModelName": None,
        "languageModelConfig": {},
        "instructionFormat": "RAW",
        "placeholderDefinitions": [],
    }
    draft = files.from_answer(answer)

    assert list(files.difference(draft, files.parse(f"{FRONT}a\nb\nc\n"), "draft", "file")) == []


def test_an_answer_of_a_newer_instance_is_refused_rather_than_cut() -> None:
    answer = {
        "value": "",
        "languageModel": {"name": "echo", "completionTokensMax": 1},
        "fallbackModelName": None,
        "languageModelConfig": {"verbosity": "low"},
        "instructionFormat": "XML",
        "placeholderDefinitions": [],
    }
    with pytest.raises(BadFile, match=r"configuration\.verbosity: Unknown key"):
        files.from_answer(answer)


def test_messages_of_the_api_name_what_the_file_names() -> None:
    message = "candidate.languageModelConfig.tools.0.name: Bad. languageModelConfig.temperature: Bad. value: Bad."

    assert files.in_names_of_the_file(message) == "tools.0.name: Bad. configuration.temperature: Bad. text: Bad."
