"""The only reader of the environment: every setting, declared once, with its default and its meaning."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from config import servers
from config.checks import check_mysql_driver, check_openid, check_servers
from config.environment import (
    SettingsError,
    group_roles,
    natural,
    networks,
    one_of,
    path,
    percent,
    positive,
    read,
    setting,
    value_of,
)

MIB = 1024 * 1024

VENDOR_VARIABLES = {
    "OPENAI": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "ANTHROPIC": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "GOOGLE": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "DEEPSEEK": ("DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL"),
    "CUSTOM_OPENAI_COMPATIBLE": ("CUSTOM_OPENAI_API_KEY", "CUSTOM_OPENAI_BASE_URL"),
}
"""The environment variables of each vendor's key and base URL."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one process. Build with `Settings.load(os.environ)`; tests pass what they need."""

    database_url: str = setting(
        "DATABASE_URL",
        "",
        "MySQL, as mysql://user:password@host:3306/name, where host:3306,host:3306 are several; empty: SQLite",
        servers.database_url,
        secret=True,
    )
    redis_url: str = setting(
        "REDIS_URL",
        "",
        "Redis, as redis://host:6379/0, or redis+sentinel://host:26379,host:26379/service/0; empty: in this process",
        servers.redis_url,
        secret=True,
    )
    home: Path = setting("REPRISE_HOME", Path("var").resolve(), "Folder of the embedded mode's data", path)
    host: str = setting("REPRISE_HOST", "127.0.0.1", "Address the web server binds to")
    port: int = setting("PORT", 8000, "Port the web server binds to", positive)
    public_url: str = setting(
        "REPRISE_PUBLIC_URL", "", "Base URL under which people reach Reprise; empty: links have no host"
    )
    trusted_proxies: str = setting(
        "REPRISE_TRUSTED_PROXIES",
        "",
        "Addresses or networks, comma-separated, of proxies that are trusted to set X-Forwarded-For and -Proto",
        networks,
    )
    webhook_networks: str = setting(
        "REPRISE_WEBHOOK_NETWORKS",
        "",
        "Private networks, comma-separated, that webhooks may reach; all other addresses must be public",
        networks,
    )
    secret_key: str = setting(
        "REPRISE_SECRET_KEY",
        "",
        "Encrypts stored vendor credentials and unfinished work of projects that mask; embedded mode makes one",
        secret=True,
    )
    openid_issuer: str = setting(
        "REPRISE_OPENID_ISSUER",
        "",
        "Address of an OpenID provider with which people sign in, as its metadata names it; empty: none",
    )
    openid_client_id: str = setting("REPRISE_OPENID_CLIENT_ID", "", "Name of this instance at the OpenID provider")
    openid_client_secret: str = setting(
        "REPRISE_OPENID_CLIENT_SECRET", "", "Secret of this instance at the OpenID provider", secret=True
    )
    openid_name: str = setting(
        "REPRISE_OPENID_NAME", "single sign-on", "The OpenID provider's name on the sign-in page"
    )
    openid_scopes: str = setting("REPRISE_OPENID_SCOPES", "openid email profile", "Scopes asked of the OpenID provider")
    openid_groups: str = setting("REPRISE_OPENID_GROUPS", "groups", "Claim of the OpenID provider that lists groups")
    openid_roles: str = setting(
        "REPRISE_OPENID_ROLES",
        "",
        "Roles of the OpenID provider's groups, as group=admin,group=member,*=viewer, where * is everybody; empty: "
        "only members sign in",
        group_roles,
    )
    openid_trust_email: str = setting(
        "REPRISE_OPENID_TRUST_EMAIL",
        "off",
        "Whether e-mails of the OpenID provider count as verified without its word, on or off",
        one_of("on", "off"),
    )
    metrics_token: str = setting(
        "REPRISE_METRICS_TOKEN", "", "Bearer token of GET /metrics; empty: the path does not exist", secret=True
    )
    log_level: str = setting(
        "REPRISE_LOG_LEVEL", "info", "debug, info, warning or error", one_of("debug", "info", "warning", "error")
    )
    log_format: str = setting(
        "REPRISE_LOG_FORMAT",
        "auto",
        "json, console, or auto: console on a terminal",
        one_of("json", "console", "auto"),
    )
    catalogue_file: str = setting(
        "REPRISE_CATALOGUE_FILE", "", "TOML file with further models, in the form of the shipped catalogue"
    )

    rate_limit: int = setting(
        "REPRISE_RATE_LIMIT", 6000, "Requests per API key in any 60 s, all endpoints together", positive
    )
    ingest_rate_limit: int = setting(
        "REPRISE_INGEST_RATE_LIMIT",
        0,
        "Batches of traces and logs, and scores, per API key in any 60 s, counted separately from "
        "other requests; 0: REPRISE_RATE_LIMIT",
        natural,
    )
    page_rate_limit: int = setting(
        "REPRISE_PAGE_RATE_LIMIT",
        600,
        "Pages and forms per signed-in user in any 60 s, and per IPv4 address or IPv6 /64 for everybody else",
        positive,
    )
    run_body_bytes: int = setting("REPRISE_RUN_BODY_BYTES", 50 * MIB, "Largest run request, files included", positive)
    json_body_bytes: int = setting(
        "REPRISE_JSON_BODY_BYTES", 2 * MIB, "Largest body of the other JSON requests", positive
    )
    trace_wire_bytes: int = setting(
        "REPRISE_TRACE_WIRE_BYTES", 20 * MIB, "Largest trace batch as sent, before decompression", positive
    )
    trace_bytes: int = setting("REPRISE_TRACE_BYTES", 64 * MIB, "Largest trace batch after decompression", positive)
    span_bytes: int = setting("REPRISE_SPAN_BYTES", 8 * MIB, "Largest single span", positive)
    compression: str = setting(
        "REPRISE_COMPRESSION",
        "on",
        "Whether spans, log records, facts of turns and texts of runs and replays are stored compressed, on or off",
        one_of("on", "off"),
    )
    search: str = setting(
        "REPRISE_SEARCH",
        "on",
        "Whether texts of traces are indexed for the search, on or off; off removes the index",
        one_of("on", "off"),
    )
    run_wait_s: int = setting(
        "REPRISE_RUN_WAIT_S", 300, "Seconds a run request waits for its answer before 504", positive
    )
    run_call_s: int = setting(
        "REPRISE_RUN_CALL_S", 600, "Seconds that the model call of a run may last, its retries included", positive
    )
    model_concurrency: int = setting(
        "REPRISE_MODEL_CONCURRENCY",
        1024,
        "Calls that one model gets at once of one organization, from all processes together",
        positive,
    )
    model_answer_bytes: int = setting(
        "REPRISE_MODEL_ANSWER_BYTES",
        16 * MIB,
        "Largest answer of a model, decompressed, or event of a stream; a whole stream may have four times as much",
        positive,
    )
    request_s: int = setting(
        "REPRISE_REQUEST_S",
        5,
        "Seconds after which a request that still needs the database or Redis gets 503; for batches and runs "
        "see REPRISE_INGEST_WAIT_S and REPRISE_RUN_WAIT_S",
        positive,
    )
    ingest_wait_s: int = setting(
        "REPRISE_INGEST_WAIT_S", 5, "Seconds a batch waits for its commit before 503", positive
    )
    ingest_backlog: int = setting(
        "REPRISE_INGEST_BACKLOG",
        200,
        "Batches of one organization that may wait to be stored, plus a share for others; beyond it 503",
        positive,
    )
    ingest_backlog_bytes: int = setting(
        "REPRISE_INGEST_BACKLOG_BYTES",
        256 * MIB,
        "Bytes of all batches that wait to be stored, which Redis holds; beyond it 503",
        positive,
    )
    head_s: int = setting(
        "REPRISE_HEAD_S",
        10,
        "Seconds a connection has for the whole head of its request before it is closed",
        positive,
    )
    silence_s: int = setting(
        "REPRISE_SILENCE_S",
        30,
        "Seconds a caller may be behind REPRISE_MIN_BYTES_PER_S while it sends a body or reads an answer, before it is "
        "disconnected",
        positive,
    )
    min_bytes_per_s: int = setting(
        "REPRISE_MIN_BYTES_PER_S", 16 * 1024, "Bytes a second that a caller must send and read at least", positive
    )
    web_processes: int = setting("REPRISE_WEB_PROCESSES", 2, "Web processes; the embedded mode has one", positive)
    web_threads: int = setting(
        "REPRISE_WEB_THREADS",
        1600,
        "Threads of each web process: a third from its start, others when needed",
        positive,
    )
    run_places: int = setting(
        "REPRISE_RUN_PLACES",
        1000,
        "Runs of one organization that may wait in each web process, plus a share for others; beyond it 503",
        positive,
    )
    organization_share: int = setting(
        "REPRISE_ORGANIZATION_SHARE",
        25,
        "Percent of places, threads, model calls and backlog that each organization gets when others need them, too; "
        "also the percent of model calls that replays leave to runs",
        percent,
    )
    worker_threads: int = setting(
        "REPRISE_WORKER_THREADS",
        64,
        "Runs, and replays, held at once in embedded mode; otherwise see the Procfile",
        positive,
    )
    span_threads: int = setting(
        "REPRISE_SPAN_THREADS", 2, "Batches stored at once in embedded mode; otherwise see the Procfile", positive
    )
    database_pool: int = setting(
        "REPRISE_DATABASE_POOL", 16, "Maximum of database connections of one process", positive
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
        values = {f.name: read(f, environ) for f in declared()}
        credentials = {
            name: (value_of(environ, key) or "", value_of(environ, url) or "")
            for name, (key, url) in VENDOR_VARIABLES.items()
            if value_of(environ, key) or value_of(environ, url)
        }
        loaded = cls(**values, vendor_credentials=credentials)
        check_servers(loaded)
        check_openid(loaded)
        check_mysql_driver(loaded)
        return loaded

    @classmethod
    def load_or_exit(cls) -> Settings:
        """Do as `load`; where that fails, end the process with one line on standard error and exit code 1."""
        try:
            return cls.load()
        except SettingsError as error:
            sys.exit(f"reprise: {error}")

    def shown(self) -> dict[str, str]:
        """Return every setting by its variable, secrets masked."""
        values = {f: getattr(self, f.name) for f in declared()}
        masked = {f: "(set)" if value else "" for f, value in values.items() if f.metadata["secret"]}
        return {f.metadata["env"]: masked.get(f, str(value)) for f, value in values.items()}

    def changed(self) -> dict[str, str]:
        """Return those of `shown` that differ from their defaults."""
        defaults = Settings().shown()
        return {env: text for env, text in self.shown().items() if text != defaults[env]}


def declared() -> list[Field[Any]]:
    """The fields that are read from the environment, in the order of the documentation."""
    return [f for f in fields(Settings) if "env" in f.metadata]
