"""The window of one process."""

from app.redis_store.rate import LOCAL_KEYS_MAX, LocalWindow


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_as_many_as_the_limit_pass_within_the_window_and_others_after_it() -> None:
    clock = Clock()
    window = LocalWindow(2, 60, monotonic=clock)

    assert [window.hit("a") for _ in range(3)] == [(True, 60), (True, 60), (False, 60)]
    clock.now += 59
    assert window.hit("a") == (False, 1)
    assert window.hit("b") == (True, 60)
    clock.now += 1
    assert window.hit("a") == (True, 60)


def test_what_is_given_back_makes_room() -> None:
    window = LocalWindow(1, 60)
    window.hit("a")

    window.give_back("a")
    window.give_back("nobody's")

    assert window.hit("a")[0]


def test_its_memory_is_bounded() -> None:
    window = LocalWindow(1, 60)
    for number in range(LOCAL_KEYS_MAX + 1):
        window.hit(number)

    assert len(window._times) == LOCAL_KEYS_MAX
