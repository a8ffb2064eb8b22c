"""Run Prompt's body becomes a command; files become bytes."""

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat import File
from app.errors import Invalid
from app.schemas.base import load
from app.schemas.runs import QUESTION_MAX, RunRequest


def command(**fields):
    return load(RunRequest(), {"id": 7, "question": "q", **fields})


def test_defaults_are_those_of_the_contract():
    asked = command()

    assert (asked.prompt_id, asked.question, asked.productive) == (7, "q", True)
    assert (asked.files, asked.selections, asked.commit_hash) == ((), {}, None)


def test_an_id_may_be_a_string_of_digits():
    assert command(id="12").prompt_id == 12


def test_memory_key_gives_way_to_its_placeholder():
    assert command(memoryKey="a").selections == {"memory_key": "a"}
    assert command(memoryKey="a", placeholders={"memory_key": "b"}).selections == {"memory_key": "b"}


@given(st.binary(min_size=1), st.booleans(), st.booleans())
def test_any_content_comes_through_raw_or_as_data_url(content, as_url, wrapped):
    text = (base64.encodebytes(content) if wrapped else base64.b64encode(content)).decode()
    text = f"data:image/png;base64,{text}" if as_url else text
    [file] = command(
        files=[{"fileName": " a.png ", "contentType": "" if as_url else "image/png", "base64": text}]
    ).files

    assert file == File("a.png", "image/png", content)


def test_the_content_type_sent_goes_before_the_data_urls():
    url = "data:text/plain;charset=utf-8;base64,eA=="
    sent, left = command(files=[{"contentType": "Text/CSV", "base64": url}, {"base64": url}]).files

    assert (sent.media_type, left.media_type) == ("text/csv", "text/plain;charset=utf-8")
    assert sent.name == "file"


@given(st.text(max_size=200))
def test_no_text_as_base64_breaks_the_reader(text):
    with suppress(Invalid):
        assert command(files=[{"contentType": "text/plain", "base64": text}]).files[0].content


@pytest.mark.parametrize("question", ["x" * (QUESTION_MAX + 1), "ü" * (QUESTION_MAX // 2 + 1)])
def test_a_question_over_its_limit_in_bytes_is_refused(question):
    with pytest.raises(Invalid, match="question: Longer than 4000000 bytes"):
        command(question=question)
