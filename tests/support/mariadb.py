"""A throwaway `mariadbd` on a free port."""

import contextlib
import getpass
import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.support.process import ChildProcess
from tests.support.waiting import LOOPBACK, NotReady, free_port

USER = PASSWORD = "reprise"
# Not a superuser, as in production: `read_only` binds it, and it sees just its own databases.
GRANTS = f"""
CREATE USER IF NOT EXISTS {USER}@'{LOOPBACK}' IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON `reprise\\_%`.* TO {USER}@'{LOOPBACK}';
"""
# A time zone that is not UTC: code that uses the server's time must not pass by luck.
OPTIONS = (
    "--no-defaults",
    f"--bind-address={LOOPBACK}",
    "--character-set-server=utf8mb4",
    "--default-time-zone=+05:45",
    "--innodb-log-file-size=64M",
    "--max-allowed-packet=64M",
    "--max-connections=1000",
    "--skip-name-resolve",
)


class MariaDB(ChildProcess):
    """A server on a data folder that `install` prepared.

    `flush_log`: innodb_flush_log_at_trx_commit; 1 is the durable default, 2 survives kill -9 but not a power cut.
    `buffer_pool`: InnoDB's cache, e.g. "1G". `environment` has further variables for it, `options` further options.
    """

    def __init__(
        self,
        folder: Path,
        *,
        flush_log: int = 1,
        buffer_pool: str = "64M",
        environment: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self.port = free_port()
        self.socket = folder / "mysqld.sock"
        grants = folder / "grants.sql"
        grants.write_text(GRANTS)
        self._names = (f"reprise_{number}" for number in itertools.count())
        # fmt: off
        super().__init__("mariadbd", [
            program("mariadbd"), *OPTIONS, f"--user={getpass.getuser()}", f"--datadir={folder / 'data'}",
            f"--tmpdir={folder}", f"--socket={self.socket}", f"--pid-file={folder / 'mysqld.pid'}",
            f"--port={self.port}",
            f"--init-file={grants}", f"--innodb-flush-log-at-trx-commit={flush_log}",
            f"--innodb-buffer-pool-size={buffer_pool}", *options,
        ], log=folder / "mariadb.log", ready=self._answers, env={**os.environ, **(environment or {})})
        # fmt: on

    def url(self, name: str) -> str:
        return f"mysql://{USER}:{PASSWORD}@{LOOPBACK}:{self.port}/{name}"

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        """Run one statement as the superuser, outside any database; its rows."""
        import MySQLdb  # Compiled, so not on every machine: see `missing`.

        # Without autocommit a change would be undone at the end of the connection.
        connecting = MySQLdb.connect(unix_socket=str(self.socket), user="root", autocommit=True)
        with contextlib.closing(connecting) as connection:
            cursor = connection.cursor()
            cursor.execute(sql)
            return list(cursor.fetchall())

    def each(self) -> list[Self]:
        """Itself, as the only server: see `GaleraCluster`."""
        return [self]

    def create_database(self) -> str:
        """The name of a new, empty database."""
        name = next(self._names)
        self.execute(f"CREATE DATABASE {name}")
        return name

    def drop_database(self, name: str) -> None:
        """Drop it, cutting off who is still connected: a forgotten transaction would block the drop for ever."""
        import MySQLdb

        for (thread,) in self.execute(f"SELECT id FROM information_schema.processlist WHERE db = '{name}'"):
            with contextlib.suppress(MySQLdb.OperationalError):  # It went by itself meanwhile.
                self.execute(f"KILL {thread}")
        self.execute(f"DROP DATABASE {name}")

    def dump(self, name: str, file: Path) -> None:
        """Back a database up while it is used, as docs/data.md describes; `CalledProcessError` if the server fails."""
        options = ("--single-transaction", "--quick", "--hex-blob", "--no-tablespaces")
        with file.open("wb") as dump:
            subprocess.run(
                self._client("mariadb-dump", *options, name), stdout=dump, stderr=subprocess.PIPE, check=True
            )

    def load(self, file: Path, name: str) -> None:
        """Restore a backup in an empty database."""
        with file.open("rb") as dump:
            subprocess.run(self._client("mariadb", name), stdin=dump, capture_output=True, check=True)

    def _client(self, program_name: str, *arguments: str) -> list[str]:
        return [program_name, "--no-defaults", f"--socket={self.socket}", "--user=root", *arguments]

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """The URL of an empty database of one's own, dropped after the block."""
        name = self.create_database()
        try:
            yield self.url(name)
        finally:
            if self.alive:
                self.drop_database(name)

    def _answers(self) -> bool:
        import MySQLdb

        try:
            MySQLdb.connect(host=LOOPBACK, port=self.port, user=USER, password=PASSWORD).close()
        except MySQLdb.OperationalError:
            return False
        return True


def program(name: str) -> str:
    """The path of a server program; Debian keeps some outside a user's PATH."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") or name


def missing() -> str | None:
    """Return what this machine lacks to run MariaDB, or None."""
    for name in ("mariadbd", "mariadb-install-db"):
        if not Path(program(name)).is_absolute():
            return f"{name} is not installed"
    if importlib.util.find_spec("MySQLdb") is None:
        return "mysqlclient is not installed (it compiles against libmariadb-dev, with pkg-config)"
    return None


def install(folder: Path) -> None:
    """Write the system tables of a new server into `folder`/data; once more when that fails, as it rarely does.

    A server that starts removes temporary tables from the folder for them, also those of others: each has its own.
    """
    # fmt: off
    argv = [
        program("mariadb-install-db"), "--no-defaults", f"--user={getpass.getuser()}", f"--datadir={folder / 'data'}",
        "--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=64M",
    ]
    # fmt: on
    for _ in range(2):
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": str(folder)}
        )
        if done.returncode == 0:
            return
        shutil.rmtree(folder / "data", ignore_errors=True)
    raise NotReady(f"mariadb-install-db ended with {done.returncode}\n{done.stdout}{done.stderr}")


@contextlib.contextmanager
def mariadb_server(
    *,
    flush_log: int = 1,
    buffer_pool: str = "64M",
    environment: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Iterator[MariaDB]:
    """A running server; it and its files are gone after the block."""
    with tempfile.TemporaryDirectory(prefix="reprise-mariadb-") as name:
        folder = Path(name)
        install(folder)
        with MariaDB(
            folder, flush_log=flush_log, buffer_pool=buffer_pool, environment=environment, options=options
        ) as server:
            yield server
