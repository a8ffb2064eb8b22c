"""What rules decide about calls that are written differently, or that only read, in any language."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gate.written import (
    ACTING_NAMES,
    OTHER_CALLS,
    OTHER_REQUESTS,
    OTHER_STATEMENTS,
    PLAIN_READS,
    READING_CALLS,
    READING_NAMES,
    SAME_REQUESTS,
    SAME_STATEMENTS,
    SECRET_READS,
    compared,
    effect_of_name,
    may_come,
    of_statements,
)

# Verbs that have another meaning, too: to collect, over, to withdraw, to register, to call a person, to confirm, an
# application, a visa, and words of Vietnamese and Bulgarian without their signs.
AMBIGUOUS = [
    "preuzmi_popis",
    "over_dostupnost",
    "namery_klient",
    "asiakas_haku",
    "ara_musteri",
    "musteri_ara",
    "ambil_faktur",
    "daftar_produk",
    "tim_khach_hang",
    "lay_hoa_don",
    "예약_확인",
    "visa_faktura",
]


@pytest.mark.parametrize(("recorded", "produced"), SAME_STATEMENTS)
def test_a_judge_reads_a_statement_that_does_the_same(recorded: str, produced: str) -> None:
    assert of_statements(recorded, produced) == "open"


@pytest.mark.parametrize(("recorded", "produced"), OTHER_STATEMENTS)
def test_a_statement_that_does_something_else_fails(recorded: str, produced: str) -> None:
    assert of_statements(recorded, produced) == "failed"


@pytest.mark.parametrize(("recorded", "produced"), SAME_REQUESTS)
def test_a_judge_reads_a_request_with_headers_that_clients_send_by_default(recorded: Any, produced: Any) -> None:
    assert compared(recorded, produced) == "open"


@pytest.mark.parametrize(("recorded", "produced"), OTHER_REQUESTS)
def test_a_request_with_other_headers_fails(recorded: Any, produced: Any) -> None:
    assert compared(recorded, produced) == "failed"


@pytest.mark.parametrize(("name", "arguments"), [*READING_CALLS, *PLAIN_READS])
def test_a_further_call_that_only_reads_may_come(name: str, arguments: dict[str, Any]) -> None:
    assert may_come(name, arguments)


@pytest.mark.parametrize(("name", "arguments"), OTHER_CALLS)
def test_a_further_call_that_may_change_something_may_not_come(name: str, arguments: dict[str, Any]) -> None:
    assert not may_come(name, arguments)


@pytest.mark.parametrize(("name", "arguments"), SECRET_READS)
def test_a_further_read_of_a_secret_may_not_come(name: str, arguments: dict[str, Any]) -> None:
    assert not may_come(name, arguments)


@pytest.mark.parametrize("name", READING_NAMES)
def test_a_verb_that_reads_is_known_unless_it_has_another_meaning(name: str) -> None:
    assert (effect_of_name(name) == "read") == (name not in AMBIGUOUS)


@pytest.mark.parametrize("name", ACTING_NAMES)
def test_no_name_with_a_verb_that_acts_reads(name: str) -> None:
    assert effect_of_name(name) is None
