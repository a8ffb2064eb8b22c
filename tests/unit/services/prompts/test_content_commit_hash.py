"""The hash of a version covers all of its content and its history, and nothing else."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from app.rendering.render import Placeholder, PlaceholderValue
from app.services.prompts.content import PromptContent, commit_hash
from tests.unit.services.contents import MODEL, content

A = Placeholder("a", (PlaceholderValue("one", "1", True), PlaceholderValue("two", "2")))
B = Placeholder("b", (PlaceholderValue("é", ""),), "About b")


def test_it_is_the_sha256_of_the_canonical_json() -> None:
    canonical = (
        '{"instructionFormat":"XML","languageModelConfig":{"seed":1,"tools":[]},"model":{"name":"m","vendor":"OPENAI"},'
        '"parent":null,"placeholders":[{"description":"About b","key":"b",'
        '"values":[{"content":"","isDefault":false,"name":"é"}]}],"value":"Rôle"}'
    )
    said = content(value="Rôle", config={"tools": [], "seed": 1}, placeholders=(B,))
    assert commit_hash(said, parent=None) == hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize(
    "changed",
    [
        {"value": "other"},
        {"model": replace(MODEL, name="other")},
        {"model": replace(MODEL, vendor="GOOGLE")},
        {"config": {"seed": 2}},
        {"instruction_format": "RAW"},
        {"placeholders": (A,)},
        {"placeholders": (A, structs.replace(B, description=""))},
        {"placeholders": (structs.replace(A, values=A.values[:1]), B)},
    ],
)
def test_every_part_of_the_content_counts(changed: dict[str, Any]) -> None:
    said = content(config={"seed": 1}, placeholders=(A, B))
    assert commit_hash(said, parent=None) != commit_hash(replace(said, **changed), parent=None)


def test_the_history_counts() -> None:
    first = commit_hash(content(), parent=None)
    assert commit_hash(content(), parent=first) != first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (content(), content(name="other", prompt_id=9)),
        (content(), content(model=replace(MODEL, id=99, description="other"))),
        (content(placeholders=(A, B)), content(placeholders=(B, A))),
        (content(config={"seed": 1, "stop": ["x"]}), content(config={"stop": ["x"], "seed": 1})),
    ],
)
def test_differences_without_meaning_do_not_count(one: PromptContent, other: PromptContent) -> None:
    assert commit_hash(one, parent=None) == commit_hash(other, parent=None)


def test_a_second_model_is_part_of_the_hash_only_where_there_is_one():
    plain = content()
    with_second = replace(plain, fallback=replace(MODEL, id=2, name="second"))
    with_third = replace(plain, fallback=replace(MODEL, id=3, name="third"))

    assert len({commit_hash(one, parent=None) for one in (plain, with_second, with_third)}) == 3
    assert commit_hash(replace(with_second, fallback=None), parent=None) == commit_hash(plain, parent=None)
