"""What a process keeps of answers in Redis: as much as it may, and the newest."""

from app.redis_store.kept_bytes import KEY_BYTES, KeptBytes


def kept_by(*written: tuple[str, int], most: int) -> dict[str, int]:
    """Return what is kept under each key after these bytes were written, by the keys that had to go."""
    answers, sizes = KeptBytes(most), dict[str, int]()
    for key, size in written:
        for over in answers.add(key, size):
            sizes.pop(over, None)
        sizes[key] = sizes.get(key, 0) + size
        assert sum(sizes.values()) <= max(most, size)
    return sizes


def test_all_is_kept_while_there_is_room() -> None:
    assert kept_by(("a", 10), ("b", 20), ("a", 5), most=10_000) == {"a": 15, "b": 20}


def test_the_key_that_was_written_the_longest_ago_goes_first() -> None:
    room = 3 * (KEY_BYTES + 100)
    kept = kept_by(("a", 100), ("b", 100), ("c", 100), ("a", 0), ("d", 100), most=room)
    assert kept == {"c": 100, "a": 100, "d": 100}


def test_a_stream_that_fills_the_room_loses_its_beginning() -> None:
    assert kept_by(*[("a", 400)] * 5, most=KEY_BYTES + 1000) == {"a": 400}


def test_a_piece_without_room_is_the_only_one() -> None:
    assert kept_by(("a", 10), ("b", 5000), most=2000) == {"b": 5000}


def test_keys_without_bytes_need_room_too() -> None:
    assert len(kept_by(*((str(number), 0) for number in range(1000)), most=10 * KEY_BYTES)) == 10
