"""The only reader of the environment: every setting, declared once, with its default and its meaning."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from app.providers.vendors import VENDORS

MIB = 1024 * 1024


class SettingsError(Exception):
    """A variable holds what can't be used; the message names it."""


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError("must be 1 or more")
    return number


def _natural(text: str) -> int:
    if (number := int(text)) < 0:
        raise ValueError("must be 0 or more")
    return number


def _percent(text: str) -> int:
    if not 1 <= (number := int(text)) <= 100:
        raise ValueError("must be 1 to 100")
    return number


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"use {', '.join(choices)}")
        return text.lower()

    return parse


def _networks(text: str) -> str:
    for entry in filter(None, map(str.strip, text.split(","))):
        ip_network(entry)
    return text


def _path(text: str) -> Path:
    return Path(text).expanduser().resolve()


def setting(
    env: str,
    default: Any,
    meaning: str,
    parse: Callable[[str], Any] = str,
    *,
    secret: bool = False,
) -> Any:
    """A field read from variable `env`, or from the file that `<env>_FILE` names."""
    return field(default=default, metadata={"env": env, "meaning": meaning, "parse": parse, "secret": secret})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one process. Build with `Settings.load(os.environ)`; tests pass what they need."""

    database_url: str = setting(
        "DATABASE_URL", "", "MySQL, as mysql://user:password@host:3306/name; empty: SQLite", secret=True
    )
    redis_url: str = setting("REDIS_URL", "", "Redis, as redis://host:6379/0; empty: in this process", secret=True)
    home: Path = setting("REPRISE_HOME", Path("var").resolve(), "Folder of the embedded mode's data", _path)
    host: str = setting("REPRISE_HOST", "127.0.0.1", "Address the web server binds to")
    port: int = setting("PORT", 8000, "Port the web server binds to", _positive)
    public_url: str = setting(
        "REPRISE_PUBLIC_URL", "", "Base URL people reach Reprise under; empty: links carry no host"
    )
    trusted_proxies: str = setting(
        "REPRISE_TRUSTED_PROXIES",
        "",
        "Addresses or networks, comma-separated, of proxies whose X-Forwarded-For and -Proto are believed",
        _networks,
    )
    webhook_networks: str = setting(
        "REPRISE_WEBHOOK_NETWORKS",
        "",
        "Networks, comma-separated, that webhooks may lead to though they are private; others must be public",
        _networks,
    )
    secret_key: str = setting(
        "REPRISE_SECRET_KEY",
        "",
        "Encrypts stored vendor credentials and what is in work where a project masks; embedded mode makes its own",
        secret=True,
    )
    metrics_token: str = setting(
        "REPRISE_METRICS_TOKEN", "", "Bearer token of GET /metrics; empty: there is no such path", secret=True
    )
    log_level: str = setting(
        "REPRISE_LOG_LEVEL", "info", "debug, info, warning or error", _one_of("debug", "info", "warning", "error")
    )
    log_format: str = setting(
        "REPRISE_LOG_FORMAT",
        "auto",
        "json, console, or auto: console on a terminal",
        _one_of("json", "console", "auto"),
    )
    catalogue_file: str = setting(
        "REPRISE_CATALOGUE_FILE", "", "TOML file with further models, in the form of the shipped catalogue"
    )

    rate_limit: int = setting(
        "REPRISE_RATE_LIMIT", 6000, "Requests per API key in any 60 s, all endpoints together", _positive
    )
    ingest_rate_limit: int = setting(
        "REPRISE_INGEST_RATE_LIMIT",
        0,
        "Batches of traces and logs per API key in any 60 s, which nothing else counts toward; 0: REPRISE_RATE_LIMIT",
        _natural,
    )
    page_rate_limit: int = setting(
        "REPRISE_PAGE_RATE_LIMIT",
        600,
        "Pages and forms per signed-in user in any 60 s, and per address for those who are not signed in",
        _positive,
    )
    run_body_bytes: int = setting("REPRISE_RUN_BODY_BYTES", 50 * MIB, "Largest run request, files included", _positive)
    json_body_bytes: int = setting(
        "REPRISE_JSON_BODY_BYTES", 2 * MIB, "Largest body of the other JSON requests", _positive
    )
    trace_wire_bytes: int = setting(
        "REPRISE_TRACE_WIRE_BYTES", 20 * MIB, "Largest trace batch as it is sent", _positive
    )
    trace_bytes: int = setting("REPRISE_TRACE_BYTES", 64 * MIB, "Largest trace batch after decompression", _positive)
    span_bytes: int = setting("REPRISE_SPAN_BYTES", 8 * MIB, "Largest single span", _positive)
    compression: str = setting(
        "REPRISE_COMPRESSION",
        "on",
        "Whether spans, log records and texts of runs and replays are stored compressed, on or off",
        _one_of("on", "off"),
    )
    search: str = setting(
        "REPRISE_SEARCH",
        "on",
        "Whether what traces say is kept as an index that finds words, on or off; off removes the index",
        _one_of("on", "off"),
    )
    run_wait_s: int = setting(
        "REPRISE_RUN_WAIT_S", 300, "Seconds a run request waits for its answer before 504", _positive
    )
    run_call_s: int = setting(
        "REPRISE_RUN_CALL_S", 600, "Seconds the model call of a run may take, its retries included", _positive
    )
    model_concurrency: int = setting(
        "REPRISE_MODEL_CONCURRENCY",
        1024,
        "Calls that one model gets at once of one organization, from all processes together",
        _positive,
    )
    model_answer_bytes: int = setting(
        "REPRISE_MODEL_ANSWER_BYTES",
        16 * MIB,
        "Largest answer of a model, decompressed, or event of a stream, which may have four times as much in all",
        _positive,
    )
    ingest_wait_s: int = setting(
        "REPRISE_INGEST_WAIT_S", 5, "Seconds a batch waits for its commit before 503", _positive
    )
    ingest_backlog: int = setting(
        "REPRISE_INGEST_BACKLOG",
        200,
        "Batches of one organization that may wait to be stored, others' share comes on top; beyond it 503",
        _positive,
    )
    ingest_backlog_bytes: int = setting(
        "REPRISE_INGEST_BACKLOG_BYTES",
        256 * MIB,
        "Bytes of all batches that wait to be stored, which Redis holds; beyond it 503",
        _positive,
    )
    head_s: int = setting(
        "REPRISE_HEAD_S",
        10,
        "Seconds a connection has for the whole head of its request before it is closed",
        _positive,
    )
    silence_s: int = setting(
        "REPRISE_SILENCE_S",
        30,
        "Seconds a caller may be behind REPRISE_MIN_BYTES_PER_S with a body, or with taking an answer, before it is "
        "cut off",
        _positive,
    )
    min_bytes_per_s: int = setting(
        "REPRISE_MIN_BYTES_PER_S", 16 * 1024, "Bytes a second that the slowest callers send and take", _positive
    )
    web_processes: int = setting("REPRISE_WEB_PROCESSES", 2, "Web processes; the embedded mode has one", _positive)
    web_threads: int = setting(
        "REPRISE_WEB_THREADS", 1600, "Threads of each web process, started as they are needed", _positive
    )
    run_places: int = setting(
        "REPRISE_RUN_PLACES",
        1000,
        "Runs of one organization that may wait in each web process, others' share comes on top; beyond it 503",
        _positive,
    )
    organization_share: int = setting(
        "REPRISE_ORGANIZATION_SHARE",
        25,
        "Percent of places, threads, model calls and backlog that are an organization's own when others want them too, "
        "and of model calls that replays leave to runs",
        _percent,
    )
    worker_threads: int = setting(
        "REPRISE_WORKER_THREADS",
        64,
        "Runs, and replays, held at once in embedded mode; elsewhere the Procfile says",
        _positive,
    )
    span_threads: int = setting(
        "REPRISE_SPAN_THREADS", 2, "Batches stored at once in embedded mode; elsewhere the Procfile says", _positive
    )
    database_pool: int = setting(
        "REPRISE_DATABASE_POOL", 16, "Database connections one process opens at most", _positive
    )

    vendor_credentials: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """(key, base URL) of each vendor that has one of its usual variables set."""

    @property
    def embedded(self) -> bool:
        """SQLite and an in-process Redis: all in one process."""
        return not self.redis_url

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Read every setting; raises `SettingsError` naming the variable that can't be used."""
        values = {f.name: _read(f, environ) for f in declared()}
        credentials = {
            name: (_text(environ, key) or "", _text(environ, url) or "")
            for name, (key, url) in ((name, vendor.variables) for name, vendor in VENDORS.items())
            if _text(environ, key) or _text(environ, url)
        }
        loaded = cls(**values, vendor_credentials=credentials)
        if bool(loaded.database_url) != bool(loaded.redis_url):
            missing = "REDIS_URL" if loaded.database_url else "DATABASE_URL"
            raise SettingsError(f"{missing}: DATABASE_URL and REDIS_URL go together; set both, or neither")
        if loaded.database_url.startswith("mysql"):
            _load_mysql_driver()
        return loaded

    @classmethod
    def load_or_exit(cls) -> Settings:
        """For processes: what can't be used ends them with one line on standard error and exit code 1."""
        try:
            return cls.load()
        except SettingsError as error:
            sys.exit(f"reprise: {error}")

    def shown(self) -> dict[str, str]:
        """Every setting by its variable, secrets masked: what is logged at start."""
        return {
            f.metadata["env"]: _masked(getattr(self, f.name)) if f.metadata["secret"] else str(getattr(self, f.name))
            for f in declared()
        }


