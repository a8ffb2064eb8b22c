"""Three throwaway MariaDB servers that are nodes of one Galera cluster."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from tests.support import mariadb
from tests.support.mariadb import PASSWORD, USER, MariaDB
from tests.support.process import TAIL_BYTES
from tests.support.waiting import LOOPBACK, NotReady, free_port, wait_until

PROVIDERS = tuple(Path(folder) / "galera/libgalera_smm.so" for folder in ("/usr/lib", "/usr/lib64"))
NODES = 3
BUFFER_POOL = "32M"


def missing() -> str | None:
    """Return what this machine lacks to run a cluster, or None."""
    if reason := mariadb.missing():
        return reason
    if not any(path.exists() for path in PROVIDERS):
        return "galera-4 is not installed"
    return next((f"{name} is not installed" for name in ("rsync", "lsof") if not shutil.which(name)), None)


class GaleraNode(MariaDB):
    """A server that joins the others at `group`, the ports by which nodes speak with each other.

    Root runs it as the user that Debian made for MariaDB, since rsync of root copies data as the user without rights.
    """

    def __init__(self, folder: Path, group: list[int], place: int) -> None:
        address = f"{LOOPBACK}:{group[place]}"
        provider = f"base_port={group[place]};gmcast.listen_addr=tcp://{address};ist.recv_addr={LOOPBACK}:{free_port()}"
        # fmt: off
        super().__init__(folder, buffer_pool=BUFFER_POOL, options=[
            "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON",
            f"--wsrep-provider={next(path for path in PROVIDERS if path.exists())}",
            f"--wsrep-cluster-address=gcomm://{','.join(f'{LOOPBACK}:{port}' for port in group)}",
            f"--wsrep-node-address={address}", f"--wsrep-node-name=node{place}",
            f"--wsrep-provider-options={provider};gcache.size=64M", "--wsrep-sst-method=rsync",
            f"--wsrep-sst-receive-address={LOOPBACK}:{free_port()}",
        ])
        # fmt: on
        self._options = ["--user=mysql" if option == "--user=root" else option for option in self.argv]
        self._founds = place == 0

    def start(self) -> Self:
        """Start it at the position where it ended, as MariaDB's `galera_recovery` does."""
        self.argv = [*self._options, *self._start_position()]
        if self._founds:
            self.argv.append("--wsrep-new-cluster")
        else:
            # Users come with the data, and a node that still joins executes no statements.
            self.argv = [option for option in self.argv if not option.startswith("--init-file")]
        self._founds = False
        return super().start()

    def _start_position(self) -> list[str]:
        argv = [*self._options, "--skip-networking", "--wsrep-recover"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotReady(f"mariadbd --wsrep-recover ended with {done.returncode}\n{done.stderr[-TAIL_BYTES:]}")
        positions = re.findall(r"Recovered position: (\S+)", done.stdout + done.stderr)
        return [f"--wsrep-start-position={positions[-1]}"] if positions else []

    def status(self, name: str) -> str:
        """Return the value of a status variable."""
        return str(dict(self.execute(f"SHOW STATUS LIKE '{name}'"))[name])

    def isolate(self, isolated: bool) -> None:
        """Cut the node off from the others, or let it find them again; its clients reach it all the time."""
        self.execute(f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate={int(isolated)}'")

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """It applies nothing that other nodes commit, for the length of the block."""
        import MySQLdb

        with contextlib.closing(MySQLdb.connect(unix_socket=str(self.socket), user="root")) as connection:
            connection.query("FLUSH TABLES WITH READ LOCK")
            yield

    def runs(self, statement: str) -> bool:
        """Return True while a connection executes a statement."""
        return (statement,) in self.execute("SELECT info FROM information_schema.processlist")

    def serves(self) -> bool:
        """Return True if it executes statements and sees the others."""
        import MySQLdb

        try:
            return self._answers() and self.status("wsrep_ready") == "ON"
        except MySQLdb.OperationalError:  # it ended meanwhile
            return False


class GaleraCluster:
    """The nodes of a cluster, any of which may be killed, paused, cut off and started again."""

    def __init__(self, folder: Path) -> None:
        ports = [free_port() for _ in range(NODES)]
        homes = [folder / f"node{place}" for place in range(NODES)]
        homes[0].mkdir()
        mariadb.install(homes[0])
        for home in homes[1:]:
            shutil.copytree(homes[0], home)
        if os.geteuid() == 0:
            folder.chmod(0o711)
            for path in (file for home in homes for file in (home, *home.rglob("*"))):
                shutil.chown(path, "mysql")
        self.nodes = [GaleraNode(home, ports, place) for place, home in enumerate(homes)]

    def url(self, name: str, *, first: int = 0) -> str:
        """The URL with all nodes, in their order from the `first` on."""
        ordered = self.nodes[first:] + self.nodes[:first]
        return f"mysql://{USER}:{PASSWORD}@{','.join(f'{LOOPBACK}:{node.port}' for node in ordered)}/{name}"

    def each(self) -> list[Self]:
        """The cluster once for each node, with only that node."""
        alone = [copy.copy(self) for _ in self.nodes]
        for cluster, node in zip(alone, self.nodes, strict=True):
            cluster.nodes = [node]
        return alone

    def create_database(self) -> str:
        """The name of a new, empty database."""
        return self.nodes[0].create_database()

    def wait_whole(self) -> None:
        """Wait until every node serves and sees all others; start nodes that ended, as systemd does."""
        wait_until(self._whole, "the cluster is whole again")

    def _whole(self) -> bool:
        for node in self.nodes:
            if not node.alive:
                print(f"{node.name} ended by itself:\n{node.output_tail()}")
                node.start()
        return all(node.serves() and node.status("wsrep_cluster_size") == str(NODES) for node in self.nodes)

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a SELECT on a node that serves, after all that was committed on any node."""
        serving = next(node for node in reversed(self.nodes) if node.alive and node.serves())
        return serving.execute(f"SET STATEMENT wsrep_sync_wait = 1 FOR {sql}")


@contextlib.contextmanager
def galera_cluster() -> Iterator[GaleraCluster]:
    """A running cluster; it and its files are gone after the block."""
    with tempfile.TemporaryDirectory(prefix="reprise-galera-") as name, contextlib.ExitStack() as started:
        cluster = GaleraCluster(Path(name))
        for node in cluster.nodes:
            started.enter_context(node)
        yield cluster
