"""The overview's tables of rooms agree with the import contracts, which define what each room may import."""

import re
import tomllib

import pytest

from tests.support.deployment import ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
PAGE = (ROOT / "docs" / "overview.md").read_text()


@pytest.mark.parametrize("package", ["app", "app.services"])
def test_the_overview_has_each_room_on_the_floor_of_the_import_contract(package: str) -> None:
    (layers,) = (contract["layers"] for contract in CONTRACTS if contract.get("containers") == [package])
    folder = package.replace(".", "/")
    table = re.search(rf"^\| Floor \| Room of `{folder}/` \| Content \|\n\|---\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.M)

    assert table is not None
    floors = enumerate(reversed(layers), start=1)
    assert re.findall(r"^\| (\d+) \| `(\w+)` \| \S", table[1], re.M) == [
        (str(floor), room) for floor, layer in reversed(list(floors)) for room in layer.split(" | ")
    ]