def declared() -> list[Field[Any]]:
    """The fields that are read from the environment, in the order of the documentation."""
    return [f for f in fields(Settings) if "env" in f.metadata]


def _text(environ: Mapping[str, str], env: str) -> str | None:
    if file := environ.get(f"{env}_FILE"):
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise SettingsError(f"{env}_FILE: can't read {file}: {error.strerror}") from error
    return environ.get(env)


def _read(declared_field: Field[Any], environ: Mapping[str, str]) -> Any:
    env = declared_field.metadata["env"]
    text = _text(environ, env)
    if text is None or text == "":
        assert declared_field.default is not MISSING  # noqa: S101 - every setting has a default
        return declared_field.default
    try:
        return declared_field.metadata["parse"](text)
    except ValueError as error:
        raise SettingsError(f"{env}: {text!r} can't be used: {error}") from error


def _load_mysql_driver() -> None:
    """Find out now, not at the first query: it is an extra, and it needs a library of the system."""
    try:
        import MySQLdb  # noqa: F401
    except ImportError as error:
        raise SettingsError(
            f"DATABASE_URL: the MySQL driver can't be loaded ({error}): pip install -r requirements/mysql.txt"
            " (needs a C compiler, pkg-config, libmariadb-dev, python3-dev)"
        ) from error


def _masked(value: str) -> str:
    return "(set)" if value else ""
