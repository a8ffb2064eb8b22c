"""No secret reaches a log: real processes, at the most verbose level, with successes and with failures."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support.deployment import (
    PATIENT,
    Deployment,
    EmbeddedServer,
    Server,
    environment,
    read_assignments,
    server_on,
)
from tests.support.full_project import everything
from tests.support.process import ChildProcess
from tests.support.remote_project import RemoteProject
from tests.support.waiting import wait_until

VENDOR_KEY = "sk-" + secrets.token_hex(20)
STORED_KEY = "sk-" + secrets.token_hex(20)
METRICS_TOKEN = secrets.token_hex(20)
WRONG_PASSWORD = "not-the-password-" + secrets.token_hex(8)
WRONG_KEY = "rp_" + secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Watched:
    """A server and where its processes log. What `reprise serve` prints for its user, once, is no log."""

    server: Server
    printed: int

    @property
    def logs(self) -> str:
        files = sorted(self.server.home.glob("*.log"))
        texts = [file.read_text(errors="replace") for file in files]
        if self.printed:
            [text] = texts
            texts = ["\n".join(line for line in text[: self.printed].splitlines() if line.startswith("{"))]
            texts.append(text[self.printed :])
        return "\n".join(texts)


@pytest.fixture(scope="module", params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def watched(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shared_upstream: Upstream
) -> Iterator[Watched]:
    home = tmp_path_factory.mktemp(f"secrets-{request.param}")
    settings = {
        **PATIENT,
        "REPRISE_LOG_LEVEL": "debug",
        "REPRISE_LOG_FORMAT": "json",
        "REPRISE_METRICS_TOKEN": METRICS_TOKEN,
        "OPENAI_API_KEY": VENDOR_KEY,
        "OPENAI_BASE_URL": shared_upstream.base_url("OPENAI"),
    }
    with server_on(request, home, settings, web=1, workers=1, processes=1) as server:
        printed = len((home / "serve.log").read_text(errors="replace")) if isinstance(server, EmbeddedServer) else 0
        yield Watched(server, printed)


def test_no_log_has_a_secret_in_it(watched: Watched, upstream: Upstream) -> None:
    server = watched.server
    kept = read_assignments(server.home / "dev.env")
    demo = RemoteProject.of(server)
    made = demo.post("/api/v1/api-keys", json={"name": "Watched"}).json
    project = RemoteProject(server.url, made["key"])

    everything(project)
    administrator = RemoteProject.administering(server)
    invited = administer(administrator)
    said = model_calls(project, upstream)
    refused_key(server.url)
    cookie = browse(server.url, kept["ADMIN_EMAIL"], kept["ADMIN_PASSWORD"])
    invitation = invite(server.url, cookie)
    requests.get(f"{server.url}/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"}, timeout=120)
    demo.session.delete(f"{server.url}/api/v1/api-keys/{made['id']}", timeout=120)
    wait_until(lambda: "/metrics" in watched.logs, "the last request's log line")

    hidden = {
        "the API key": made["key"],
        "the demo key": kept["API_KEY"],
        "the vendor's key": VENDOR_KEY,
        "a stored key": STORED_KEY,
        "the administrator's key": administrator.session.headers["Authorization"].removeprefix("Bearer "),
        "the invitation by program": invited,
        "the token of the metrics": METRICS_TOKEN,
        "the password": kept["ADMIN_PASSWORD"],
        "a wrong password": WRONG_PASSWORD,
        "a wrong key": WRONG_KEY,
        "the session": cookie,
        "the invitation": invitation,
        "the secret key": secret_key(server),
    }
    assert all(len(secret) >= 12 for secret in hidden.values())
    logs = watched.logs
    assert [name for name, secret in hidden.items() if secret in logs] == []
    assert [name for name, secret in hidden.items() if secret in said] == []
    # The logs are those of the requests above, and at debug level.
    assert logs.count('"event": "request"') > 10


def administer(project: RemoteProject) -> str:
    """Store a vendor's key, in ways that are taken and refused; the token of an invitation."""
    for body, status in (
        ({"apiKey": STORED_KEY}, 200),
        ({"apiKey": STORED_KEY, "baseUrl": "?"}, 400),
        (STORED_KEY, 400),
    ):
        answer = project.ask("PUT", "/api/v1/credentials/GOOGLE", json=body)
        assert (answer.status_code, STORED_KEY in answer.text) == (status, False)
    made = project.post("/api/v1/invitations", json={"email": "by.program@example.org", "role": "viewer"})
    assert project.get(made.json["path"]).status_code == 200
    token: str = made.json["path"].removeprefix("/join/")
    return token


