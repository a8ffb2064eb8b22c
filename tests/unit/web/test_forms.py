"""Numbers in the fields of forms, and files in forms."""

from __future__ import annotations

import falcon
import pytest
from falcon.testing import create_environ

from app.errors import Invalid
from app.web.forms import SEMICOLONS_MAX, Form, integer_in, number_in, read_form


@pytest.mark.parametrize("text", ["-1", "1.0", "1e3", " 1", "٣", "²", "9" * 19, "9" * 10_000, "one"])
def test_a_field_of_another_form_than_a_whole_number_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(Invalid, match=r"^window: Must be a whole number\.$"):
        Form({"window": [text]}).integer("window")
    with pytest.raises(Invalid, match=r"^repeats\.min: Must be a whole number\.$"):
        integer_in("repeats.min", text)


def test_an_empty_field_is_no_number_and_refused_where_one_is_needed() -> None:
    assert integer_in("min", "") is number_in("maxCost", "") is None
    for form in (Form({}), Form({"window": [""]})):
        with pytest.raises(Invalid, match="window"):
            form.integer("window")


def test_a_whole_number_fits_into_a_column() -> None:
    assert Form({"window": ["007"]}).integer("window") == 7
    assert Form({"window": ["9" * 18]}).integer("window") == 10**18 - 1 < 2**63


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1e999", "1,5", "half"])
def test_a_number_is_finite(text: str) -> None:
    with pytest.raises(Invalid, match=r"^maxCost: Must be a number\.$"):
        number_in("maxCost", text)


def test_a_percentage_is_a_share() -> None:
    assert number_in("minPassRate", "95", of=100) == 0.95


def test_a_file_has_few_semicolons_in_its_name() -> None:
    few, many = ("a" + ";" * count for count in (20, SEMICOLONS_MAX))

    assert [file.name for file in sent(few).files] == [few]
    with pytest.raises(Invalid, match="can't be read"):
        sent(many)


def sent(name: str) -> Form:
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"'
    body = f"--x\r\n{head}\r\n\r\ncontent\r\n--x--\r\n".encode()
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    request = falcon.Request(create_environ(method="POST", body=body, headers=headers))
    return read_form(request, len(body), with_files=True)
