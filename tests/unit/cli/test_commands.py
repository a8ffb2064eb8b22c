"""The command line on a separate folder: each command's output, errors in one line, exit codes."""

import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from reprise_client.cli import with_extensions

from app.cli.instance import ready_text
from app.process import home
from app.services.operations.setup import Admin, Seed
from config.settings import Settings, declared

pytestmark = pytest.mark.slow

Reprise = Callable[..., Result]


@pytest.fixture
def reprise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reprise:
    for field in declared():
        monkeypatch.delenv(field.metadata["env"], raising=False)
    monkeypatch.setenv("REPRISE_HOME", str(tmp_path))
    return lambda *arguments: CliRunner().invoke(with_extensions(), arguments)


def key_of(listing: str) -> list[list[str]]:
    return [line.split("\t") for line in listing.splitlines()]


def test_the_question_before_erasing_shows_controls_of_an_id(reprise: Reprise) -> None:
    reprise("init")

    asked = reprise("erase", "session", "\x1b[2Jabc")

    assert r"Erase session \u001b[2Jabc? " in asked.output
    assert "\x1b" not in asked.output


def test_help_loads_nothing_heavy() -> None:
    heavy = {"sqlalchemy", "dramatiq", "falcon", "gunicorn", "httpx", "redis", "alembic"}
    load = "from reprise_client.cli import with_extensions; with_extensions()"
    code = f"import sys; {load}; print(*({heavy} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_init_makes_a_project_and_prints_its_key_once(reprise: Reprise, tmp_path: Path) -> None:
    first, second = reprise("init"), reprise("init")
    key = home.read_dev_env(tmp_path)["API_KEY"]
    assert first.output.startswith(f"Project 1\nAPI key {key}\n")
    assert second.output.startswith("Project 1\nIt has an API key already: `reprise keys create` makes more.\n")
    assert home.read_dev_env(tmp_path)["API_KEY"] == key


def test_init_prints_a_link_that_signs_in(reprise: Reprise) -> None:
    link = re.search(r"^Sign in as admin@\S+, within a day: (http\S+)$", reprise("init").output, re.M)
    assert link
    assert link[1].startswith("http://127.0.0.1:8000/")


@pytest.mark.parametrize("terminal", [True, False])
def test_serve_shows_key_and_link_on_a_terminal_only(
    reprise: Reprise, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    reprise("init")
    admin = Admin("ada@example.org", "a password", "/sign-in/link?token=abc")
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)

    text = ready_text(Settings.load(), Seed(1, "key-1", None, key_is_new=True), admin)

    assert [secret in text for secret in ("key-1", "a password", "token=abc")] == [terminal] * 3
    assert home.DEV_ENV in text
    assert re.search(rf"^  export REPRISE_AGENT=my-agent; \. /\S+/{home.AGENT_VARIABLES}$", text, re.M)


def test_serve_names_no_variables_of_agents_without_a_key(reprise: Reprise, tmp_path: Path) -> None:
    reprise("init")
    for name in (home.AGENT_VARIABLES, home.DEV_ENV):
        (tmp_path / name).unlink()
    reprise("init")

    assert home.AGENT_VARIABLES not in ready_text(
        Settings.load(), Seed(1, None, None, key_is_new=False), Admin("ada@example.org", None, "/")
    )


