"""Stored bodies: their formats, and the dictionary that stored rows need for ever."""

from __future__ import annotations

import random
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.models import compression
from app.models.compression import (
    MARK,
    OF_FACTS,
    ZSTD_1,
    compress,
    compress_text,
    decompress,
    decompress_text,
    text_length,
    with_dictionary,
)
from bench.dictionary import bodies_of, bodies_to_train_for, compressed_size, recorded_spans, train
from bench.varied import LONGER, conversations

SPAN = b'{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"chat","attributes":[]}'


@given(st.binary())
@example(b"")
@example(b"\0")
@example(b"\1")
@example(SPAN)
@example(SPAN * 80_000)
@example('{"emoji": "🦊", "lone": "\\ud800", "nul": "\\u0000"}'.encode())
def test_every_body_comes_back_as_it_was(body: bytes) -> None:
    assert decompress(compress(body)) == body
    assert decompress(compress(memoryview(body))) == body
    assert decompress(compress(body, OF_FACTS)) == body
    assert with_dictionary(compress(body), OF_FACTS) == compress(body, OF_FACTS)


@given(st.binary(max_size=300))
def test_a_stored_body_is_at_most_a_byte_longer(body: bytes) -> None:
    assert len(compress(body)) <= len(body) + 1


@given(st.text(st.characters(codec="utf-8")))
@example("")
@example(MARK)
@example(f"{MARK}no base64")
@example("🦊 {}" * 80_000)
def test_every_text_comes_back_as_it_was(text: str) -> None:
    assert decompress_text(compress_text(text)) == text


def test_a_text_is_stored_in_the_form_that_has_fewer_bytes() -> None:
    text = "".join(random.Random(7).choices([chr(0x4E00 + number) for number in range(1_500)], k=8_000))
    stored = compress_text(text)
    assert len(stored.encode()) < 0.9 * len(text.encode())
    assert decompress_text(stored) == text


@pytest.mark.parametrize("words", [2_000, 5_000, 20_000, 50_000])
def test_repeated_words_are_stored_once(words: int) -> None:
    """However long it is: agents repeat all that they know in each span of a turn."""
    chosen = random.Random(7)
    known = [bytes(chosen.choices(b"abcdefghijklmnopqrstuvwxyz", k=chosen.randint(2, 9))) for _ in range(3_000)]
    said = b" ".join(chosen.choices(known, k=words))
    assert len(compress(said + b"Then: " + said)) < 1.05 * len(compress(said))


def test_texts_of_releases_without_compression_are_read() -> None:
    for text in ("", '{"a": 1}', "\1", "Be helpful.", "🦊" * 1000):
        assert decompress_text(text) == text


def test_bodies_of_releases_without_compression_are_read() -> None:
    for body in (SPAN, b" [1]", b"\t{}", b'"text"', b""):
        assert decompress(body) == body


def test_a_format_of_a_newer_release_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match="newer release"):
        decompress(b"\7...")


def test_a_damaged_body_keeps_its_dictionary() -> None:
    damaged = compress(SPAN)[:-1]
    assert with_dictionary(damaged, OF_FACTS) == damaged


def test_a_damaged_body_is_an_error_and_the_next_one_is_read() -> None:
    with pytest.raises(ValueError, match="damaged"):
        decompress(compress(SPAN)[:-1])
    assert decompress(compress(SPAN)) == SPAN


@pytest.mark.parametrize(
    ("file", "digest"),
    [
        ("1.zstd", "1da371f59ddfe94ee214ada1fde4ccf72d95e29b812bd075db724933bbdd48ab"),
        ("2.zstd", "b74a9561e82553f191cfd95727009390f6470921ee51c52e80dc6a5d4bea017d"),
    ],
)
def test_a_dictionary_never_changes(file: str, digest: str) -> None:
    """A change would make what is stored unreadable: add a dictionary with another format byte instead."""
    dictionary = Path(compression.__file__).parent / "dictionaries" / file
    assert sha256(dictionary.read_bytes()).hexdigest() == digest


@pytest.mark.slow
def test_spans_of_other_conversations_need_a_quarter_of_their_bytes() -> None:
    """Their SDKs are known to the dictionary; their texts, tools and ids are not."""
    batches = islice(conversations(1, seed=1, start_ns=10**18, longer=LONGER), 60)
    bodies = [body for batch in batches for body in bodies_of(batch)]
    assert sum(len(compress(body)) for body in bodies) * 4 < sum(map(len, bodies))


@pytest.mark.slow
def test_spans_of_other_sdks_and_conversations_need_a_quarter_of_their_bytes() -> None:
    """With dictionaries that were trained as the stored one, but without the exports of an SDK and a conversation."""
    recorded = recorded_spans()
    unseen = [source for source in recorded if source.conversation in ("support", "booking")]
    kept = [compressed_size(recorded[one], train(bodies_to_train_for(recorded, one))) for one in unseen]
    assert sum(kept) * 4 < sum(len(body) for one in unseen for body in recorded[one])


def test_threads_compress_and_decompress_side_by_side() -> None:
    bodies = [SPAN.replace(b"chat", b"%d" % number) for number in range(2000)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda body: decompress(compress(body)), bodies)) == bodies


@pytest.mark.parametrize("compress_each", [compression.compress_all, compression.compress_quickly])
def test_bodies_of_several_calls_keep_their_order(
    monkeypatch: pytest.MonkeyPatch, compress_each: compression.ToStored
) -> None:
    monkeypatch.setattr(compression, "BODIES_PER_CALL", 2)
    large, larger = (
        b'"' + letter * (compression.SMALL_BYTES + number) + b'"' for number, letter in enumerate((b"c", b"d"))
    )
    bodies = [
        b"",
        larger,
        b'{"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}',
        b"",
        large,
        b"1",
        b'"' + b"b" * 500 + b'"',
        large,
    ]
    assert [decompress(stored) for stored in compress_each(bodies)] == bodies


def test_what_a_batch_stores_is_compressed_and_later_shortened_like_other_bodies() -> None:
    bodies = [SPAN.replace(b"chat", b"%d" % number) * 3 for number in range(20)]
    stored = compression.compress_quickly(bodies)
    assert all(len(form) * 4 < len(body) for form, body in zip(stored, bodies, strict=True))
    assert [with_dictionary(form, OF_FACTS) for form in stored] == [compress(body, OF_FACTS) for body in bodies]


def test_what_a_batch_stores_is_at_most_a_byte_longer_than_sent() -> None:
    bodies = [random.Random(7).randbytes(5_000), b"\1", b""]
    stored = compression.compress_quickly(bodies)
    assert [len(form) <= len(body) + 1 for form, body in zip(stored, bodies, strict=True)] == [True] * 3
    assert list(map(decompress, stored)) == bodies


@pytest.mark.parametrize("text", ["", "x", "plain é", "x" * 100_000, "\N{GRINNING FACE} and " * 10_000])
def test_the_length_of_a_stored_text_is_known_before_it_is_restored(text: str) -> None:
    stored = compress_text(text)

    assert text_length(stored) == len(text.encode() if stored.startswith(MARK) else text)


@pytest.mark.parametrize(
    "stored", [MARK, f"{MARK}AAAA", compress_text(f"{MARK}x"), f"{MARK}{b64encode(ZSTD_1 + b'no frame').decode()}"]
)
def test_a_text_that_is_damaged_or_not_compressed_has_the_length_of_its_stored_form(stored: str) -> None:
    assert text_length(stored) == len(stored)
