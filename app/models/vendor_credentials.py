"""Vendors' keys that organizations stored, encrypted."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Column, Connection, String, Table, UniqueConstraint, bindparam, delete, select

from app.models import queries
from app.models.base import OPTIONS, MediumText, Timestamp, exact, identifier, metadata, reference

vendor_credentials = Table(
    "vendor_credentials",
    metadata,
    identifier(),
    reference("organization_id", "organizations"),
    Column("vendor", exact(64), nullable=False),
    Column("encrypted_key", MediumText, nullable=False),
    Column("base_url", String(512), nullable=False, server_default=""),
    Column("created_at", Timestamp, nullable=False),
    UniqueConstraint("organization_id", "vendor"),
    **OPTIONS,
)


_C = vendor_credentials.c
# Built once, since every run executes it.
_FIND = select(_C.organization_id, _C.vendor, _C.encrypted_key, _C.base_url).where(
    _C.organization_id.in_(bindparam("organization_ids", expanding=True)),
    _C.vendor.in_(bindparam("vendors", expanding=True)),
)


def find_credentials(
    connection: Connection, *, keys: Collection[tuple[int, str]]
) -> dict[tuple[int, str], tuple[str, str]]:
    """Return {(organization id, vendor): (encrypted key, base URL)} of those `keys` that are stored.

    Credentials of other combinations of these organizations and vendors may be among them.
    """
    organization_ids, vendors = zip(*keys, strict=True)
    rows = connection.execute(_FIND, {"organization_ids": organization_ids, "vendors": vendors})
    return {(row[0], row[1]): (row[2], row[3]) for row in rows}


def list_credentials(connection: Connection, *, organization_id: int) -> list[tuple[str, str, str, datetime]]:
    """List (vendor, encrypted key, base URL, created at) of an organization's credentials."""
    statement = select(_C.vendor, _C.encrypted_key, _C.base_url, _C.created_at)
    rows = connection.execute(statement.where(_C.organization_id == organization_id))
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def put_credential(
    connection: Connection, *, organization_id: int, vendor: str, encrypted_key: str, base_url: str, now: datetime
) -> None:
    """Store the organization's credential for the vendor, in place of an older one."""
    key = {"organization_id": organization_id, "vendor": vendor}
    values = {"encrypted_key": encrypted_key, "base_url": base_url, "created_at": now}
    queries.put_row(connection, vendor_credentials, key=key, values=values)


def delete_credential(connection: Connection, *, organization_id: int, vendor: str) -> bool:
    statement = delete(vendor_credentials).where(_C.organization_id == organization_id, _C.vendor == vendor)
    return queries.changes_row(connection, statement)