def test_init_makes_nothing_where_it_could_not_keep_the_key(
    reprise: Reprise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    failed = reprise("init")
    assert (failed.exit_code, failed.output) == (1, f"Error: REPRISE_HOME: can't write to {tmp_path}\n")
    assert list(tmp_path.iterdir()) == []


def test_init_makes_no_key_for_a_project_that_has_one_although_dev_env_is_gone(
    reprise: Reprise, tmp_path: Path
) -> None:
    reprise("init")
    (tmp_path / home.DEV_ENV).unlink()
    assert "has an API key already" in reprise("init").output
    assert len(key_of(reprise("keys", "list").output)) == 1


def test_init_with_the_demo_makes_one_demo_prompt(reprise: Reprise, tmp_path: Path) -> None:
    assert reprise("init", "--demo").output.startswith("Project 1, demo prompt 1\n")
    (tmp_path / home.DEV_ENV).unlink()
    assert reprise("init", "--demo").output.startswith("Project 1, demo prompt 1\n")


def test_a_key_is_created_listed_and_revoked(reprise: Reprise) -> None:
    reprise("init")
    secret = reprise("keys", "create", "ci", "--scope", "run", "--expires", "2999-01-01").output.strip()
    assert secret.startswith("rp_")
    listed = key_of(reprise("keys", "list").output)
    assert listed[1] == ["2", "ci", f"…{secret[-4:]}", "run", "valid", "never"]
    assert reprise("keys", "revoke", "2").output == "Key 2 is revoked.\n"
    assert key_of(reprise("keys", "list").output)[1][4] == "revoked"


def test_the_scopes_of_a_key_are_named_by_the_help_and_when_one_is_unknown(reprise: Reprise) -> None:
    for told in (reprise("keys", "create", "--help"), reprise("keys", "create", "ci", "--scope", "everything")):
        assert all(scope in told.output for scope in ("run", "read", "write", "ingest", "admin"))
    assert "CI needs read and run" in " ".join(reprise("keys", "create", "--help").output.split())


def test_a_key_administers_only_when_that_is_asked_for(reprise: Reprise) -> None:
    reprise("init")
    reprise("keys", "create", "app")
    reprise("keys", "create", "terraform", "--scope", "admin")
    scopes = [key[3] for key in key_of(reprise("keys", "list").output)]
    assert scopes[1:] == ["ingest,read,run,write", "admin"]


def test_a_sign_in_link_is_for_who_is_there(reprise: Reprise, tmp_path: Path) -> None:
    reprise("init")
    email = home.read_dev_env(tmp_path)["ADMIN_EMAIL"]
    assert reprise("sign-in-link", email).output.startswith("http://127.0.0.1:8000/sign-in/link?token=")
    assert "token=" in reprise("sign-in-link", "--keep-password", email).output
    failed = reprise("sign-in-link", "nobody@example.org")
    assert (failed.exit_code, failed.output) == (1, "Error: email: There is no user nobody@example.org.\n")


def test_revoking_an_unknown_key_is_one_line_and_exit_code_1(reprise: Reprise) -> None:
    reprise("init")
    failed = reprise("keys", "revoke", "99")
    assert (failed.exit_code, failed.output) == (1, "Error: There is no such API key, or it was revoked before.\n")


def test_keys_before_init_explain_what_to_do(reprise: Reprise) -> None:
    reprise("db", "upgrade")
    failed = reprise("keys", "list")
    assert (failed.exit_code, failed.output) == (1, "Error: There is no project yet: run `reprise init`.\n")


@pytest.mark.parametrize(
    "command",
    [
        "keys list",
        "keys create CI",
        "keys revoke 1",
        "data-policy show",
        "data-policy set -",
        "compress",
        "sign-in-link admin@example.com",
        "erase session abc --yes",
        "erase prompt 1 --yes",
        "erase project 1 --yes",
    ],
)
def test_what_needs_a_database_explains_how_one_is_made_and_makes_nothing(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch, reprise: Reprise
) -> None:
    fresh, used = tmp_path / "fresh", tmp_path / "used"
    used.mkdir()
    (used / home.DATABASE).touch()
    for folder in (fresh, used):
        monkeypatch.setenv("REPRISE_HOME", str(folder))
        refused = CliRunner().invoke(with_extensions(), command.split(), input="{}")
        assert refused.exit_code == 2
        assert f"Error: There is no database: {folder / home.DATABASE} is missing or empty. `reprise serve` or" in (
            refused.output
        )
    assert not fresh.exists()
    assert [(file.name, file.stat().st_size) for file in used.iterdir()] == [(home.DATABASE, 0)]
    assert reprise("init").exit_code == 0
    assert reprise("keys", "list").exit_code == 0


@pytest.mark.parametrize("command", [("init",), ("db", "upgrade")], ids=" ".join)
def test_what_sets_an_instance_up_makes_the_database(
    tmp_path: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, reprise: Reprise
) -> None:
    monkeypatch.setenv("REPRISE_HOME", str(tmp_path / "fresh"))
    assert reprise(*command).exit_code == 0
    assert (tmp_path / "fresh" / home.DATABASE).stat().st_size


def test_a_bad_setting_is_one_line_that_names_it(reprise: Reprise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_LOG_LEVEL", "loud")
    failed = reprise("init")
    assert failed.exit_code == 1
    assert failed.output == "Error: REPRISE_LOG_LEVEL: 'loud' can't be used: use debug, info, warning, error\n"


def test_the_doctor_makes_no_database_so_that_a_backup_can_still_be_restored(
    reprise: Reprise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reprise("init")
    assert reprise("backup", str(tmp_path / "backup.db")).exit_code == 0
    monkeypatch.setenv("REPRISE_HOME", str(tmp_path / "fresh"))
    file = tmp_path / "fresh" / home.DATABASE

    ill = reprise("doctor")

    assert ill.exit_code == 1
    assert f"PROBLEM\tdatabase\t{file} is missing or empty.\tStart `reprise serve`" in ill.output
    assert not file.parent.exists()
    assert reprise("restore", str(tmp_path / "backup.db")).exit_code == 0
    assert reprise("doctor").exit_code == 0


def test_the_doctor_sends_a_database_without_a_schema_to_be_upgraded(reprise: Reprise, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / home.DATABASE)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    ill = reprise("doctor")
    assert ill.exit_code == 1
    assert "PROBLEM\tdatabase\tThe database's schema is at no revision: run `reprise db upgrade`." in ill.output
    assert "DATABASE_URL" not in ill.output
    assert reprise("db", "upgrade").output.startswith("The schema is at revision ")
    assert reprise("doctor").exit_code == 0


@pytest.fixture
def services_away(reprise: Reprise, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses of MySQL and Redis where no server listens."""
    pytest.importorskip("MySQLdb", reason="the MySQL driver is compiled only where its headers are")
    monkeypatch.setenv("DATABASE_URL", "mysql://nobody@127.0.0.1:9/none")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:9/0")


@pytest.mark.parametrize("command", ["init", "db upgrade"])
def test_a_database_that_is_away_is_one_line(reprise: Reprise, services_away: None, command: str) -> None:
    failed = reprise(*command.split())
    assert failed.exit_code == 1
    assert failed.output.splitlines()[-1] == "Error: The database is not available; try again."
    assert isinstance(failed.exception, SystemExit)


def test_the_doctor_names_what_is_away(reprise: Reprise, services_away: None) -> None:
    ill = reprise("doctor")
    assert ill.exit_code == 1
    for check in ("secret key", "database", "Redis"):
        assert f"PROBLEM\t{check}\t" in ill.output
