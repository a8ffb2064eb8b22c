"""Fixtures of the whole suite: throwaway servers, and what to do where they are not installed."""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

import app.process  # noqa: F401 - garbage is collected as seldom as in the server's processes
from tests.support import mariadb as mariadb_support
from tests.support import redis_server as redis_support
from tests.support.deployment import EmbeddedServer
from tests.support.http_client import Client
from tests.support.mariadb import MariaDB
from tests.support.redis_server import RedisServer
from tests.support.scheduling import FilesByBackend, import_share
from tests.support.statements import executed_on_mysql

# No property fails because the machine is slow. `make test-unit` tries fewer examples.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", settings.get_profile("untimed"), max_examples=20)
settings.load_profile("untimed")

NEEDS = {"needs_mariadb", "needs_redis"}
# Files with tests that wait for most of a minute: begun last, they would keep the processors idle at the end.
WAITING = {
    "test_http_faults.py",
    "test_serve_embedded.py",
    "test_serve_services.py",
    "test_servers_that_stand_still.py",
    "test_slow_callers.py",
}
NOT_RUN = "needs real servers: "


def _require(missing: str | None) -> None:
    """Skip the test, or fail it where REQUIRE_SERVICES is set."""
    if missing is None:
        return
    if os.environ.get("REQUIRE_SERVICES"):
        pytest.fail(f"REQUIRE_SERVICES is set, but {missing}", pytrace=False)
    pytest.skip(NOT_RUN + missing)


@pytest.fixture(scope="session")
def require() -> Callable[[str | None], None]:
    """For tests that find out for themselves what is missing."""
    return _require


@pytest.fixture(scope="session", autouse=True)
def routed_statements() -> Iterator[None]:
    """Fail at the end of a process for statements on MySQL that a sharding proxy would not route, or not execute."""
    with executed_on_mysql() as found:
        yield
    if found:
        # The import is as slow as some tests, and most processes without a database need none.
        from tests.support.routing import problems_of

        if problems := problems_of(found):
            advice = "Name the project, or list the statement in tests/support/every_shard.toml or docs/capacity.md:"
            pytest.fail("\n".join((advice, *problems)), pytrace=False)


@pytest.fixture(scope="session")
def needs_mariadb() -> None:
    """For tests that start another MariaDB."""
    _require(mariadb_support.missing())


@pytest.fixture(scope="session")
def needs_redis() -> None:
    """For tests that start another Redis."""
    _require(redis_support.missing())


@pytest.fixture(scope="session")
def mariadb(needs_mariadb: None) -> Iterator[MariaDB]:
    """A running MariaDB for the whole session; a kill -9 loses no commit."""
    with mariadb_support.mariadb_server(flush_log=2) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server(needs_redis: None) -> Iterator[RedisServer]:
    """A running Redis for the whole session."""
    with redis_support.redis_server() as server:
        yield server


@pytest.fixture
def mysql_url(mariadb: MariaDB) -> Iterator[str]:
    """An empty database."""
    with mariadb.database() as url:
        yield url


@pytest.fixture
def redis_url(redis_server: RedisServer) -> Iterator[str]:
    """An empty Redis database."""
    with redis_server.database() as url:
        yield url


@pytest.fixture(scope="session")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A running Reprise for tests that only speak HTTP to it, of what no database can change.

    It lives as long as the session: tests make the prompts they use. One that breaks or reconfigures its server
    starts its own `EmbeddedServer` or `Deployment`.
    """
    unlimited = {"REPRISE_RATE_LIMIT": "1000000", "REPRISE_PAGE_RATE_LIMIT": "1000000"}
    with EmbeddedServer(tmp_path_factory.mktemp("backend"), unlimited) as server:
        yield server


@pytest.fixture
def client(backend: EmbeddedServer) -> Client:
    return backend.client()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return a process for each processor with `--numprocesses logical`, and two with `auto`.

    Tests that start servers also wait. Unit tests rarely wait, and each process collects all of them.
    """
    processors = os.cpu_count() or 1
    return processors if config.option.numprocesses == "logical" else 2 * processors


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesByBackend:
    """pytest sorts tests by backend. After the longest ones, groups are handed out in that order.

    So each process starts a backend few times.
    """
    return FilesByBackend(config, log)


def pytest_collection(session: pytest.Session) -> None:
    import_share(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests that ask for a server: `-m "not services"` leaves them out. Leaves weekly tests out by default.

    Unit tests come first, before servers and workers of other tests run: idle ones need processor time, too.
    """
    if not os.environ.get("WEEKLY"):
        items[:] = [item for item in items if not item.get_closest_marker("weekly")]
    items.sort(key=lambda item: ("tests/unit/" not in item.path.as_posix(), item.path.name not in WAITING))
    for item in items:
        if NEEDS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.services)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("program"):
        (name,) = marker.args
        _require(None if shutil.which(name) else f"{name} is not installed")


def pytest_collection_finish() -> None:
    """Modules and ten thousand tests are no garbage."""
    from app.process.bootstrap import freeze_gc  # brings along all that the server is made of

    freeze_gc()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """One loud line, last, about tests that did not run because a server is not installed."""
    yield
    reasons = [str(report.longrepr) for report in terminalreporter.getreports("skipped")]
    missing = [reason.partition(NOT_RUN)[2].rstrip("')") for reason in reasons if NOT_RUN in reason]
    if missing:
        line = f"{len(missing)} TESTS ON REAL SERVERS DID NOT RUN: {'; '.join(sorted(set(missing)))}"
        terminalreporter.write_line(line, red=True, bold=True)
