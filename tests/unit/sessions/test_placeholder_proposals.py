"""Placeholders that are proposed for what varies in recorded instructions."""

from __future__ import annotations

import pytest

from app.sessions import placeholder_proposals
from app.sessions.placeholder_proposals import PlaceholderProposal, merged, propose, unused


def proposed(draft: str, *instructions: str, **contents: list[str]) -> list[PlaceholderProposal]:
    return [proposal for _, proposal in propose(draft, instructions, contents).by_piece]


@pytest.mark.parametrize(
    ("before", "values", "kind", "key"),
    [
        ("Today is ", ["2026-11-26", "27.11.2026"], "date", "today"),
        ("It is ", ["14:20", "2026-11-26 09:01:02"], "time", "now"),
        ("Write to ", ["a@example.org", "b@example.org"], "email", "email"),
        ("See the page ", ["https://a.example/x", "https://b.example/y"], "url", "url"),
        ("They have ", ["3", "1,200.5"], "number", "number"),
        ("Customer: ", ["Anna", "Bob"], "text", "customer"),
        ("The city is ", ["Rome", "Oslo"], "text", "city"),
        ("You are ", ["kind", "strict"], "text", "value"),
    ],
)
def test_a_proposal_is_named_after_its_values_or_the_label_before_them(
    before: str, values: list[str], kind: str, key: str
) -> None:
    texts = [f"This is a text with some words. {before}{value} and more of them." for value in values]

    [proposal] = proposed(texts[0], *texts)

    assert (proposal.kind, proposal.key, proposal.current) == (kind, key, values[0])
    assert [value.content for value in proposal.values] == values


def test_parts_with_equal_values_share_a_key_and_others_have_numbers() -> None:
    texts = [f"I know {a}. You see {b}. We like {a} a lot." for a, b in (("Anna", "Rome"), ("Bob", "Oslo"))]

    assert [proposal.key for proposal in proposed(texts[0], *texts)] == ["value", "value_2", "value"]


def test_what_only_the_draft_has_is_no_proposal() -> None:
    assert proposed("Be kind, brief and honest today.", "Be kind, brief and honest now.") == []


def test_texts_of_other_agents_are_not_compared() -> None:
    draft = "Be kind to Anna and brief."
    found = propose(draft, ["Be kind to Bob and brief.", "Translate into Spanish, word by word."], {})

    assert found.compared == 1


def test_ids_do_not_change_with_the_values() -> None:
    texts = [f"You help {name} with orders and refunds." for name in ("Anna", "Bob", "Carl Cox")]

    [first], [second] = proposed(texts[0], *texts[:2]), proposed(texts[0], *texts)

    assert first.id == second.id


def test_a_known_placeholder_is_proposed_only_for_new_values() -> None:
    texts = [f"You help {name} with orders and refunds." for name in ("Anna", "Bob")]
    draft = "You help {{who}} with orders and refunds."

    assert proposed(draft, *texts, who=["Anna", "Bob"]) == []
    assert [proposal.is_known for proposal in proposed(draft, *texts, who=["Anna"])] == [True]
    assert proposed(draft, *texts) == []


def test_long_texts_many_parts_and_long_values_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"You help {name} with orders and refunds, {name}y." for name in ("Anna", "Bob")]
    assert len(proposed(texts[0], *texts)) == 2
    monkeypatch.setattr(placeholder_proposals, "PROPOSALS_MAX", 1)
    assert len(proposed(texts[0], *texts)) == 1
    monkeypatch.setattr(placeholder_proposals, "VALUE_MAX", 2)
    assert proposed(texts[0], *texts) == []
    monkeypatch.setattr(placeholder_proposals, "ALIGNED_MAX", 60)
    assert propose(texts[0], texts, {}).compared == 0


def test_merging_keeps_placeholders_where_the_text_around_them_stays() -> None:
    draft = "You help {{who}} with orders."

    assert merged(draft, "You help Anna with orders and refunds.", {"who": 1}) == (
        "You help {{who}} with orders and refunds."
    )
    assert merged(draft, "Translate.", {"who": 1}) == "Translate."
    assert merged(draft, "You help Anna with orders.", {}) == "You help Anna with orders."


def test_a_name_in_use_gets_a_number() -> None:
    assert [unused("a", names, "_") for names in ({"b"}, {"a"}, {"a", "a_2"})] == ["a", "a_2", "a_3"]


@pytest.mark.parametrize(
    ("names", "is_change"),
    [
        (["Bob", "Anna"], False),
        (["Bob", "Anna", "Anna"], True),
        (["Bob", "Bob", "Anna"], True),
        (["Anna", "Bob", "Anna"], False),
        (["Carl", "Bob", "Anna"], False),
        (["2026-11-27", "2026-11-26", "2026-11-26"], False),
    ],
)
def test_one_text_in_older_sessions_and_another_in_newer_ones_is_a_change(names: list[str], is_change: bool) -> None:
    texts = [f"You help {name} with orders and refunds." for name in names]

    [proposal] = proposed(texts[-1], *texts)

    assert proposal.is_change is is_change
