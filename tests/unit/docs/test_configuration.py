"""docs/configuration.md agrees with config/settings.py."""

import re
from dataclasses import Field
from pathlib import Path
from typing import Any

import pytest

from app.providers.vendors import VENDORS
from config.settings import VENDOR_VARIABLES, declared

PAGE = (Path(__file__).parents[3] / "docs/configuration.md").read_text()


def documented(field: Field[Any]) -> str:
    default = Path(field.default).name if isinstance(field.default, Path) else field.default
    shown = "" if default == "" else f"`{default}`"
    return f"| `{field.metadata['env']}` | {shown} | {field.metadata['meaning']} |"


@pytest.mark.parametrize("field", declared(), ids=lambda field: str(field.metadata["env"]))
def test_a_setting_is_documented_with_its_default_and_meaning(field: Field[Any]) -> None:
    assert documented(field) in PAGE.splitlines()


def test_no_setting_is_documented_that_does_not_exist() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))
    assert rows == {field.metadata["env"] for field in declared()}


def test_each_vendor_has_variables() -> None:
    assert [*VENDOR_VARIABLES] == [*VENDORS]


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_vendors_variables_are_documented(vendor: str) -> None:
    key, url = VENDOR_VARIABLES[vendor]
    assert f"| {vendor} | `{key}` | `{url}` |" in PAGE.splitlines()
