"""Versions are named on the command line by `latest` or by the first digits of their hashes."""

from __future__ import annotations

import httpx
import pytest
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.labels import row
from reprise_client.cli.remote import Remote
from reprise_client.cli.versions import full_hash

HASHES = ["4f53a0" + "0" * 58, "4f53b1" + "0" * 58, "9be2d7" + "0" * 58]


@pytest.fixture
def instance() -> Remote:
    labels = [[], ["production", "latest"], []]
    versions = {"versions": [{"commitHash": name, "labels": labels[at]} for at, name in enumerate(HASHES)]}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=versions))
    return Remote("http://reprise/", "rp_key", transport=transport)


@pytest.mark.parametrize(
    ("version", "number"), [("latest", 0), ("production", 1), ("4f53b", 1), ("9", 2), (HASHES[2], 2)]
)
def test_a_version_is_found(instance: Remote, version: str, number: int) -> None:
    assert full_hash(instance, 17, version) == HASHES[number]


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("4f53", "2 versions that begin with '4f53'"),
        ("a", "no version 'a'"),
        ("", "no version ''"),
        ("🙂", "no version"),
        ("../../../api-keys".rjust(64, "/"), "no version"),  # of the length of a hash
    ],
)
def test_a_version_that_is_none_or_several_is_refused(instance: Remote, version: str, problem: str) -> None:
    with pytest.raises(CouldNotRun, match=problem):
        full_hash(instance, 17, version)


def test_a_label_is_shown_with_its_split() -> None:
    label = {"label": "production", "commitHash": "a", "guarded": True, "split": None, "updatedAt": "now"}
    assert row(label) == ("production", "a", "", "guarded", "now")
    assert row(label | {"guarded": False, "split": {"commitHash": "b", "share": 0.1}})[2:4] == ("0.1 b", "")
