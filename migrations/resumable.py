"""Lets an upgrade go on where it was interrupted: MySQL commits each change of the schema at once.

SQLite needs none of this, because all migrations are one transaction there. What else a migration does, such as an
UPDATE, must be safe to run twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic.operations import Operations, ops, toimpl


def _columns(inspector: sa.Inspector, table: str) -> set[str]:
    return {column["name"] for column in inspector.get_columns(table)}


def _indexes(inspector: sa.Inspector, table: str) -> set[str | None]:
    return {index["name"] for index in inspector.get_indexes(table)}


IsDone = Callable[[sa.Inspector, Any], bool]
_STEPS: tuple[tuple[type[ops.MigrateOperation], Callable[..., Any], IsDone], ...] = (
    (ops.CreateTableOp, toimpl.create_table, lambda found, step: found.has_table(step.table_name)),
    (ops.AddColumnOp, toimpl.add_column, lambda found, step: step.column.name in _columns(found, step.table_name)),
    (ops.CreateIndexOp, toimpl.create_index, lambda found, step: step.index_name in _indexes(found, step.table_name)),
    (ops.DropTableOp, toimpl.drop_table, lambda found, step: not found.has_table(step.table_name)),
    (
        ops.DropColumnOp,
        toimpl.drop_column,
        lambda found, step: step.column_name not in _columns(found, step.table_name),
    ),
    (ops.DropIndexOp, toimpl.drop_index, lambda found, step: step.index_name not in _indexes(found, step.table_name)),
)


def skip_what_is_done() -> None:
    """Replace Alembic's operations by ones that leave out a table, column or index that is there, or gone, already."""
    for kind, perform, is_done in _STEPS:
        Operations.implementation_for(kind, replace=True)(_unless_done(perform, is_done))


def _unless_done(perform: Callable[..., Any], is_done: IsDone) -> Callable[[Operations, Any], Any]:
    def run(operations: Operations, step: Any) -> Any:
        inspector = sa.inspect(operations.get_bind())
        return None if is_done(inspector, step) else perform(operations, step)

    return run