def model_calls(project: RemoteProject, upstream: Upstream) -> str:
    """Make a run that succeeds, and one with a vendor that repeats the refused key; return the answers and the log."""
    body = {"name": "Vendor", "value": "Be brief.", "languageModelName": "gpt-4o-mini"}
    prompt_id = project.post("/api/v1/prompts", json=body).json["prompt"]["id"]
    upstream.script(Reply(text="Fine."), Reply(status=401, echo_key=True))
    answers = [project.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "How?"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 502]
    assert any(VENDOR_KEY in str(asked.headers) for asked in upstream.requests)
    return "".join([*(answer.text for answer in answers), project.get(f"/api/v1/prompts/{prompt_id}/logs").text])


def refused_key(url: str) -> None:
    for header in (f"Bearer {WRONG_KEY}", f"Basic {WRONG_KEY}", WRONG_KEY):
        answer = requests.get(f"{url}/api/v1/prompts", headers={"Authorization": header}, timeout=120)
        assert answer.status_code == 401
        assert WRONG_KEY not in answer.text


def browse(url: str, email: str, password: str) -> str:
    """Sign in, once with a wrong password; the session's cookie."""
    browser = requests.Session()
    for tried, status in ((WRONG_PASSWORD, 401), (password, 303)):
        form = {"csrf": csrf(browser.get(f"{url}/sign-in", timeout=120).text), "email": email, "password": tried}
        answer = browser.post(f"{url}/sign-in", data=form, allow_redirects=False, timeout=120)
        assert answer.status_code == status, answer.text
    return str(browser.cookies["reprise_session"])


def invite(url: str, cookie: str) -> str:
    """Invite somebody and follow the link; its token."""
    browser: dict[str, Any] = {"cookies": {"reprise_session": cookie}, "timeout": 60}
    members = f"{url}/projects/1/settings/members"
    form = {"csrf": csrf(requests.get(members, **browser).text), "email": "new@example.org", "role": "member"}
    shown = requests.post(members, data=form, **browser).text
    token = re.search(r"/join/([\w-]+)", shown)
    assert token, shown
    assert requests.get(f"{url}/join/{token[1]}", timeout=120).status_code == 200
    return token[1]


def csrf(page: str) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', page)
    assert found, page
    return found[1]


def secret_key(server: Server) -> str:
    if isinstance(server, Deployment):
        return server.env["REPRISE_SECRET_KEY"]
    return next(file.read_text().strip() for file in server.home.iterdir() if "secret" in file.name)


@pytest.mark.parametrize("command", [["reprise", "doctor"], ["reprise", "db", "upgrade"], ["reprise", "keys", "list"]])
def test_commands_that_reach_nothing_do_not_print_passwords(command: list[str], tmp_path: Path) -> None:
    password = "hunter2-" + secrets.token_hex(8)
    settings = {
        "DATABASE_URL": f"mysql://reprise:{password}@127.0.0.1:1/reprise",
        "REDIS_URL": f"redis://:{password}@127.0.0.1:1/0",
        "REPRISE_SECRET_KEY": password,
        "REPRISE_LOG_LEVEL": "debug",
    }
    process = ChildProcess(command[1], command, log=tmp_path / "out.log", env=environment(tmp_path, settings))
    process.launch()
    wait_until(lambda: not process.alive, "the command's end")
    assert process.output_tail()
    assert password not in (tmp_path / "out.log").read_text()
