"""Work that does not move while it is watched was left behind; a pause of the watcher proves nothing."""

from app.work.sweeper import STEP_S, UNSENT_S, Resending, Watch
from tests.support.sweeping import Clock


def test_work_that_does_not_move_grows_old_while_it_is_watched() -> None:
    clock = Clock()
    watch: Watch[str] = Watch(monotonic=clock)
    ages = []
    for _ in range(4):
        ages.append(watch.look(["a"])["a"])
        clock.at += 5

    assert ages == [0, 5, 10, 15]


def test_what_comes_later_or_has_moved_is_young() -> None:
    clock = Clock()
    watch: Watch[str] = Watch(monotonic=clock)
    watch.look(["a moved at 1"])
    clock.at = 5

    assert watch.look(["a moved at 2", "b"]) == {"a moved at 2": 0, "b": 0}


def test_work_that_was_gone_for_a_look_starts_again() -> None:
    clock = Clock()
    watch: Watch[str] = Watch(monotonic=clock)
    for seen in (["a"], [], ["a"]):
        ages = watch.look(seen)
        clock.at += 5

    assert ages == {"a": 0}


def test_a_long_pause_of_the_watcher_counts_as_a_short_one() -> None:
    clock = Clock()
    watch: Watch[str] = Watch(monotonic=clock)
    watch.look(["a"])
    clock.at += 3600

    assert watch.look(["a"]) == {"a": STEP_S}


def test_the_first_time_all_are_sent_and_then_at_doubled_ages() -> None:
    resending = Resending()
    assert resending.due({7: 0.0}) == [7]

    sent = [age_s for age_s in range(5, 100, 5) if resending.due({7: float(age_s)})]
    assert sent == [10, 20, 40, 80]


def test_what_waits_no_more_is_forgotten() -> None:
    resending = Resending(False)
    assert resending.due({7: UNSENT_S}) == [7]
    assert resending.due({}) == []
    assert resending.due({7: UNSENT_S}) == [7]
