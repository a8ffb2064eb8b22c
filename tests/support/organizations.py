"""Further organizations of a running Reprise, which only whoever has its database can make."""

from __future__ import annotations

from app.database.transactions import build_database
from app.metrics import Metrics
from app.models import organizations
from app.models.queries import insert_row
from app.services.accounts.keys import SCOPES, KeyService
from app.timestamps import utc_now
from tests.support.deployment import Deployment, EmbeddedServer
from tests.support.http_client import Client


def new_organization(server: EmbeddedServer | Deployment, name: str) -> Client:
    """Speaks as a project of the new organization."""
    url = server.env["DATABASE_URL"] if isinstance(server, Deployment) else f"sqlite:///{server.home / 'reprise.db'}"
    database = build_database(url, pool_size=1, on_lock_retry=lambda: None, on_pool_timeout=lambda: None)
    try:
        with database.write() as connection:
            new = {"name": name, "created_at": utc_now()}
            owner = insert_row(connection, organizations.organizations, **new)
            project_id = insert_row(connection, organizations.projects, organization_id=owner, **new)
        keys = KeyService(database=database, now=utc_now, metrics=Metrics())
        return server.client(keys.create(project_id=project_id, name=name, scopes=SCOPES).secret)
    finally:
        database.engine.dispose()
