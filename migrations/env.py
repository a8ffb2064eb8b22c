"""Alembic's entry: runs on the connection that `app.models.schema` hands over in the configuration's attributes."""

from typing import Any, Literal

import sqlalchemy as sa
from alembic import context
from sqlalchemy.dialects import mysql

from app.models import base, metadata
from migrations import resumable

NAMED = ("BigInt", "MediumText", "LongText", "MediumBlob")


def _kind(item: Any) -> tuple[Any, ...]:
    return (type(item), item.dialect_impl(mysql.dialect()).__class__, bool(item._variant_mapping))


_NAMES = {_kind(getattr(base, name)): name for name in NAMED}


def render_item(kind: str, item: Any, _autogen: Any) -> str | Literal[False]:
    """Write our own column types by their names, so that a new migration reads like the models."""
    if kind != "type":
        return False
    if isinstance(item, base.Json | base.Timestamp):
        return f"types.{type(item).__name__}()"
    if name := _NAMES.get(_kind(item)):
        return f"types.{name}"
    if isinstance(item, sa.LargeBinary):
        return f"types.binary({item.length})"
    if isinstance(item, base.ExactString):
        return f"types.exact({item.impl_instance.length})"
    return False


def commit_revision(**_of_step: Any) -> None:
    """Commit the revision that was reached: MySQL has committed its changes, and the next step may be refused."""
    connection.commit()


connection = context.config.attributes["connection"]
is_mysql = connection.dialect.name == "mysql"
if is_mysql:
    resumable.skip_what_is_done()
context.configure(
    connection=connection,
    target_metadata=metadata,
    compare_type=True,
    render_item=render_item,
    render_as_batch=connection.dialect.name == "sqlite",
    transaction_per_migration=True,
    on_version_apply=commit_revision if is_mysql else None,
)
with context.begin_transaction():
    context.run_migrations()
