"""The contents of the image, and its rights."""

import shlex

from tests.e2e.containers.conftest import run
from tests.support.deployment import procfile

# No network, nothing to write to but two scratch folders, no rights.
LOCKED = shlex.split(
    "--rm --network none --memory 256m --cap-drop ALL --security-opt no-new-privileges"
    " --read-only --tmpfs /tmp --tmpfs /var/lib/reprise"
)


def inside(engine: str, image: str, command: str) -> str:
    return run([engine, "run", *LOCKED, image, "sh", "-c", command]).strip()


def test_it_runs_as_an_ordinary_user(engine: str, image: str) -> None:
    assert inside(engine, image, "id -u; id -g").split() == ["10001", "10001"]


def test_it_has_no_compiler(engine: str, image: str) -> None:
    assert inside(engine, image, "command -v gcc g++ cc c++ ld make || true") == ""


def test_its_user_can_change_nothing_of_the_program(engine: str, image: str) -> None:
    assert inside(engine, image, "find /srv/reprise /opt/venv -writable ! -type l | head -3") == ""


def test_it_can_write_to_its_home(engine: str, image: str) -> None:
    assert inside(engine, image, "touch $REPRISE_HOME/there && echo written") == "written"


def test_everything_of_the_procfile_is_installed(engine: str, image: str) -> None:
    programs = {command[0] for command in procfile().values()}
    assert inside(engine, image, " && ".join(f"command -v {program}" for program in programs))


def test_the_command_line_answers(engine: str, image: str) -> None:
    assert "Usage: reprise" in inside(engine, image, "reprise --help")


def test_the_driver_speaks_the_login_of_current_mysql(engine: str, image: str) -> None:
    assert inside(engine, image, "find /usr/lib -name caching_sha2_password.so")
    assert inside(engine, image, "python -c 'import MySQLdb; print(MySQLdb.__name__)'") == "MySQLdb"
