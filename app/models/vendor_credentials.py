"""Vendors' keys that organizations stored, encrypted."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Column, Connection, String, Table, UniqueConstraint, delete, select, update

from app.models.base import OPTIONS, MediumText, Timestamp, exact, identifier, insert_ignore, metadata, reference

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


def find_credential(connection: Connection, *, organization_id: int, vendor: str) -> tuple[str, str] | None:
    """(encrypted key, base URL) that the organization stored for the vendor."""
    c = vendor_credentials.c
    statement = select(c.encrypted_key, c.base_url).where(c.organization_id == organization_id, c.vendor == vendor)
    row = connection.execute(statement).one_or_none()
    return (row[0], row[1]) if row else None


def list_credentials(connection: Connection, *, organization_id: int) -> list[tuple[str, str, str, datetime]]:
    """(vendor, encrypted key, base URL, created at) of each."""
    c = vendor_credentials.c
    statement = select(c.vendor, c.encrypted_key, c.base_url, c.created_at)
    rows = connection.execute(statement.where(c.organization_id == organization_id))
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def put_credential(
    connection: Connection, *, organization_id: int, vendor: str, encrypted_key: str, base_url: str, now: datetime
) -> None:
    """Store the organization's credential for the vendor, in place of an older one."""
    c = vendor_credentials.c
    identity = {"organization_id": organization_id, "vendor": vendor}
    values = {"encrypted_key": encrypted_key, "base_url": base_url, "created_at": now}
    connection.execute(insert_ignore(vendor_credentials, connection).values(**identity, **values))
    ours = c.organization_id == organization_id
    connection.execute(update(vendor_credentials).where(ours, c.vendor == vendor).values(values))


def delete_credential(connection: Connection, *, organization_id: int, vendor: str) -> bool:
    c = vendor_credentials.c
    statement = delete(vendor_credentials).where(c.organization_id == organization_id, c.vendor == vendor)
    return connection.execute(statement).rowcount == 1
