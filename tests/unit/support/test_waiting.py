"""Ports of the tests' servers."""

import itertools

from tests.support.waiting import free_port, own_ports


def test_processes_that_test_at_the_same_time_share_no_port():
    """A server binds its port long after it was chosen."""
    workers = [
        set(
            itertools.islice(
                own_ports({"PYTEST_XDIST_WORKER_COUNT": "3", "PYTEST_XDIST_WORKER": f"gw{number}"}), 22_000
            )
        )
        for number in range(3)
    ]
    assert all(one.isdisjoint(other) for one, other in itertools.combinations(workers, 2))
    assert len(set.union(*workers)) == 22_000


def test_no_port_comes_twice():
    ports = [free_port() for _ in range(300)]
    assert len(set(ports)) == len(ports)
