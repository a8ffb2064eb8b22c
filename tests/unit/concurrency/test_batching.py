"""Questions of many threads, asked together."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from dramatiq.threading import raise_thread_exception

from app.concurrency.batching import Coalescer, Forwarder, GroupCommit
from app.concurrency.deadline import within
from app.errors import Invalid, Unavailable
from tests.support.waiting import wait_until


class TimeIsUp(BaseException):
    """Raised in a thread from outside, as Dramatiq does."""


class Gated:
    """Answers each question with its double; holds every time that it is asked until it is let go."""

    def __init__(self):
        self.asked = []
        self.gate = threading.Semaphore(0)

    def __call__(self, questions):
        self.asked.append(list(questions))
        self.gate.acquire()
        if "bad" in questions:
            raise Invalid("no answer")
        if "late" in questions:
            raise TimeIsUp
        return [question * 2 for question in questions]


@pytest.fixture
def pool():
    with ThreadPoolExecutor(20) as pool:
        yield pool


@pytest.fixture
def source(pool):
    source = Gated()
    yield source
    source.gate.release(100)


@pytest.fixture
def double(source):
    return Coalescer(source)


def until_asked(source):
    wait_until(lambda: source.asked, "the first question")


def until_waiting(coalescer, count):
    wait_until(lambda: len(coalescer._waiting) == count, f"{count} who wait")


class Late(Coalescer):
    """The wait of a caller is over when `is_over` returns True for its ticket."""

    def __init__(self, ask, is_over):
        super().__init__(ask, wait_s=0)
        self.is_over, self.late = is_over, 0

    def _give_up(self, ticket):
        wait_until(lambda: self.is_over(ticket), "the end of its time")
        self.late += 1
        super()._give_up(ticket)


def test_a_single_caller_asks_by_itself():
    asked = []
    double = Coalescer(lambda questions: asked.append(questions) or [question * 2 for question in questions])

    assert [double(1), double(2)] == [2, 4]
    assert asked == [[1], [2]]


def test_who_comes_meanwhile_is_asked_for_together_and_gets_the_own_answer(pool, source, double):
    first = pool.submit(double, 0)
    until_asked(source)
    others = [pool.submit(double, number) for number in range(1, 10)]
    until_waiting(double, 9)
    source.gate.release(2)

    assert [first.result(), *(other.result() for other in others)] == [number * 2 for number in range(10)]
    assert [sorted(together) for together in source.asked] == [[0], list(range(1, 10))]


def test_no_caller_joins_a_question_that_is_under_way(pool, source, double):
    """A request sent before a commit may be answered with the state before it."""
    first = pool.submit(double, 1)
    until_asked(source)
    second = pool.submit(double, 1)
    until_waiting(double, 1)
    source.gate.release()
    first.result()

    assert not second.done()
    source.gate.release()
    assert second.result() == 2
    assert source.asked == [[1], [1]]


def test_no_more_than_so_many_go_together(pool, source):
    double = Coalescer(source, most=4)
    results = [pool.submit(double, 0)]
    until_asked(source)
    results += [pool.submit(double, number) for number in range(1, 11)]
    until_waiting(double, 10)
    source.gate.release(4)

    assert [result.result() for result in results] == [number * 2 for number in range(11)]
    assert [len(together) for together in source.asked] == [1, 4, 4, 2]


def test_what_ends_the_thread_of_who_asks_for_all_ends_no_other(pool, source, double):
    first = pool.submit(double, 0)
    until_asked(source)
    late = pool.submit(double, "late")
    until_waiting(double, 1)
    beside = pool.submit(double, "beside")
    until_waiting(double, 2)
    source.gate.release(2)

    assert first.result(60) == 0
    with pytest.raises(TimeIsUp):
        late.result(60)
    with pytest.raises(Unavailable):
        beside.result(60)


def in_a_known_thread(pool, coalescer, question, threads):
    def ask():
        threads.append(threading.get_ident())
        return coalescer(question)

    return pool.submit(ask)


def test_a_caller_with_a_thread_that_ends_before_it_asks_leaves_that_to_the_next(pool, source, double):
    threads = []
    first = pool.submit(double, 0)
    until_asked(source)
    ended = in_a_known_thread(pool, double, "ended", threads)
    until_waiting(double, 1)
    behind = pool.submit(double, 1)
    until_waiting(double, 2)
    raise_thread_exception(threads[0], TimeIsUp)
    source.gate.release(100)

    assert first.result(60) == 0
    with pytest.raises(TimeIsUp):
        ended.result(60)
    assert [behind.result(60), double(2)] == [2, 4]
    assert source.asked == [[0], [1], [2]]


def test_a_caller_with_a_thread_that_ends_in_the_line_is_never_called(pool, source):
    threads, ended_from_outside = [], threading.Event()
    double = Late(source, lambda _ticket: ended_from_outside.is_set())
    first = pool.submit(double, 0)
    until_asked(source)
    ended = in_a_known_thread(pool, double, "ended", threads)
    until_waiting(double, 1)
    raise_thread_exception(threads[0], TimeIsUp)
    ended_from_outside.set()
    with pytest.raises(TimeIsUp):
        ended.result(60)
    source.gate.release(100)

    assert [first.result(60), double(1), double(2)] == [0, 2, 4]


def test_an_error_reaches_all_who_asked_together_and_no_other(pool, source, double):
    first = pool.submit(double, "good")
    until_asked(source)
    bad = [pool.submit(double, question) for question in ("bad", "beside")]
    until_waiting(double, 2)
    source.gate.release(2)

    assert first.result() == "goodgood"
    for result in bad:
        with pytest.raises(Invalid, match="no answer"):
            result.result()
    source.gate.release()
    assert double("after") == "afterafter"


def test_a_caller_that_waits_too_long_gives_up_and_keeps_no_other_from_asking(pool, source):
    double = Coalescer(source, wait_s=0)
    first = pool.submit(double, 1)
    until_asked(source)
    with pytest.raises(Unavailable):
        double(2)
    source.gate.release(2)

    assert [first.result(), double(3)] == [2, 6]
    assert source.asked == [[1], [3]]


def test_a_caller_that_is_asked_for_waits_for_the_answer_however_long_it_lasts(pool, source):
    double = Late(source, lambda ticket: ticket not in double._waiting)
    first = pool.submit(double, 0)
    until_asked(source)
    others = [pool.submit(double, number) for number in (1, 2)]
    until_waiting(double, 2)
    source.gate.release()
    wait_until(lambda: len(source.asked) == 2 and double.late == 2, "the question of both, who are late")
    source.gate.release()
    assert [first.result(), *(other.result() for other in others)] == [0, 2, 4]


def test_too_few_answers_are_an_error_and_not_a_wait_for_ever():
    with pytest.raises(ValueError, match="zip"):
        Coalescer(lambda _questions: [])(1)


def test_of_many_threads_each_gets_its_own_answers():
    double = Coalescer(lambda questions: [question * 2 for question in questions], most=3)
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(double, range(3000))) == [number * 2 for number in range(3000)]


@pytest.fixture
def forward(source):
    return Forwarder(source)


def test_who_passes_something_on_meanwhile_does_not_wait(pool, source, forward):
    first = pool.submit(forward, 0)
    until_asked(source)
    for number in range(1, 4):
        pool.submit(forward, number).result(60)
    assert not first.done()
    source.gate.release(2)

    first.result(60)
    assert source.asked == [[0], [1, 2, 3]]


def test_no_more_than_so_many_are_passed_on_together(pool, source):
    forward = Forwarder(source, most=2)
    first = pool.submit(forward, 0)
    until_asked(source)
    for number in range(1, 6):
        forward(number)
    source.gate.release(100)
    first.result(60)

    assert source.asked == [[0], [1, 2], [3, 4], [5]]


@pytest.mark.parametrize(("item", "error"), [("bad", Invalid), ("late", TimeIsUp)])
def test_what_could_not_be_passed_on_goes_with_the_next(pool, source, forward, item, error):
    first = pool.submit(forward, 0)
    until_asked(source)
    forward(item)
    forward(1)
    source.gate.release(2)
    with pytest.raises(error):
        first.result(60)
    source.asked.clear()
    source.gate.release(100)
    with pytest.raises(error):
        forward(2)

    assert source.asked == [[item, 1, 2]]


def test_a_thread_that_is_ended_while_it_passes_on_leaves_that_to_the_next(pool, source, forward):
    threads = []
    first = in_a_known_thread(pool, forward, 0, threads)
    until_asked(source)
    forward(1)
    raise_thread_exception(threads[0], TimeIsUp)
    source.gate.release(100)
    with pytest.raises(TimeIsUp):
        first.result(60)
    forward(2)

    assert source.asked == [[0], [0, 1, 2]]


def test_of_many_threads_each_item_is_passed_on_once():
    passed = []
    forward = Forwarder(passed.extend, most=3)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(forward, range(3000)))

    assert sorted(passed) == list(range(3000))


def group_commit(commit):
    return GroupCommit(commit, project_of=lambda change: OTHER if change == "other" else PROJECT)


PROJECT, OTHER = 1, 2


@pytest.fixture
def commit(source):
    """Commits doubles by `source`, together."""
    return group_commit(source)


def together(pool, source, commit, *changes):
    """Commit these in one call, after one that holds the others up."""
    first = pool.submit(commit, 0)
    until_asked(source)
    others = []
    for place, change in enumerate(changes, 1):
        others.append(pool.submit(commit, change))
        until_waiting(commit._by_project[PROJECT], place)
    source.gate.release(100)
    assert first.result() == 0
    return others


def test_changes_that_come_together_are_committed_together(pool, source, commit):
    changes = together(pool, source, commit, 1, 2, 3)

    assert [one.result() for one in changes] == [2, 4, 6]
    assert source.asked == [[0], [1, 2, 3]]


def test_a_change_of_another_project_neither_joins_nor_waits(pool, source, commit):
    first = pool.submit(commit, 0)
    until_asked(source)
    second = pool.submit(commit, 1)
    until_waiting(commit._by_project[PROJECT], 1)
    other = pool.submit(commit, "other")
    wait_until(lambda: ["other"] in source.asked, "the change of another project")
    source.gate.release(100)

    assert [first.result(), second.result(), other.result()] == [0, 2, "otherother"]
    assert sorted(source.asked, key=str) == [["other"], [0], [1]]


def test_nothing_is_kept_of_projects_without_changes(source, commit):
    source.gate.release(100)
    assert commit(1) == 2
    gc.collect()

    assert not commit._by_project


def test_only_the_change_that_is_refused_fails(pool, source, commit):
    changes = together(pool, source, commit, 1, "bad", 3)

    assert [changes[0].result(), changes[2].result()] == [2, 6]
    with pytest.raises(Invalid, match="no answer"):
        changes[1].result()
    assert source.asked == [[0], [1, "bad", 3], [1], ["bad"], [3]]


def test_a_single_change_is_refused_once(source, commit):
    source.gate.release(100)

    with pytest.raises(Invalid, match="no answer"):
        commit("bad")
    assert source.asked == [["bad"]]


def test_a_database_that_is_away_is_asked_once_for_all(pool):
    asked = Gated()

    def away(changes):
        asked(changes)
        if changes != [0]:
            raise Unavailable("away")
        return changes

    for change in together(pool, asked, group_commit(away), 1, 2):
        with pytest.raises(Unavailable, match="away"):
            change.result()
    assert asked.asked == [[0], [1, 2]]


@pytest.mark.slow
def test_who_has_a_deadline_waits_no_longer_for_a_round_of_another(pool, source, double):
    """The leader's deadline may be later, or it has none."""

    def ask_in_a_moment():
        with within(0.5):
            return double(2)

    first = pool.submit(double, 0)
    until_asked(source)
    leader = pool.submit(double, 1)
    until_waiting(double, 1)
    late = pool.submit(ask_in_a_moment)
    until_waiting(double, 2)
    source.gate.release()
    with pytest.raises(Unavailable):
        late.result()

    source.gate.release()
    assert [first.result(), leader.result()] == [0, 2]
